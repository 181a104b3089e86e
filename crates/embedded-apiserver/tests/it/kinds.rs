//! Built-in kinds where upstream cannot be compared: unimplemented parts, LeaseCandidates, and
//! reproducible cluster IPs.

use embedded_apiserver::EmbeddedApiServer;
use http::{Method, StatusCode};
use serde_json::json;

use crate::wire;

#[tokio::test]
async fn a_kind_that_only_the_real_server_has_answers_501_and_names_it() {
    let server = EmbeddedApiServer::new();
    for (path, named) in [
        ("/api/v1/componentstatuses", "componentstatuses"),
        ("/api/v1/namespaces/default/pods/a/log", "pods/log"),
        ("/api/v1/namespaces/default/pods/a/resize", "pods/resize"),
    ] {
        let answer = wire::get(&server, path).await;
        assert_eq!(answer.code, StatusCode::NOT_IMPLEMENTED, "{path}: {}", answer.text);
        assert!(answer.json()["message"].as_str().unwrap().contains(named), "{}", answer.text);
    }
    for path in
        ["/apis/apps/v1/namespaces/default/things", "/api/v1/namespaces/default/pods/a/things"]
    {
        assert_eq!(wire::get(&server, path).await.code, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn pods_without_a_class_have_the_default_one_of_which_there_is_one() {
    let server = EmbeddedApiServer::new();
    let (classes, pods) =
        ("/apis/scheduling.k8s.io/v1/priorityclasses", "/api/v1/namespaces/default/pods");
    let class =
        |name: &str| json!({ "metadata": { "name": name }, "value": 7, "globalDefault": true });
    assert_eq!(wire::post(&server, classes, &class("a")).await.code, StatusCode::CREATED);
    let second = wire::post(&server, classes, &class("b")).await;
    assert_eq!(second.code, StatusCode::FORBIDDEN, "{}", second.text);
    let why = "PriorityClass a is already marked as default. Only one default can exist";
    assert!(second.text.contains(why), "{}", second.text);
    let containers = json!([{ "name": "c", "image": "i" }]);
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": containers } });
    let made = wire::post(&server, pods, &pod).await.json();
    assert_eq!(made["spec"]["priority"], 7);
    assert_eq!(made["spec"]["priorityClassName"], "a");
}

#[tokio::test]
async fn candidates_for_leases_are_checked_and_stand_for_one_lease() {
    let server = EmbeddedApiServer::new();
    let path = "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates";
    let candidate = json!({
        "metadata": { "name": "a" },
        "spec": { "leaseName": "l", "binaryVersion": "1.36.0", "emulationVersion": "1.35.0", "strategy": "OldestEmulationVersion" },
    });
    let made = wire::post(&server, path, &candidate).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
    let warning = made.headers["warning"].to_str().unwrap();
    assert!(warning.contains("v1beta1 LeaseCandidate is deprecated in v1.36+"), "{warning}");
    let patch = json!({ "spec": { "leaseName": "other" } });
    let answer =
        wire::patch(&server, &format!("{path}/a"), "application/merge-patch+json", &patch).await;
    assert_eq!(answer.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text);
    for (member, value, cause) in [
        ("leaseName", json!(""), "spec.leaseName: Required value"),
        (
            "binaryVersion",
            json!("1.34.0"),
            "spec.binaryVersion: Invalid value: \"1.34.0\": must be greater than or equal to `emulationVersion`",
        ),
        ("binaryVersion", json!("x"), "\"x\": must be greater than or equal to `emulationVersion`"),
        (
            "emulationVersion",
            json!("x"),
            "spec.emulationVersion: Invalid value: \"x\": must be a valid semantic version",
        ),
        ("strategy", json!(""), "spec.strategy: Required value"),
    ] {
        let mut wrong = candidate.clone();
        wrong["spec"][member] = value;
        wrong["metadata"]["name"] = "b".into();
        let answer = wire::post(&server, path, &wrong).await;
        assert_eq!(answer.code, StatusCode::UNPROCESSABLE_ENTITY, "{member}: {}", answer.text);
        assert!(answer.json()["message"].as_str().unwrap().contains(cause), "{}", answer.text);
    }
}

#[tokio::test(start_paused = true)]
async fn addresses_of_services_are_the_same_in_each_run() {
    let addresses = async || {
        let server = EmbeddedApiServer::builder().seed(7).build();
        let mut addresses = Vec::new();
        for number in 0..20 {
            let service = json!({ "metadata": { "name": format!("s{number}") }, "spec": { "type": "NodePort", "ports": [{ "port": 80 }] } });
            let made =
                wire::post(&server, "/api/v1/namespaces/default/services", &service).await.json();
            addresses.push((
                made["spec"]["clusterIP"].clone(),
                made["spec"]["ports"][0]["nodePort"].clone(),
            ));
        }
        addresses
    };
    let first = addresses().await;
    assert_eq!(first, addresses().await);
    let distinct: std::collections::HashSet<String> =
        first.iter().map(|pair| format!("{pair:?}")).collect();
    assert_eq!(distinct.len(), 20);
}

#[tokio::test]
async fn a_body_of_any_shape_is_refused_or_taken_by_every_kind() {
    let server = EmbeddedApiServer::new();
    let all = [
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/services",
        "/api/v1/namespaces/default/endpoints",
        "/api/v1/nodes",
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/replicasets",
        "/apis/batch/v1/namespaces/default/jobs",
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates",
    ];
    let odd = [
        json!(null),
        json!(1),
        json!("x"),
        json!([]),
        json!([[]]),
        json!({}),
        json!([{}]),
        json!({ "a": null }),
        json!(-1e300),
    ];
    let members = [
        "spec",
        "status",
        "metadata",
        "subsets",
        "endpoints",
        "ports",
        "rules",
        "roleRef",
        "subjects",
    ];
    let inner = ["template", "selector", "ports", "containers", "taints", "strategy", "clusterIPs"];
    for path in all {
        for value in &odd {
            let outer =
                members.iter().map(|member| json!({ "metadata": { "name": "a" }, *member: value }));
            let inner = inner
                .iter()
                .map(|member| json!({ "metadata": { "name": "a" }, "spec": { *member: value } }));
            for body in outer.chain(inner) {
                let answer = wire::send(
                    &server,
                    Method::POST,
                    &format!("{path}?dryRun=All"),
                    &[("content-type", "application/json")],
                    body.to_string(),
                )
                .await;
                let is_answered = answer.code.as_u16() < 500 && answer.json().is_object();
                assert!(is_answered, "{path} {body}: {}", answer.text);
            }
        }
    }
}
