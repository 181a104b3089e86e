//! Facts about kube-apiserver v1.36, one by one. `lists`, `watches` and `objects` have more.

use embedded_apiserver::{EmbeddedApiServer, Kind};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::wire::{self, JSON_PATCH, MERGE};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

fn with_widgets() -> EmbeddedApiServer {
    let server = EmbeddedApiServer::new();
    server
        .register_kind(Kind::namespaced("example.com", "v1", "Widget", "widgets").status(true))
        .unwrap();
    server
}

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn widget(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": name }, "spec": spec })
}

fn claim(name: &str) -> Value {
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    json!({ "metadata": { "name": name }, "spec": spec })
}

fn volume(name: &str) -> Value {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/tmp/x" },
    });
    json!({ "metadata": { "name": name }, "spec": spec })
}

fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i" }] } })
}

fn event(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "involvedObject": { "namespace": "default" } })
}

/// A minimal object of every built-in kind, with the path of its collection.
fn every_kind() -> Vec<(&'static str, Value)> {
    let named = |name: &str| json!({ "metadata": { "name": name } });
    vec![
        (MAPS, named("a")),
        ("/api/v1/namespaces/default/secrets", named("a")),
        ("/api/v1/namespaces/default/serviceaccounts", named("a")),
        ("/api/v1/namespaces/default/endpoints", named("a")),
        (
            "/api/v1/namespaces/default/services",
            json!({ "metadata": { "name": "a" }, "spec": { "ports": [{ "port": 80 }] } }),
        ),
        ("/api/v1/namespaces/default/pods", pod("a")),
        ("/api/v1/namespaces/default/persistentvolumeclaims", claim("a")),
        ("/api/v1/persistentvolumes", volume("a")),
        ("/api/v1/namespaces", named("a")),
        ("/api/v1/namespaces/default/events", event("a")),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            json!({ "metadata": { "name": "a" }, "provisioner": "p" }),
        ),
        (LEASES, named("a")),
    ]
}

#[tokio::test]
async fn fact_1_put_creates_only_leases_events_services_and_endpoints() {
    let server = with_widgets();
    let mut all = every_kind();
    all.push((WIDGETS, widget("a", json!({}))));
    for (path, mut object) in all {
        let creates =
            ["leases", "events", "services", "endpoints"].iter().any(|kind| path.ends_with(kind));
        object["metadata"]["resourceVersion"] = "1".into();
        object["metadata"]["uid"] = "1c4d1b5e-0000-4000-8000-000000000000".into();
        let with_uid = wire::put(&server, &format!("{path}/a"), &object).await;
        assert_eq!(with_uid.code, if creates { 409 } else { 404 }, "{path}: {}", with_uid.text);
        object["metadata"].as_object_mut().unwrap().remove("uid");
        let answer = wire::put(&server, &format!("{path}/a"), &object).await;
        assert_eq!(answer.code, if creates { 201 } else { 404 }, "{path}: {}", answer.text);
    }
}

