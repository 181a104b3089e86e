//! Admission hooks: their requests, changes and refusals. They see every stored object.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use embedded_apiserver::{AdmissionRequest, Denied, EmbeddedApiServer, Hook, Operation};
use futures::FutureExt;
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::objects::{code, config_map};
use crate::wire::{self, MERGE};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn maps(server: &EmbeddedApiServer, user: &str) -> Api<ConfigMap> {
    Api::default_namespaced(server.client_as(user))
}

/// A hook that accepts everything and records its requests.
fn recorder(name: &str) -> (Hook, Arc<Mutex<Vec<AdmissionRequest>>>) {
    let seen: Arc<Mutex<Vec<AdmissionRequest>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let hook = Hook::validating(name, move |request| {
        keep.lock().push(request.clone());
        Ok(())
    });
    (hook, seen)
}

#[tokio::test]
async fn a_validating_hook_sees_each_write_as_it_is_stored() {
    let server = EmbeddedApiServer::new();
    let (hook, seen) = recorder("see");
    server.admission().add(hook);
    let maps = maps(&server, "bob");
    let created = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let patch = Patch::Merge(json!({ "data": { "key": "2" } }));
    maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let seen = seen.lock();
    let operations: Vec<_> = seen.iter().map(|request| request.operation).collect();
    assert_eq!(operations, [Operation::Create, Operation::Update, Operation::Delete]);
    let [create, update, delete] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(create.user.name(), "bob");
    assert_eq!(
        (create.resource.as_str(), create.kind.as_str(), create.version.as_str()),
        ("configmaps", "ConfigMap", "v1")
    );
    assert_eq!((create.namespace.as_deref(), create.name.as_str()), (Some("default"), "a"));
    assert_eq!(create.object["kind"], "ConfigMap");
    assert_eq!(create.object["metadata"]["uid"], created.metadata.uid.clone().unwrap());
    assert_eq!(create.old_object, Value::Null);
    assert_eq!(update.object["data"]["key"], "2");
    assert_eq!(update.old_object["data"]["key"], "1");
    assert_eq!(delete.object, Value::Null);
    assert_eq!(delete.old_object["data"]["key"], "2");
}

#[tokio::test]
async fn a_refusal_has_the_shape_of_a_webhooks_and_nothing_is_stored() {
    let server = EmbeddedApiServer::new();
    server.admission().add(Hook::validating("no.example.com", |request| {
        match request.object.pointer("/data/key").and_then(Value::as_str) {
            Some("bad") => Err("it is bad".into()),
            Some("gone") => Err(Denied::new("").code(200).reason("")),
            Some("why") => Err(Denied::new("").code(409).reason("Conflict")),
            _ => Ok(()),
        }
    }));
    let revision = server.revision();
    let post = async |value: &str| {
        let object = json!({ "metadata": { "name": "a" }, "data": { "key": value } });
        wire::post(&server, MAPS, &object).await.json()
    };
    let denied = "admission webhook \"no.example.com\" denied the request";
    let status = |code: u16, message: String| {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
            "message": message,
        })
    };
    let mut expected = status(403, format!("{denied}: it is bad"));
    expected["reason"] = "Forbidden".into();
    assert_eq!(post("bad").await, expected);
    assert_eq!(post("gone").await, status(400, format!("{denied} without explanation")));
    let mut expected = status(409, format!("{denied}: Conflict"));
    expected["reason"] = "Conflict".into();
    assert_eq!(post("why").await, expected);
    assert_eq!(server.revision(), revision);
}

#[tokio::test]
async fn a_mutating_hook_changes_what_is_stored_and_the_next_one_sees_it() {
    let server = EmbeddedApiServer::new();
    let label = |name: &str, value: &'static str| {
        Hook::mutating(name, move |request, object| {
            assert_eq!(&request.object, &*object, "the argument begins as what the request has");
            object["metadata"]["labels"][value] = "yes".into();
            Ok(())
        })
        .resource("configmaps")
    };
    server.admission().add(label("first", "a"));
    server.admission().add(label("second", "b"));
    let (hook, seen) = recorder("see");
    server.admission().add(hook);
    let maps = maps(&server, "bob");
    let created = maps.create(&PostParams::default(), &config_map("x", "1")).await.unwrap();
    let labels = created.metadata.labels.unwrap();
    assert_eq!(labels.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(seen.lock()[0].object["metadata"]["labels"], json!({ "a": "yes", "b": "yes" }));
    // Changes by hooks have no owner.
    let owned = serde_json::to_string(&created.metadata.managed_fields).unwrap();
    assert!(owned.contains("f:data") && !owned.contains("f:labels"), "{owned}");
}

