//! Writes to the scale subresource, and the owner of the replicas.

use embedded_apiserver::EmbeddedApiServer;
use serde_json::{Value, json};

use crate::wire::{self, MERGE};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const APPLY: &str = "application/apply-patch+yaml";

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    })
}

fn scale(replicas: i64) -> Value {
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "d" }, "spec": { "replicas": replicas },
    })
}

/// Manager and operation of each entry, and whether it owns the replicas.
async fn owners(server: &EmbeddedApiServer) -> Vec<(String, bool)> {
    let found = wire::get(server, &format!("{DEPLOYMENTS}/d")).await.json();
    let entries = found["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |entry: &Value, member: &str| entry[member].as_str().unwrap_or_default().to_owned();
    let said = |entry: &Value| {
        let who = format!(
            "{} {} {}",
            text(entry, "manager"),
            text(entry, "operation"),
            text(entry, "subresource")
        );
        (who.trim().to_owned(), entry["fieldsV1"]["f:spec"].get("f:replicas").is_some())
    };
    entries.iter().map(said).collect()
}

#[tokio::test(start_paused = true)]
async fn a_scale_is_written_and_owned() {
    let server = EmbeddedApiServer::new();
    let of = |name: &str, manager: &str| format!("{DEPLOYMENTS}/{name}?fieldManager={manager}");
    assert_eq!(wire::patch(&server, &of("d", "m"), APPLY, &deployment()).await.code, 201);
    let path = of("d/scale", "sc");
    let scaled = wire::patch(&server, &path, MERGE, &json!({ "spec": { "replicas": 3 } })).await;
    assert_eq!((scaled.code.as_u16(), scaled.json()["spec"]["replicas"].clone()), (200, json!(3)));
    assert_eq!(
        owners(&server).await,
        [("m Apply".to_owned(), false), ("sc Update scale".to_owned(), true)]
    );
    let refused = wire::patch(&server, &of("d", "m"), APPLY, &deployment()).await.json();
    let message = "Apply failed with 1 conflict: conflict with \"sc\" with subresource \"scale\" using apps/v1: .spec.replicas";
    assert_eq!(refused["message"], message);
    let refused = wire::patch(&server, &of("d/scale", "hpa"), APPLY, &scale(5)).await.json();
    assert_eq!(refused["message"], message.replace("apps/v1", "autoscaling/v1"));
    let forced =
        wire::patch(&server, &format!("{}&force=true", of("d/scale", "hpa")), APPLY, &scale(5))
            .await;
    assert_eq!(forced.code, 200, "{}", forced.json());
    assert_eq!(
        owners(&server).await,
        [("hpa Apply scale".to_owned(), true), ("m Apply".to_owned(), false)]
    );
    let found = wire::get(&server, &format!("{DEPLOYMENTS}/d")).await.json();
    assert_eq!(
        (&found["spec"]["replicas"], &found["metadata"]["generation"]),
        (&json!(5), &json!(3))
    );
    let put = wire::put(&server, &format!("{DEPLOYMENTS}/d/scale"), &scale(1)).await;
    assert_eq!((put.code.as_u16(), put.json()["spec"]["replicas"].clone()), (200, json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_scale_is_refused() {
    let server = EmbeddedApiServer::new();
    wire::post(&server, DEPLOYMENTS, &deployment()).await;
    let path = format!("{DEPLOYMENTS}/d/scale?fieldManager=m");
    assert_eq!(wire::put(&server, &path, &scale(-1)).await.code, 422);
    assert_eq!(wire::put(&server, &path, &deployment()).await.code, 400);
    assert_eq!(wire::patch(&server, &path, APPLY, &deployment()).await.code, 400);
    let missing = format!("{DEPLOYMENTS}/nope/scale?fieldManager=m");
    assert_eq!(wire::put(&server, &missing, &scale(1)).await.code, 400, "of another name");
    let named = json!({ "metadata": { "name": "nope" }, "spec": { "replicas": 1 } });
    assert_eq!(wire::put(&server, &missing, &named).await.code, 404);
    let stale = json!({ "metadata": { "resourceVersion": "1" }, "spec": { "replicas": 4 } });
    assert_eq!(wire::patch(&server, &path, MERGE, &stale).await.code, 409);
}
