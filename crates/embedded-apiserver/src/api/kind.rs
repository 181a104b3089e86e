//! A kind: its names, its scope, its subresources, and the storage of its objects.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::api::metadata::Object;

mod codec;
mod invalid;

pub(crate) use codec::Codec;
pub use invalid::InvalidKind;

/// A kind that the server serves: what discovery says about it, and what the server must know to
/// store it.
///
/// ```
/// use embedded_apiserver::Kind;
///
/// let widgets = Kind::namespaced("example.com", "v1", "Widget", "widgets")
///     .status(true)
///     .short_name("wd")
///     .selectable_field("spec.color");
/// assert_eq!(widgets.api_version(), "example.com/v1");
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "CustomResourceDefinition")]
pub struct Kind {
    group: String,
    version: String,
    kind: String,
    plural: String,
    singular: String,
    namespaced: bool,
    status: bool,
    short_names: Vec<String>,
    categories: Vec<String>,
    selectable: Vec<String>,
    scale: Option<Arc<ScalePaths>>,
    list_kind: String,
    /// One of Kubernetes' own kinds.
    built_in: bool,
    /// The group in the errors about its objects.
    group_of_rules: String,
    /// The version of the stored form.
    stored_version: String,
    codec: Option<Arc<dyn Codec>>,
    /// The table of its objects. Versions of a kind share it, and so do the two groups of Event.
    pub(crate) storage: Arc<str>,
    /// `"apiVersion":"v1","kind":"Pod",`: the start of each object in a response.
    pub(crate) prefix: Arc<str>,
}

/// The paths of the scale subresource, as member names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    /// `spec.replicas`.
    pub(crate) spec_replicas: String,
    /// `status.replicas`.
    pub(crate) status_replicas: String,
    /// `status.selector`: a selector in text form, or a `LabelSelector`.
    pub(crate) selector: Option<String>,
}

impl Kind {
    /// A custom kind whose objects live in namespaces. [`status`](Self::status) adds a status
    /// subresource.
    #[must_use]
    pub fn namespaced(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self::new(group, version, kind, plural, true)
    }

    /// A custom kind of cluster scope.
    #[must_use]
    pub fn cluster_scoped(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self::new(group, version, kind, plural, false)
    }