#[tokio::test]
async fn what_a_hook_makes_is_checked_and_defaulted_like_what_a_client_sends() {
    let server = EmbeddedApiServer::new();
    server.admission().add(Hook::mutating("odd", |request, object| {
        match request.name.as_str() {
            "type" => object["data"] = 5.into(),
            "rule" => object["metadata"]["labels"] = json!({ "no good key": "x" }),
            "moved" => object["metadata"]["namespace"] = "other".into(),
            "bare" => object["metadata"] = json!({ "name": "bare" }),
            _ => *object = Value::Null,
        }
        Ok(())
    }));
    for (name, code, part) in [
        ("type", 500, "Internal error occurred: failed calling webhook \"odd\": "),
        ("rule", 422, "metadata.labels"),
        ("null", 500, "failed calling webhook \"odd\": "),
        ("moved", 400, "the namespace of the provided object does not match"),
    ] {
        let answer = wire::post(&server, MAPS, &json!({ "metadata": { "name": name } })).await;
        assert_eq!(answer.code.as_u16(), code, "{}", answer.text);
        assert!(answer.json()["message"].as_str().unwrap().contains(part), "{}", answer.text);
    }
    let made = wire::post(&server, MAPS, &json!({ "metadata": { "name": "bare" } })).await.json();
    assert_eq!(made["metadata"]["namespace"], "default", "{made}");
}

