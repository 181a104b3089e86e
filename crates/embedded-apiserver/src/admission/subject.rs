//! A write as rules, conditions and policies see it.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::admission::{AdmissionRequest, Operation};
use crate::api::metadata::Object;
use crate::strategy::resource::ServedResource;

/// A write, with what must be known of the server to match it.
#[derive(Debug, Clone, Copy)]
#[doc(alias = "admission.Attributes")]
pub(crate) struct Subject<'a> {
    pub(crate) request: &'a AdmissionRequest,
    /// The version of the request.
    pub(crate) kind: &'a ServedResource,
    /// The kind of the objects: another one for a subresource with objects of its own.
    pub(crate) seen: &'a ServedResource,
    /// The stored Namespace of the object, or the stored object itself if it is a Namespace.
    pub(crate) namespace: Option<&'a Object>,
    /// All served versions of the kind, the request's among them.
    pub(crate) versions: &'a [Arc<ServedResource>],
}

/// The version that a configuration matched. `None`: that of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matched(pub(crate) Option<Arc<ServedResource>>);

impl Subject<'_> {
    /// The namespace of the object; of a Namespace its name. Empty in cluster scope.
    #[doc(alias = "GetNamespace")]
    pub(crate) fn namespace_name(&self) -> &str {
        if self.is_namespace() {
            return &self.request.name;
        }
        self.request.namespace.as_deref().unwrap_or_default()
    }

    pub(crate) fn is_namespace(&self) -> bool {
        self.request.group.is_empty() && self.request.resource == "namespaces"
    }

    /// The subresource. Empty: the object itself.
    pub(crate) fn subresource(&self) -> &str {
        self.request.subresource.as_deref().unwrap_or_default()
    }

    /// Whether the objects are of another kind than the resource has.
    pub(crate) fn has_view(&self) -> bool {
        !std::ptr::eq(self.kind, self.seen)
    }

    /// Whether the object configures admission: no webhook and no policy applies to it.
    #[doc(alias = "IsExemptAdmissionConfigurationResource")]
    pub(crate) fn is_exempt(&self) -> bool {
        let parts = ["Webhook", "AdmissionPolicy"];
        self.request.group == "admissionregistration.k8s.io"
            && parts.iter().any(|part| self.request.kind.contains(part))
    }

    /// The labels of the namespace for a `namespaceSelector`. A write of a Namespace has its own
    /// labels; its delete has the stored ones.
    pub(super) fn namespace_labels(&self) -> Option<&Map<String, Value>> {
        let writes = matches!(self.request.operation, Operation::Create | Operation::Update);
        if self.is_namespace() && self.subresource().is_empty() && writes {
            return Some(labels(self.request.object.get("metadata")));
        }
        self.namespace.map(|namespace| labels(namespace.get("metadata")))
    }

    /// Converts an object of the request to the matched version.
    #[doc(alias = "NewVersionedAttributes")]
    pub(crate) fn versioned<'v>(&self, object: &'v Value, matched: &Matched) -> Cow<'v, Value> {
        // All versions of a kind have the same Scale.
        let other = matched.0.as_ref().filter(|_| !self.has_view());
        let (Some(other), Value::Object(members)) = (other, object) else {
            return Cow::Borrowed(object);
        };
        let mut members = members.clone();
        members.retain(|member, _| !matches!(member.as_str(), "apiVersion" | "kind"));
        let members = other.to_version(self.kind.to_storage(members), u64::MAX);
        let mut shown = Map::new();
        shown.insert("apiVersion".to_owned(), other.api_version().into());
        shown.insert("kind".to_owned(), other.kind().into());
        shown.extend(members);
        Cow::Owned(Value::Object(shown))
    }
}

/// The labels in the metadata of an object.
pub(super) fn labels(metadata: Option<&Value>) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    metadata.and_then(|it| it.get("labels")).and_then(Value::as_object).unwrap_or(&NONE)
}