    /// The names and the scope of a Rust type. [`status`](Self::status) adds a status subresource:
    /// the type does not tell.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn of<K>() -> Self
    where
        K: kube::Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        let namespaced = std::any::TypeId::of::<K::Scope>()
            != std::any::TypeId::of::<k8s_openapi::ClusterResourceScope>();
        Self::new(&K::group(&()), &K::version(&()), &K::kind(&()), &K::plural(&()), namespaced)
    }

    fn new(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        let prefix = prefix(group, version, kind);
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            namespaced,
            status: false,
            short_names: Vec::new(),
            categories: Vec::new(),
            selectable: Vec::new(),
            scale: None,
            list_kind: format!("{kind}List"),
            built_in: false,
            group_of_rules: group.to_owned(),
            stored_version: version.to_owned(),
            codec: None,
            storage: format!("{group}/{plural}").into(),
            prefix,
        }
    }

    /// Whether it is one of Kubernetes' own kinds.
    pub(crate) const fn is_built_in(&self) -> bool {
        self.built_in
    }

    pub(crate) fn built_in(mut self) -> Self {
        self.built_in = true;
        self
    }

    /// Sets the group in the errors about its objects.
    pub(crate) fn refused_as_of(mut self, group: &str) -> Self {
        group.clone_into(&mut self.group_of_rules);
        self
    }

    /// Sets the version of the stored form.
    pub(crate) fn stored_version_is(mut self, version: &str) -> Self {
        version.clone_into(&mut self.stored_version);
        self
    }

    pub(crate) fn codec(mut self, codec: Arc<dyn Codec>) -> Self {
        self.codec = Some(codec);
        self
    }

    /// Sets the names that a definition need not derive from the kind.
    pub(crate) fn named(mut self, singular: &str, list_kind: &str) -> Self {
        singular.clone_into(&mut self.singular);
        list_kind.clone_into(&mut self.list_kind);
        self
    }

    pub(crate) fn stored_as(mut self, storage: &str) -> Self {
        self.storage = storage.into();
        self
    }

    /// Whether `status` is a subresource. Then writes to the object keep the status, and writes to
    /// `.../status` keep the rest.
    #[must_use]
    pub fn status(mut self, has_subresource: bool) -> Self {
        self.status = has_subresource;
        self
    }

    /// A short name for discovery (`kubectl get wd`).
    #[must_use]
    pub fn short_name(mut self, name: &str) -> Self {
        self.short_names.push(name.to_owned());
        self
    }

    /// A category for discovery (`kubectl get all`).
    #[must_use]
    pub fn category(mut self, name: &str) -> Self {
        self.categories.push(name.to_owned());
        self
    }

    /// A field for field selectors, as a path of member names: `spec.color`.
    #[must_use]
    #[doc(alias = "selectableFields")]
    pub fn selectable_field(mut self, path: &str) -> Self {
        self.selectable.push(path.trim_start_matches('.').to_owned());
        self
    }

    /// Adds the scale subresource. The paths of the desired replicas, the observed replicas and the
    /// selector are member names: `spec.replicas`.
    #[must_use]
    #[doc(alias = "CustomResourceSubresourceScale")]
    pub fn scale(
        mut self,
        spec_replicas: &str,
        status_replicas: &str,
        selector: Option<&str>,
    ) -> Self {
        let path = |path: &str| path.trim_start_matches('.').to_owned();
        self.scale = Some(Arc::new(ScalePaths {
            spec_replicas: path(spec_replicas),
            status_replicas: path(status_replicas),
            selector: selector.map(path).filter(|path| !path.is_empty()),
        }));
        self
    }

    /// The API group; empty for core.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version within the group.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The kind's name, as in `kind: Pod`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The resource's name, as in the path.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// The resource's name for one object.
    #[must_use]
    pub fn singular(&self) -> &str {
        &self.singular
    }

    /// `v1`, `storage.k8s.io/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Whether its objects live in namespaces.
    #[must_use]
    pub const fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// Whether `status` is a subresource.
    #[must_use]
    pub const fn has_status(&self) -> bool {
        self.status
    }

    /// Short names for discovery.
    #[must_use]
    pub fn short_names(&self) -> &[String] {
        &self.short_names
    }

    pub(crate) fn categories(&self) -> &[String] {
        &self.categories
    }

    /// The paths for field selectors, beside `metadata.name` and `metadata.namespace`.
    pub(crate) fn selectable(&self) -> &[String] {
        &self.selectable
    }

    /// `WidgetList`.
    pub(crate) fn list_kind(&self) -> &str {
        &self.list_kind
    }

    /// The paths of the scale subresource, if there is one.
    pub(crate) fn scale_paths(&self) -> Option<&Arc<ScalePaths>> {
        self.scale.as_ref()
    }

    /// The resource in errors: `pods`, `leases.coordination.k8s.io`.
    pub(crate) fn qualified_plural(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The kind in errors: `Pod`, `Lease.coordination.k8s.io`.
    pub(crate) fn qualified_kind(&self) -> String {
        if self.group_of_rules.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group_of_rules)
        }
    }

    /// The group in the errors about its objects. Only one kind has another one than its own.
    pub(crate) fn group_of_rules(&self) -> &str {
        &self.group_of_rules
    }

    /// The version of the stored form.
    pub(crate) fn stored_version(&self) -> &str {
        &self.stored_version
    }

    /// Whether an object written at a revision needs the conversion.
    pub(crate) fn converts(&self, revision: u64) -> bool {
        self.codec.as_ref().is_some_and(|codec| codec.converts(revision))
    }

    /// Converts a stored object to this version.
    pub(crate) fn to_version(&self, object: Object, revision: u64) -> Object {
        match self.codec.as_ref().filter(|codec| codec.converts(revision)) {
            Some(codec) => codec.to_version(object, revision),
            None => object,
        }
    }

    /// Converts an object of this version to the stored form.
    pub(crate) fn to_storage(&self, object: Object) -> Object {
        match &self.codec {
            Some(codec) => codec.to_storage(object),
            None => object,
        }
    }

    /// Whether an object that is converted to this version and back may differ.
    pub(crate) fn is_lossy(&self) -> bool {
        self.codec.as_ref().is_some_and(|codec| codec.is_lossy())
    }

    /// Restores what a lossy conversion has changed in the stored form of an update. `old` is the
    /// stored object; the update writes the metadata and the member `written`.
    pub(crate) fn keep_rest(&self, object: &mut Object, old: &Object, written: &str) {
        let is_written = |member: &str| member == "metadata" || member == written;
        object.retain(|member, _| is_written(member));
        let rest = old.iter().filter(|(member, _)| !is_written(member));
        object.extend(rest.map(|(member, value)| (member.clone(), value.clone())));
    }

    /// Whether a webhook converts objects between its versions.
    pub(crate) fn has_webhook(&self) -> bool {
        self.codec.as_ref().is_some_and(|codec| codec.has_webhook())
    }

    /// The path of a selectable field in the stored form.
    pub(crate) fn stored_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        self.codec.as_ref().map_or(Cow::Borrowed(path), |codec| codec.stored_path(path))
    }

    /// The value of a selectable field of a stored object. An absent one is empty.
    pub(crate) fn selectable_value(&self, object: &Value, path: &str) -> String {
        let derived = self.codec.as_ref().and_then(|codec| codec.selectable_value(object, path));
        derived.unwrap_or_else(|| field_text(object, path))
    }
}

/// The text at a path of member names, for selectors. An absent one is empty.
pub(crate) fn field_text(object: &Value, path: &str) -> String {
    let found = path.split('.').try_fold(object, |value, part| value.get(part));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn prefix(group: &str, version: &str, kind: &str) -> Arc<str> {
    let version = Value::from(api_version(group, version));
    let kind = Value::from(kind);
    format!("\"apiVersion\":{version},\"kind\":{kind},").into()
}
