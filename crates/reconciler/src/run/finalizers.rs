//! `Finalizers`: the finalizers of an object, and the patch that changes them.

use kube::Resource;
use serde_json::{Value, json};

/// The finalizers of an object, for reconcilers that set them by themselves.
/// [`Controller::finalizer`](crate::Controller::finalizer) sets one on every object.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use reconciler::Finalizers as _;
/// use serde_json::json;
///
/// let mut object = ConfigMap::default();
/// object.metadata.resource_version = Some("7".to_owned());
/// let patch = object.finalizer_patch("example.com/foo", true).unwrap();
/// assert_eq!(patch["metadata"]["finalizers"], json!(["example.com/foo"]));
/// assert_eq!(patch["metadata"]["resourceVersion"], "7");
/// assert_eq!(object.finalizer_patch("example.com/foo", false), None); // It is so already.
/// ```
pub trait Finalizers {
    /// Returns whether the object has this finalizer.
    #[doc(alias = "ContainsFinalizer")]
    fn has_finalizer(&self, name: &str) -> bool;

    /// Returns the merge patch that adds this finalizer or removes it; `None` if it is so already.
    ///
    /// It names the object's uid and version: the server refuses it with a 409 if the object has
    /// changed. So it neither reaches another object of the name nor undoes another's change.
    #[doc(alias = "AddFinalizer")]
    #[doc(alias = "RemoveFinalizer")]
    fn finalizer_patch(&self, name: &str, is_set: bool) -> Option<Value>;
}

impl<K: Resource> Finalizers for K {
    fn has_finalizer(&self, name: &str) -> bool {
        self.meta().finalizers.iter().flatten().any(|finalizer| finalizer == name)
    }

    fn finalizer_patch(&self, name: &str, is_set: bool) -> Option<Value> {
        if self.has_finalizer(name) == is_set {
            return None;
        }
        let meta = self.meta();
        let mut finalizers = meta.finalizers.clone().unwrap_or_default();
        finalizers.retain(|held| held != name);
        if is_set {
            finalizers.push(name.to_owned());
        }
        Some(json!({"metadata": {
            "uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": finalizers,
        }}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn the_patch_touches_its_own_entry_alone_and_is_conditional() {
        let with = |finalizers: &[&str]| {
            let metadata = json!({"uid": "u-1", "resourceVersion": "7", "finalizers": finalizers});
            let object = json!({"metadata": metadata});
            serde_json::from_value::<ConfigMap>(object).expect("it is a ConfigMap")
        };
        let patch = |finalizers: &[&str]| {
            let metadata = json!({"uid": "u-1", "resourceVersion": "7", "finalizers": finalizers});
            Some(json!({"metadata": metadata}))
        };
        let both = with(&["theirs", "ours"]);
        assert_eq!(both.finalizer_patch("ours", true), None);
        assert_eq!(both.finalizer_patch("ours", false), patch(&["theirs"]));
        assert_eq!(with(&["theirs"]).finalizer_patch("ours", true), patch(&["theirs", "ours"]));
        assert_eq!(with(&["ours"]).finalizer_patch("ours", false), patch(&[]));
        assert_eq!(ConfigMap::default().finalizer_patch("ours", false), None);
    }
}
