//! The admission policy of lease-election's `fence_annotation` example on the real API server, as
//! it stands: a stale leader's blind writes are refused.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use verify::real;

/// The server looks for new policies once a second.
const SOON: Duration = Duration::from_secs(30);

fn map(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"example.com/fenced": ""}, "annotations": annotations},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_refuses_a_write_with_a_smaller_token_and_one_without() {
    let Some(plane) = tokio::task::block_in_place(real::shared) else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../lease-election/examples/fence_annotation.yaml");
    let applied = plane.kubectl().unwrap().args(["apply", "-f"]).arg(file).output().unwrap();
    assert!(applied.status.success() && applied.stderr.is_empty(), "{applied:?}");
    let maps: Api<ConfigMap> = Api::default_namespaced(real::client(plane, "admin").await);

    // In force when it refuses.
    let refused = async {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let bare = map(&format!("fence-bare-{attempt}"), &json!({}));
            let bare = serde_json::from_value(bare).unwrap();
            if let Err(refused) = maps.create(&PostParams::default(), &bare).await {
                return refused.to_string();
            }
        }
    };
    let refused = tokio::time::timeout(SOON, refused).await.expect("in force");
    assert!(refused.contains("a write needs the annotation"), "{refused}");

    let apply = async |fence: &str| {
        let leader = PatchParams::apply("leader").force();
        maps.patch(
            "fence-job",
            &leader,
            &Patch::Apply(map("fence-job", &json!({"example.com/fence": fence}))),
        )
        .await
    };
    // As numbers, and not as text; and its own writes again.
    for fence in ["9", "10", "10", "111"] {
        apply(fence).await.unwrap();
    }
    let late = apply("20").await.unwrap_err().to_string();
    assert!(late.contains("a later leader has written this object"), "{late}");
    let merge = async |patch: Value| {
        maps.patch("fence-job", &PatchParams::default(), &Patch::Merge(patch)).await
    };
    merge(json!({"data": {"state": "by nobody"}})).await.unwrap();
    // Nobody takes the token away, nor the label with a smaller one.
    let fence = |fence: Value| json!({"example.com/fence": fence});
    for metadata in [
        json!({"annotations": null}),
        json!({"annotations": fence(Value::Null)}),
        json!({"labels": null, "annotations": fence(json!("20"))}),
        json!({"annotations": fence(json!("none"))}),
    ] {
        let refused = merge(json!({"metadata": metadata})).await;
        assert!(refused.is_err(), "{metadata}");
    }
    apply("112").await.unwrap();
}