#[tokio::test]
async fn a_hook_that_panics_fails_its_request_alone() {
    let server = EmbeddedApiServer::new();
    server.admission().add(Hook::validating("broken", |request| {
        assert_ne!(request.name, "a", "not this one");
        Ok(())
    }));
    let answer = wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await;
    assert_eq!(answer.code, StatusCode::INTERNAL_SERVER_ERROR);
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with(
            "Internal error occurred: failed calling webhook \"broken\": it panicked: "
        ),
        "{message}"
    );
    assert_eq!(
        wire::post(&server, MAPS, &json!({ "metadata": { "name": "b" } })).await.code,
        StatusCode::CREATED
    );
    assert_eq!(wire::get(&server, &format!("{MAPS}/a")).await.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_hook_is_asked_about_what_it_names_and_no_more() {
    let server = EmbeddedApiServer::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let hook = |name: &str, set: fn(Hook) -> Hook| {
        let calls = Arc::clone(&calls);
        set(Hook::validating(name, move |_| {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }))
    };
    let work = async |hook: Hook| {
        calls.store(0, Ordering::Relaxed);
        server.admission().add(hook);
        assert_eq!(server.admission().names().len(), 1, "one of the same name is replaced");
        let pods = "/api/v1/namespaces/default/pods";
        let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
        assert_eq!(wire::post(&server, pods, &pod).await.code, StatusCode::CREATED);
        let status = json!({ "status": { "phase": "Running" } });
        assert_eq!(
            wire::patch(&server, &format!("{pods}/p/status"), MERGE, &status).await.code,
            StatusCode::OK
        );
        wire::post(&server, MAPS, &json!({ "metadata": { "name": "m" } })).await;
        wire::delete(&server, &format!("{pods}/p"), &json!({})).await;
        wire::delete(&server, &format!("{MAPS}/m"), &json!({})).await;
        calls.load(Ordering::Relaxed)
    };
    assert_eq!(work(hook("h", |hook| hook)).await, 4, "all but the subresource");
    assert_eq!(work(hook("h", |hook| hook.resource("pods"))).await, 2);
    assert_eq!(work(hook("h", |hook| hook.resource("pods/status"))).await, 1);
    assert_eq!(
        work(hook("h", |hook| hook.resource("pods").resource("configmaps").on(Operation::Delete)))
            .await,
        2
    );
    assert_eq!(work(hook("h", |hook| hook.resource("pods.apps"))).await, 0);
    assert!(server.admission().remove("h") && !server.admission().remove("h"));
}

#[tokio::test]
async fn a_dry_run_is_told_and_stores_nothing() {
    let server = EmbeddedApiServer::new();
    let (hook, seen) = recorder("see");
    server.admission().add(hook);
    let answer =
        wire::post(&server, &format!("{MAPS}?dryRun=All"), &json!({ "metadata": { "name": "a" } }))
            .await;
    assert_eq!(answer.code, StatusCode::CREATED);
    assert!(seen.lock()[0].dry_run);
    assert_eq!(wire::get(&server, &format!("{MAPS}/a")).await.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn every_way_to_write_is_asked_about() {
    let server = EmbeddedApiServer::new();
    let (hook, seen) = recorder("see");
    server.admission().add(hook);
    let maps = maps(&server, "bob");
    let apply = |value: &str| {
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": value } });
        Patch::Apply(object)
    };
    let manager = PatchParams::apply("m");
    maps.patch("a", &manager, &apply("1")).await.unwrap();
    maps.patch("a", &manager, &apply("2")).await.unwrap();
    let lease = json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": "x" } });
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    assert_eq!(wire::put(&server, &format!("{leases}/l"), &lease).await.code, StatusCode::CREATED);
    maps.create(&PostParams::default(), &config_map("b", "1")).await.unwrap();
    maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    let told = |request: &AdmissionRequest| format!("{:?} {}", request.operation, request.name);
    let told: Vec<_> = seen.lock().iter().map(told).collect();
    assert_eq!(told, ["Create a", "Update a", "Create l", "Create b", "Delete ", "Delete "]);
}

#[tokio::test]
async fn a_delete_can_be_refused_and_a_finalizers_end_too() {
    let server = EmbeddedApiServer::new();
    let object = json!({ "metadata": { "name": "a", "finalizers": ["example.com/held"] } });
    wire::post(&server, MAPS, &object).await;
    server.admission().add(Hook::validating("keep", |request| match request.operation {
        Operation::Delete => Err("not now".into()),
        _ => Ok(()),
    }));
    let path = format!("{MAPS}/a");
    assert_eq!(wire::delete(&server, &path, &json!({})).await.code, StatusCode::FORBIDDEN);
    server.admission().remove("keep");
    assert_eq!(wire::delete(&server, &path, &json!({})).await.code, StatusCode::OK);
    server.admission().add(Hook::validating("hold", |request| {
        match request.object["metadata"].get("finalizers") {
            None => Err("it must be held".into()),
            Some(_) => Ok(()),
        }
    }));
    let released = json!({ "metadata": { "finalizers": null } });
    assert_eq!(wire::patch(&server, &path, MERGE, &released).await.code, StatusCode::FORBIDDEN);
    server.admission().remove("hold");
    assert_eq!(wire::patch(&server, &path, MERGE, &released).await.code, StatusCode::OK);
    assert_eq!(wire::get(&server, &path).await.code, StatusCode::NOT_FOUND);
}

/// A hook may call the server: no lock is held. If it changes the same object, the write starts
/// again.
#[tokio::test]
async fn what_is_stored_is_what_the_hooks_saw() {
    let server = EmbeddedApiServer::new();
    wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" }, "data": { "count": "0" } }))
        .await;
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (inside, keep) = (server.clone(), Arc::clone(&seen));
    server.admission().add(
        Hook::validating("racer", move |request| {
            let first = keep.lock().is_empty();
            keep.lock().push(request.old_object["data"].clone());
            if first {
                // A concurrent write.
                let label = json!({ "data": { "other": "yes" } });
                let path = format!("{MAPS}/a");
                let answer = wire::patch(&inside, &path, MERGE, &label)
                    .now_or_never()
                    .expect("it waits for nobody");
                assert_eq!(answer.code, StatusCode::OK);
            }
            Ok(())
        })
        .resource("configmaps"),
    );
    let patch = json!({ "data": { "count": "1" } });
    let answer = wire::patch(&server, &format!("{MAPS}/a"), MERGE, &patch).await;
    assert_eq!(answer.code, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.json()["data"], json!({ "count": "1", "other": "yes" }));
    let seen = seen.lock();
    // The patch, the other write, and the patch on top of it.
    assert_eq!(seen.last(), Some(&json!({ "count": "0", "other": "yes" })));
}

#[tokio::test]
async fn an_update_of_a_version_that_changed_while_the_hook_looked_is_a_conflict() {
    let server = EmbeddedApiServer::new();
    let made = wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await.json();
    let inside = server.clone();
    let calls = Arc::new(AtomicUsize::new(0));
    server.admission().add(Hook::validating("racer", move |_| {
        if calls.fetch_add(1, Ordering::Relaxed) == 0 {
            let label = json!({ "data": { "other": "yes" } });
            let path = format!("{MAPS}/a");
            wire::patch(&inside, &path, MERGE, &label).now_or_never().expect("it waits for nobody");
        }
        Ok(())
    }));
    let answer = wire::put(&server, &format!("{MAPS}/a"), &{
        let mut new = made.clone();
        new["data"] = json!({ "k": "v" });
        new
    })
    .await;
    assert_eq!(
        (answer.code, answer.json()["reason"].as_str()),
        (StatusCode::CONFLICT, Some("Conflict"))
    );
}

#[tokio::test]
async fn with_hooks_too_the_same_seed_gives_the_same_names() {
    let run = async |hooked: bool| {
        let server = EmbeddedApiServer::builder().seed(7).build();
        if hooked {
            server.admission().add(Hook::mutating("m", |_, _| Ok(())));
            server.admission().add(recorder("v").0);
        }
        let mut names = Vec::new();
        for _ in 0..3 {
            let answer =
                wire::post(&server, MAPS, &json!({ "metadata": { "generateName": "m-" } }))
                    .await
                    .json();
            names.push((answer["metadata"]["name"].clone(), answer["metadata"]["uid"].clone()));
        }
        names
    };
    let hooked = run(true).await;
    assert_eq!(hooked, run(true).await);
    assert!(hooked[0] != hooked[1] && hooked[1] != hooked[2], "{hooked:?}");
    let names = run(false).await;
    assert!(names[0] != names[1] && names[1] != names[2]);
}

#[tokio::test]
async fn a_refused_user_is_no_matter_of_hooks() {
    let server = EmbeddedApiServer::builder().rbac(true).build();
    let (hook, seen) = recorder("see");
    server.admission().add(hook);
    let refused = maps(&server, "bob")
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap_err();
    assert_eq!(code(refused).0, 403);
    assert!(seen.lock().is_empty());
    let head = wire::send(&server, Method::GET, MAPS, &[], "").await;
    assert_eq!(head.code, StatusCode::OK);
    assert!(seen.lock().is_empty(), "reads are not asked about");
}

/// Deleting a Service deletes its Endpoints without admission, by every kind of delete.
#[tokio::test]
async fn a_service_that_a_hook_lets_go_takes_its_endpoints_along() {
    const SERVICES: &str = "/api/v1/namespaces/default/services";
    for way in ["delete", "collection", "finalizer"] {
        let server = EmbeddedApiServer::new();
        let service = json!({
            "metadata": { "name": "s", "finalizers": (way == "finalizer").then_some(["example.com/f"]) },
            "spec": { "ports": [{ "port": 80 }] },
        });
        assert_eq!(wire::post(&server, SERVICES, &service).await.code, StatusCode::CREATED);
        let endpoints = "/api/v1/namespaces/default/endpoints";
        let made = wire::post(&server, endpoints, &json!({ "metadata": { "name": "s" } })).await;
        assert_eq!(made.code, StatusCode::CREATED);
        let (hook, seen) = recorder("see");
        server.admission().add(hook);
        let path = format!("{SERVICES}/s");
        let answer = match way {
            "delete" => wire::delete(&server, &path, &json!({})).await,
            "collection" => wire::delete(&server, SERVICES, &json!({})).await,
            _ => {
                wire::delete(&server, &path, &json!({})).await;
                wire::patch(&server, &path, MERGE, &json!({ "metadata": { "finalizers": null } }))
                    .await
            }
        };
        assert_eq!(answer.code, StatusCode::OK, "{way}: {}", answer.text);
        assert_eq!(wire::get(&server, &path).await.code, StatusCode::NOT_FOUND, "{way}");
        assert_eq!(
            wire::get(&server, &format!("{endpoints}/s")).await.code,
            StatusCode::NOT_FOUND,
            "{way}"
        );
        let told: Vec<_> = seen
            .lock()
            .iter()
            .map(|request| (request.operation, request.resource.clone()))
            .collect();
        let mut expected = vec![(Operation::Delete, "services".to_owned())];
        expected.extend((way == "finalizer").then(|| (Operation::Update, "services".to_owned())));
        assert_eq!(told, expected, "{way}");
    }
}

/// A hook's code is final, even if it is one of the store's.
#[tokio::test]
async fn a_definition_that_a_hook_refuses_is_refused_once() {
    for code in [404, 409] {
        let server = EmbeddedApiServer::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        server.admission().add(Hook::validating("no.example.com", move |_| {
            assert!(counted.fetch_add(1, Ordering::Relaxed) < 100, "asked again and again");
            Err(Denied::new("never").code(code))
        }));
        let definition = serde_json::from_value(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "widgets.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        }))
        .unwrap();
        let refused = server.register_definition(&definition).unwrap_err();
        assert!(refused.to_string().contains("never"), "{refused}");
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

/// As the plugin NamespaceLifecycle, which runs before all hooks.
#[tokio::test]
async fn no_hook_hears_of_what_has_no_namespace_to_be_in() {
    let server = EmbeddedApiServer::builder().namespace("ending").build();
    wire::delete(&server, "/api/v1/namespaces/ending", &json!({})).await;
    let (hook, seen) = recorder("see");
    server.admission().add(hook);
    server.admission().add(Hook::mutating("change", |_, _| Err("never".into())));
    for (namespace, code) in [("missing", StatusCode::NOT_FOUND), ("ending", StatusCode::FORBIDDEN)]
    {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let answer = wire::post(&server, &path, &json!({ "metadata": { "name": "a" } })).await;
        assert_eq!(answer.code, code, "{}", answer.text);
        assert!(!answer.text.contains("never"), "{}", answer.text);
    }
    assert!(seen.lock().is_empty());
}