#[tokio::test]
async fn fact_2_put_without_a_version_is_refused_for_leases_and_custom_kinds() {
    let server = with_widgets();
    let mut all = every_kind();
    all.push((WIDGETS, widget("a", json!({ "n": 1 }))));
    for (path, object) in all {
        let created = wire::post(&server, path, &object).await;
        assert_eq!(created.code, StatusCode::CREATED, "{path}: {}", created.text);
        let refuses = path == LEASES || path == WIDGETS;
        for version in ["", "0"] {
            let mut changed = created.json();
            changed["metadata"]["resourceVersion"] = version.into();
            changed["metadata"]["labels"] = json!({ "changed": format!("x{version}") });
            let answer = wire::put(&server, &format!("{path}/a"), &changed).await;
            assert_eq!(answer.code, if refuses { 422 } else { 200 }, "{path}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn fact_3_a_version_in_a_create_is_500_and_a_uid_is_replaced() {
    let server = EmbeddedApiServer::new();
    let answer =
        wire::post(&server, MAPS, &json!({ "metadata": { "name": "a", "resourceVersion": "1" } }))
            .await;
    assert_eq!(answer.code, StatusCode::INTERNAL_SERVER_ERROR);
    let answer =
        wire::post(&server, MAPS, &json!({ "metadata": { "name": "a", "uid": "mine" } })).await;
    assert_eq!(answer.code, StatusCode::CREATED);
    assert_ne!(answer.json()["metadata"]["uid"], "mine");
}

#[tokio::test]
async fn fact_4_a_version_that_is_no_number_is_500_but_400_in_lists() {
    let server = EmbeddedApiServer::new();
    let mut object =
        wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await.json();
    for (path, code) in [
        (format!("{MAPS}/a?resourceVersion=x"), 500),
        (format!("{MAPS}?watch=1&resourceVersion=x"), 500),
        (format!("{MAPS}?resourceVersion=x"), 400),
    ] {
        assert_eq!(wire::get(&server, &path).await.code, code, "{path}");
    }
    object["metadata"]["resourceVersion"] = "x".into();
    assert_eq!(wire::put(&server, &format!("{MAPS}/a"), &object).await.code, 500);
}

#[tokio::test]
async fn fact_5_delete_answers_the_object_or_a_status_with_the_uid() {
    let server = EmbeddedApiServer::new();
    for (path, object) in every_kind() {
        let created = wire::post(&server, path, &object).await.json();
        let answer = wire::delete(&server, &format!("{path}/a"), &json!({})).await.json();
        let objects = [
            "pods",
            "persistentvolumeclaims",
            "persistentvolumes",
            "namespaces",
            "storageclasses",
            "services",
            "serviceaccounts",
        ];
        if objects.iter().any(|kind| path.ends_with(kind)) {
            assert_eq!(answer["metadata"]["uid"], created["metadata"]["uid"], "{path}");
        } else {
            assert_eq!(
                (answer["kind"].as_str(), answer["status"].as_str()),
                (Some("Status"), Some("Success"))
            );
            assert_eq!(answer["details"]["uid"], created["metadata"]["uid"], "{path}");
        }
    }
}

#[tokio::test]
async fn fact_6_generation_counts_for_pods_and_custom_kinds_only() {
    let server = with_widgets();
    for (path, object) in every_kind() {
        let created = wire::post(&server, path, &object).await.json();
        let expected = if path.ends_with("pods") { json!(1) } else { Value::Null };
        assert_eq!(created["metadata"]["generation"], expected, "{path}");
    }
    let path = format!("{WIDGETS}/a");
    let mut held = widget("a", json!({ "n": 1 }));
    held["metadata"]["finalizers"] = json!(["x.io/f"]);
    held["metadata"]["generation"] = 7.into();
    held["status"] = json!({ "ready": true });
    let created = wire::post(&server, WIDGETS, &held).await.json();
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created.get("status"), None, "a status is not created");
    let generation = async |path: &str, patch: Value| {
        let answer = wire::patch(&server, path, MERGE, &patch).await;
        assert_eq!(answer.code, StatusCode::OK, "{}", answer.text);
        answer.json()["metadata"]["generation"].as_i64().unwrap()
    };
    assert_eq!(generation(&path, json!({ "metadata": { "labels": { "a": "b" } } })).await, 1);
    assert_eq!(generation(&path, json!({ "spec": { "n": 2 } })).await, 2);
    assert_eq!(generation(&path, json!({ "status": { "ready": true } })).await, 2);
    let status = format!("{path}/status");
    assert_eq!(
        generation(&status, json!({ "status": { "ready": true }, "spec": { "n": 3 } })).await,
        2
    );
    let labelled = json!({ "metadata": { "labels": { "a": "c" } }, "status": { "ready": false } });
    assert_eq!(generation(&status, labelled).await, 2);
    let now = wire::get(&server, &path).await.json();
    assert_eq!((&now["spec"]["n"], &now["status"]["ready"]), (&json!(2), &json!(false)));
    assert_eq!(
        now["metadata"]["labels"]["a"], "b",
        "a status write of a custom kind leaves metadata alone"
    );
    let marked = wire::delete(&server, &path, &json!({})).await.json();
    assert_eq!(marked["metadata"]["generation"], 3, "deletion adds one");
}

#[tokio::test]
async fn what_is_not_implemented_says_so() {
    let server = with_widgets();
    let strategic = "application/strategic-merge-patch+json";
    let custom = wire::patch(&server, &format!("{WIDGETS}/a"), strategic, &json!({})).await;
    assert_eq!(custom.code, StatusCode::UNSUPPORTED_MEDIA_TYPE, "as on the real server");
    let log = wire::get(&server, "/api/v1/namespaces/default/pods/a/log").await;
    assert_eq!(log.code, StatusCode::NOT_IMPLEMENTED);
    let status = log.json();
    assert_eq!(
        (status["kind"].as_str(), status["reason"].as_str()),
        (Some("Status"), Some("NotImplemented"))
    );
    assert!(
        status["message"].as_str().unwrap().contains("embedded-apiserver does not implement"),
        "{status}"
    );
}

#[tokio::test]
async fn fact_10_a_json_patch_can_test_for_absence() {
    let server = EmbeddedApiServer::new();
    wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" }, "data": { "k": "v" } })).await;
    let test = async |path: &str, value: Value| {
        let patch = json!([{ "op": "test", "path": path, "value": value }]);
        wire::patch(&server, &format!("{MAPS}/a"), JSON_PATCH, &patch).await.code.as_u16()
    };
    assert_eq!(test("/metadata/finalizers", Value::Null).await, 200);
    assert_eq!(test("/absent/parent", Value::Null).await, 422);
    assert_eq!(test("/data/k", Value::Null).await, 422);
    assert_eq!(test("/data/k", "v".into()).await, 200);
    assert_eq!(test("/data/k", "w".into()).await, 422);
    let two = json!([
        { "op": "replace", "path": "/data/k", "value": "x" },
        { "op": "remove", "path": "/data/absent" },
    ]);
    let answer = wire::patch(&server, &format!("{MAPS}/a"), JSON_PATCH, &two).await;
    assert_eq!(answer.code, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        wire::get(&server, &format!("{MAPS}/a")).await.json()["data"]["k"],
        "v",
        "all or nothing"
    );
    for wrong in [json!({ "op": "test" }), json!([1]), json!("x")] {
        assert_eq!(
            wire::patch(&server, &format!("{MAPS}/a"), JSON_PATCH, &wrong).await.code,
            400,
            "{wrong}"
        );
    }
    assert_eq!(wire::patch(&server, &format!("{MAPS}/a"), MERGE, &json!([1])).await.code, 400);
    let wrong_type =
        wire::patch(&server, &format!("{MAPS}/a"), MERGE, &json!({ "data": { "k": 1 } })).await;
    assert_eq!(wrong_type.code, StatusCode::UNPROCESSABLE_ENTITY);
    for (member, value, code) in [("name", "b", 400), ("uid", "other", 422)] {
        let renamed = json!({ "metadata": { member: value } });
        let answer = wire::patch(&server, &format!("{MAPS}/a"), MERGE, &renamed).await;
        assert_eq!(answer.code, code, "{member}");
    }
    let missing = wire::patch(&server, &format!("{MAPS}/missing"), MERGE, &json!({})).await;
    assert_eq!(missing.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn fact_11_micro_times_have_six_digits_and_come_back_in_utc() {
    let server = EmbeddedApiServer::new();
    let lease =
        |time: &str| json!({ "metadata": { "generateName": "l-" }, "spec": { "renewTime": time } });
    for wrong in [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.1Z",
        "2026-01-02T03:04:05.123456789Z",
        "yesterday.123456",
    ] {
        let answer = wire::post(&server, LEASES, &lease(wrong)).await;
        assert_eq!(answer.code, StatusCode::BAD_REQUEST, "{wrong}: {}", answer.text);
    }
    let answer = wire::post(&server, LEASES, &lease("2026-01-02T03:04:05.000120Z")).await.json();
    assert_eq!(answer["spec"]["renewTime"], "2026-01-02T03:04:05.000120Z");
    let answer =
        wire::post(&server, LEASES, &lease("2026-01-02T03:04:05.123456+02:00")).await.json();
    assert_eq!(answer["spec"]["renewTime"], "2026-01-02T01:04:05.123456Z");
    for (member, value) in
        [("leaseDurationSeconds", 0), ("leaseDurationSeconds", -1), ("leaseTransitions", -1)]
    {
        let lease = json!({ "metadata": { "name": "bad" }, "spec": { member: value } });
        assert_eq!(wire::post(&server, LEASES, &lease).await.code, 422, "{member}={value}");
    }
}

#[tokio::test]
async fn fact_20_odd_methods_and_paths() {
    let server = EmbeddedApiServer::new();
    wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await;
    let path = format!("{MAPS}/a");
    for method in [Method::HEAD, Method::OPTIONS, Method::POST, Method::TRACE] {
        let answer = wire::send(&server, method.clone(), &path, &[], "").await;
        assert_eq!(answer.code, StatusCode::METHOD_NOT_ALLOWED, "{method}");
    }
    for (method, path) in
        [(Method::PUT, MAPS), (Method::PATCH, MAPS), (Method::POST, "/api/v1/configmaps")]
    {
        let answer = wire::send(
            &server,
            method.clone(),
            path,
            &[("content-type", "application/json")],
            "{}",
        )
        .await;
        assert_eq!(answer.code, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
    }
    for fine in [
        format!("{MAPS}/"),
        format!("{path}/"),
        "/api/v1/namespaces%2fdefault%2Fconfigmaps/a".to_owned(),
    ] {
        assert_eq!(wire::get(&server, &fine).await.code, StatusCode::OK, "{fine}");
    }
    for text in ["//api", "/nothing", "/apis/no.such.group/v1/things", "/apis/no.such.group"] {
        let answer = wire::get(&server, text).await;
        assert_eq!(
            (answer.code, answer.text.as_str()),
            (StatusCode::NOT_FOUND, "404 page not found\n"),
            "{text}"
        );
    }
    let unknown = wire::get(&server, "/api/v1/namespaces/default/things").await;
    assert_eq!(
        (unknown.code, unknown.json()["reason"].as_str()),
        (StatusCode::NOT_FOUND, Some("NotFound"))
    );
    assert_eq!(wire::get(&server, &format!("{MAPS}/..")).await.code, StatusCode::BAD_REQUEST);
    for scope in ["/api/v1/namespaces/default/persistentvolumes", "/api/v1/configmaps/a"] {
        assert_eq!(wire::get(&server, scope).await.code, StatusCode::NOT_FOUND, "{scope}");
    }
}

#[tokio::test]
async fn fact_21_media_types_and_bodies() {
    let server = EmbeddedApiServer::new();
    let accept = async |value: &str| {
        wire::send(&server, Method::GET, MAPS, &[("accept", value)], "").await.code.as_u16()
    };
    assert_eq!(accept("*/*").await, 200);
    assert_eq!(accept("application/json, */*").await, 200);
    assert_eq!(accept("application/vnd.kubernetes.protobuf,application/json").await, 200);
    assert_eq!(accept("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await, 200);
    assert_eq!(accept("application/*").await, 406);
    assert_eq!(accept("application/vnd.kubernetes.protobuf").await, 406);
    assert_eq!(accept("application/json;as=Table;v=v1;g=meta.k8s.io").await, 200);
    assert_eq!(accept("application/json;as=Table;v=v1beta1;g=meta.k8s.io").await, 406);
    for (body, code) in [
        ("null", 422),
        ("{}", 422),
        ("[]", 400),
        ("{", 400),
        ("", 400),
        (r#"{"metadata":{"name":"d"},"data":{"a":"1","a":"2"}}"#, 201),
        (r#"{"metadata":{"name":"e"},"kind":"Secret"}"#, 400),
        (r#"{"metadata":{"name":"e"},"apiVersion":"v2"}"#, 400),
        (r#"{"metadata":{"name":"e"},"data":{"a":1}}"#, 400),
        (r#"{"metadata":"e"}"#, 400),
        (r#"{"metadata":{"name":"e","namespace":"other"}}"#, 400),
    ] {
        let answer =
            wire::send(&server, Method::POST, MAPS, &[("content-type", "application/json")], body)
                .await;
        assert_eq!(answer.code, code, "{body}: {}", answer.text);
    }
    let deep = format!("{}1{}", r#"{"a":"#.repeat(500), "}".repeat(500));
    let answer =
        wire::send(&server, Method::POST, MAPS, &[("content-type", "application/json")], deep)
            .await;
    // Upstream accepts it.
    assert_eq!(answer.code, StatusCode::NOT_IMPLEMENTED);
    for media in ["application/cbor", "text/plain"] {
        let answer = wire::send(&server, Method::POST, MAPS, &[("content-type", media)], "x").await;
        assert_eq!(answer.code, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{media}");
    }
    let answer = wire::patch(&server, &format!("{MAPS}/d"), "application/json", &json!({})).await;
    assert_eq!(answer.code, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    for (name, url, code) in [("", "d", 400), ("other", "d", 400)] {
        let answer =
            wire::put(&server, &format!("{MAPS}/{url}"), &json!({ "metadata": { "name": name } }))
                .await;
        assert_eq!(answer.code, code, "{}", answer.text);
    }
}

#[tokio::test]
async fn unknown_members_of_built_in_kinds_are_dropped_with_a_warning_or_refused() {
    let server = EmbeddedApiServer::new();
    let object = |name: &str| json!({ "metadata": { "name": name, "odd": 1 }, "data": {}, "wrong": { "a": 1 } });
    let answer = wire::post(&server, MAPS, &object("a")).await;
    assert_eq!(answer.code, StatusCode::CREATED);
    assert_eq!(answer.json().get("wrong"), None);
    let warnings: Vec<_> =
        answer.headers.get_all("warning").iter().map(|w| w.to_str().unwrap()).collect();
    assert_eq!(
        warnings,
        [r#"299 - "unknown field \"metadata.odd\"""#, r#"299 - "unknown field \"wrong\"""#]
    );
    let ignored =
        wire::post(&server, &format!("{MAPS}?fieldValidation=Ignore"), &object("b")).await;
    assert_eq!((ignored.code, ignored.headers.get("warning")), (StatusCode::CREATED, None));
    let strict = wire::post(&server, &format!("{MAPS}?fieldValidation=Strict"), &object("c")).await;
    assert_eq!(strict.code, StatusCode::BAD_REQUEST);
    assert!(strict.text.contains("strict decoding error"), "{}", strict.text);
    let odd = wire::post(&server, &format!("{MAPS}?fieldValidation=Maybe"), &object("c")).await;
    assert_eq!(odd.code, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn fact_22_whole_floats_of_custom_kinds_are_integers() {
    let server = with_widgets();
    let body = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"n":2.0,"m":0.5}}"#;
    let answer =
        wire::send(&server, Method::POST, WIDGETS, &[("content-type", "application/json")], body)
            .await;
    assert_eq!(answer.json()["spec"].to_string(), r#"{"m":0.5,"n":2}"#);
    let revision = server.revision();
    let same =
        wire::patch(&server, &format!("{WIDGETS}/a"), MERGE, &json!({ "spec": { "n": 2.0 } }))
            .await;
    assert_eq!(
        (same.code, server.revision()),
        (StatusCode::OK, revision + 1),
        "to Go 2.0 is another value than 2"
    );
    assert_eq!(same.json()["spec"]["n"].to_string(), "2");
    let untyped = wire::post(&server, WIDGETS, &json!({ "metadata": { "name": "b" } })).await;
    assert_eq!(untyped.code, StatusCode::BAD_REQUEST, "a custom kind has to be named in the body");
    let list = wire::get(&server, WIDGETS).await.json();
    assert_eq!(list["items"][0]["kind"], "Widget", "items of custom kinds say what they are");
}

#[tokio::test]
async fn fact_23_sizes_are_limited() {
    let server = with_widgets();
    let map =
        |size: usize| json!({ "metadata": { "name": "big" }, "data": { "k": "x".repeat(size) } });
    assert_eq!(wire::post(&server, MAPS, &map(1024 * 1024 + 1)).await.code, 422);
    assert_eq!(wire::post(&server, MAPS, &map(1024 * 1024)).await.code, 201);
    let body = wire::post(&server, MAPS, &map(3 * 1024 * 1024)).await;
    assert_eq!(
        (body.code, body.json()["reason"].as_str()),
        (StatusCode::PAYLOAD_TOO_LARGE, Some("RequestEntityTooLarge"))
    );
    let custom = widget("big", json!({ "k": "x".repeat(2_000_000) }));
    let answer = wire::post(&server, WIDGETS, &custom).await;
    assert_eq!(answer.code, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.json()["message"], "etcdserver: request is too large");
}

#[tokio::test]
async fn built_in_kinds_check_their_own_rules() {
    let server = EmbeddedApiServer::new();
    let without = |mut object: Value, pointer: &str| {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(member);
        object
    };
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let volumes = "/api/v1/persistentvolumes";
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    let two_sources = {
        let mut volume = volume("a");
        volume["spec"]["nfs"] = json!({ "path": "/", "server": "s" });
        volume
    };
    let odd_policy =
        json!({ "metadata": { "name": "a" }, "provisioner": "p", "reclaimPolicy": "Recycle" });
    let elsewhere =
        json!({ "metadata": { "name": "a" }, "involvedObject": { "namespace": "other" } });
    for (path, object) in [
        (claims, without(claim("a"), "/spec/accessModes")),
        (claims, without(claim("a"), "/spec/resources")),
        (volumes, without(volume("a"), "/spec/capacity")),
        (volumes, without(volume("a"), "/spec/hostPath")),
        (volumes, two_sources),
        (classes, json!({ "metadata": { "name": "a" } })),
        (classes, odd_policy),
        (MAPS, json!({ "metadata": { "name": "a" }, "data": { "../x": "y" } })),
        (
            "/api/v1/namespaces/default/pods",
            json!({ "metadata": { "name": "a" }, "spec": { "containers": [] } }),
        ),
        ("/api/v1/namespaces/default/events", elsewhere),
    ] {
        let answer = wire::post(&server, path, &object).await;
        assert_eq!(
            answer.code,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{path} {object}: {}",
            answer.text
        );
    }
    let class = json!({ "metadata": { "name": "a" }, "provisioner": "p" });
    let created = wire::post(&server, classes, &class).await.json();
    assert_eq!(
        (created["reclaimPolicy"].as_str(), created["volumeBindingMode"].as_str()),
        (Some("Delete"), Some("Immediate"))
    );
    let other =
        wire::patch(&server, &format!("{classes}/a"), MERGE, &json!({ "provisioner": "q" })).await;
    assert_eq!(other.code, StatusCode::UNPROCESSABLE_ENTITY);
    let secret = json!({ "metadata": { "name": "s" }, "stringData": { "k": "hello" } });
    let secret = wire::post(&server, "/api/v1/namespaces/default/secrets", &secret).await.json();
    assert_eq!((&secret["type"], &secret["data"]["k"]), (&json!("Opaque"), &json!("aGVsbG8=")));
    assert_eq!(secret.get("stringData"), None);
    let fixed = json!({ "metadata": { "name": "fixed" }, "immutable": true, "data": { "k": "v" } });
    wire::post(&server, MAPS, &fixed).await;
    let answer =
        wire::patch(&server, &format!("{MAPS}/fixed"), MERGE, &json!({ "data": { "k": "w" } }))
            .await;
    assert_eq!(answer.code, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn options_of_a_delete_are_checked() {
    let server = EmbeddedApiServer::new();
    wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await;
    let path = format!("{MAPS}/a");
    for (options, code) in [
        (json!({ "propagationPolicy": "Sideways" }), 422),
        (json!({ "propagationPolicy": "Orphan", "orphanDependents": true }), 422),
        (json!({ "gracePeriodSeconds": -1, "dryRun": ["All"] }), 200),
        (json!({ "dryRun": ["Some"] }), 422),
        (json!({ "gracePeriodSeconds": "soon" }), 400),
        // Upstream ignores it: its feature gate is off.
        (
            json!({ "ignoreStoreReadErrorWithClusterBreakingPotential": true, "dryRun": ["All"] }),
            200,
        ),
    ] {
        assert_eq!(wire::delete(&server, &path, &options).await.code, code, "{options}");
    }
    let by_query =
        wire::send(&server, Method::DELETE, &format!("{path}?dryRun=All"), &[], "").await;
    assert_eq!(by_query.code, StatusCode::OK);
    assert_eq!(wire::get(&server, &path).await.code, StatusCode::OK);
    let by_query =
        wire::send(&server, Method::DELETE, &format!("{path}?propagationPolicy=Orphan"), &[], "")
            .await;
    assert_eq!(by_query.json()["metadata"]["finalizers"][0], "orphan");
}

#[tokio::test]
async fn events_are_one_table_seen_from_two_groups() {
    let server = EmbeddedApiServer::new();
    let event = json!({
        "metadata": { "name": "e" }, "eventTime": "2026-01-02T03:04:05.000001Z", "action": "Bind", "reason": "Bound",
        "type": "Normal", "note": "it is bound", "reportingController": "c.io/x", "reportingInstance": "i",
        "regarding": { "kind": "Pod", "namespace": "default", "name": "p" },
    });
    let new = "/apis/events.k8s.io/v1/namespaces/default/events";
    let created = wire::post(&server, new, &event).await;
    assert_eq!(created.code, StatusCode::CREATED, "{}", created.text);
    assert_eq!(created.json()["note"], "it is bound");
    let old = "/api/v1/namespaces/default/events";
    let core = wire::get(&server, &format!("{old}/e")).await.json();
    assert_eq!(
        (&core["message"], &core["reportingComponent"]),
        (&json!("it is bound"), &json!("c.io/x"))
    );
    assert_eq!(core["involvedObject"]["name"], "p");
    let list =
        wire::get(&server, &format!("{old}?fieldSelector=involvedObject.name%3Dp")).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let list = wire::get(
        &server,
        &format!("{new}?fieldSelector=regarding.name%3Dp,reportingController%3Dc.io/x"),
    )
    .await;
    assert_eq!(list.json()["items"][0]["note"], "it is bound");
    let refused =
        wire::patch(&server, &format!("{new}/e"), MERGE, &json!({ "note": "again" })).await;
    assert_eq!(
        refused.code,
        StatusCode::UNPROCESSABLE_ENTITY,
        "only its series may change: {}",
        refused.text
    );
    let patched = wire::patch(&server, &format!("{old}/e"), MERGE, &json!({ "message": "again" }))
        .await
        .json();
    assert_eq!(patched["message"], "again");
    assert_eq!(wire::get(&server, &format!("{new}/e")).await.json()["note"], "again");
    for missing in
        ["reportingController", "reportingInstance", "action", "reason", "eventTime", "type"]
    {
        let mut event = event.clone();
        event["metadata"]["name"] = "f".into();
        event.as_object_mut().unwrap().remove(missing);
        assert_eq!(
            wire::post(&server, new, &event).await.code,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{missing}"
        );
    }
}
