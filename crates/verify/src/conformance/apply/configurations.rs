//! Configurations of ConfigMaps and trackers, and the applies of them.

use serde_json::{Value, json};

use crate::conformance::answer::{Answer, items, text};
use crate::conformance::objects::tracker;
use crate::conformance::target::{APPLY, MERGE, Target};

/// A configuration of a ConfigMap.
pub(super) fn map(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data })
}

/// As `map`, with more metadata.
pub(super) fn with(metadata: Value) -> Value {
    let mut object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
    if object["metadata"]["name"].is_null() {
        object["metadata"]["name"] = "a".into();
    }
    object
}

/// Applies to the ConfigMap `a`.
pub(super) async fn apply(t: &Target, manager: &str, object: &Value) -> Result<Answer, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}")), APPLY, object).await
}

pub(super) async fn force(t: &Target, manager: &str, object: &Value) -> Result<Answer, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}&force=true")), APPLY, object).await
}

/// Updates the ConfigMap `a`.
pub(super) async fn update(t: &Target, manager: &str, patch: Value) -> Result<Answer, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}")), MERGE, &patch).await
}

/// Applies a spec to the tracker `a`.
pub(super) async fn track(t: &Target, manager: &str, spec: Value) -> Result<Answer, String> {
    t.patch(&t.trackers(&format!("/a?fieldManager={manager}")), APPLY, &tracker("a", spec)).await
}

pub(super) async fn track_by_force(
    t: &Target,
    manager: &str,
    spec: Value,
) -> Result<Answer, String> {
    t.patch(
        &t.trackers(&format!("/a?fieldManager={manager}&force=true")),
        APPLY,
        &tracker("a", spec),
    )
    .await
}

/// The fields that a refused apply names, in order.
pub(super) fn causes(status: &Value) -> Vec<String> {
    let mut fields: Vec<_> = items(status, "/details/causes")
        .iter()
        .map(|cause| text(cause, "/field").to_owned())
        .collect();
    fields.sort();
    fields
}
