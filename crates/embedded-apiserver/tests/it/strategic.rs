//! Strategic merge patches. kube-apiserver v1.36.3 answered each case of `strategic.json` so;
//! `verify` asks it again.

use embedded_apiserver::EmbeddedApiServer;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::wire;

const STRATEGIC: &str = "application/strategic-merge-patch+json";

fn cases() -> Vec<Value> {
    serde_json::from_str(include_str!("strategic.json")).expect("a list of cases")
}

/// The compared part of an answer: what the patch may have changed. Empty members count as absent.
fn compared(kind: &str, answer: &Value) -> Value {
    let pick = |from: &Value, names: &[&str]| {
        let members = names.iter().filter_map(|name| Some((*name, from.get(*name)?)));
        let members = members
            .filter(|(_, value)| value.as_object().is_none_or(|members| !members.is_empty()));
        Value::Object(members.map(|(name, value)| (name.to_owned(), value.clone())).collect())
    };
    let mut all = pick(answer, &["data", "secrets", "imagePullSecrets"]);
    all["metadata"] =
        pick(&answer["metadata"], &["labels", "annotations", "finalizers", "ownerReferences"]);
    let spec = if kind == "Pod" {
        let containers = answer["spec"]["containers"].as_array().into_iter().flatten();
        let containers =
            containers.map(|container| pick(container, &["name", "image", "env", "ports"]));
        // Ignores the default tolerations of a new Pod.
        let tolerations = answer["spec"]["tolerations"].as_array().into_iter().flatten();
        let own = |toleration: &&Value| {
            !toleration["key"].as_str().unwrap_or_default().starts_with("node.kubernetes.io/")
        };
        let tolerations: Vec<&Value> = tolerations.filter(own).collect();
        json!({ "containers": containers.collect::<Vec<_>>(), "tolerations": tolerations })
    } else {
        pick(&answer["spec"], &["selector", "ports", "accessModes", "resources"])
    };
    if spec != json!({}) {
        all["spec"] = spec;
    }
    all
}

#[tokio::test]
async fn every_recorded_case_is_answered_as_the_real_server_does() {
    let server = EmbeddedApiServer::new();
    for (number, case) in cases().iter().enumerate() {
        let kind = case["object"]["kind"].as_str().unwrap();
        let plural = format!("{}s", kind.to_lowercase());
        let path = format!("/api/v1/namespaces/default/{plural}");
        let mut object = case["object"].clone();
        let name = format!("case-{number}");
        object["metadata"]["name"] = name.as_str().into();
        let created = wire::post(&server, &path, &object).await;
        assert_eq!(created.code, StatusCode::CREATED, "{}: {}", case["name"], created.text);
        let patch = match case["patch"].as_str().and_then(|text| text.strip_prefix("RAW:")) {
            Some(raw) => raw.to_owned(),
            None => case["patch"].to_string(),
        };
        let headers = [("content-type", STRATEGIC)];
        let answer =
            wire::send(&server, http::Method::PATCH, &format!("{path}/{name}"), &headers, patch)
                .await;
        assert_eq!(
            u64::from(answer.code.as_u16()),
            case["code"],
            "{}: {}",
            case["name"],
            answer.text
        );
        let answer = answer.json();
        if case["code"] == 200 {
            assert_eq!(compared(kind, &answer), case["result"], "{}", case["name"]);
        } else {
            assert_eq!(answer["reason"], case["result"]["reason"], "{}", case["name"]);
        }
    }
}

#[tokio::test]
async fn custom_kinds_have_no_strategic_merge_patch_and_a_huge_one_ends_in_time() {
    let server = EmbeddedApiServer::new();
    let maps = "/api/v1/namespaces/default/configmaps";
    wire::post(&server, maps, &json!({ "metadata": { "name": "a" } })).await;
    // Every item is searched in lists of this length.
    let many: Vec<String> = (0..60_000).map(|number| format!("x.io/{number}")).collect();
    let reversed: Vec<&String> = many.iter().rev().collect();
    let metadata: Map<String, Value> = [
        ("finalizers".to_owned(), json!(reversed)),
        ("$setElementOrder/finalizers".to_owned(), json!(reversed)),
        ("$deleteFromPrimitiveList/finalizers".to_owned(), json!(many[..59_998])),
    ]
    .into_iter()
    .collect();
    let answer =
        wire::patch(&server, &format!("{maps}/a"), STRATEGIC, &json!({ "metadata": metadata }))
            .await;
    assert_eq!(answer.code, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.json()["metadata"]["finalizers"], json!(["x.io/59999", "x.io/59998"]));
    let nested = (0..120).fold(json!({}), |inner, _| json!({ "a": inner }));
    let answer = wire::patch(&server, &format!("{maps}/a"), STRATEGIC, &nested).await;
    assert_eq!(
        answer.code,
        StatusCode::OK,
        "an unknown member is dropped with a warning: {}",
        answer.text
    );
}
