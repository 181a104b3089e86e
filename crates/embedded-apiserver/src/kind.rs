//! A kind of object: its names, its scope, its subresources, and which rules of the real server
//! hold for it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use k8s_merge::managed_fields::Types;
use serde_json::Value;

use crate::builtin::Builtin;
use crate::definition::Served;
use crate::openapi::schema;

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
    schema: Option<Arc<Value>>,
    scale: Option<Arc<ScalePaths>>,
    list_kind: String,
    /// Of a custom kind that has a definition: the rules of its version.
    definition: Option<Arc<Served>>,
    pub(crate) builtin: Option<Builtin>,
    /// The table its objects are in: two versions of one kind, and the two groups of Event, share
    /// one.
    pub(crate) storage: Arc<str>,
    /// `"apiVersion":"v1","kind":"Pod",`: every answer begins with it.
    pub(crate) prefix: Arc<str>,
    /// Read from its schema when somebody first writes to it.
    types: OnceLock<Arc<Types>>,
}

/// Where the scale subresource of a kind reads and writes, as paths of member names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    /// `spec.replicas`.
    pub(crate) spec_replicas: String,
    /// `status.replicas`.
    pub(crate) status_replicas: String,
    /// `status.selector`: a selector as text, or as a `LabelSelector`.
    pub(crate) selector: Option<String>,
}

/// Why a kind cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidKind {
    field: &'static str,
    value: String,
    why: String,
}

impl fmt::Display for InvalidKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot register a kind with {} {:?}: {}", self.field, self.value, self.why)
    }
}

impl std::error::Error for InvalidKind {}

impl InvalidKind {
    /// What the API says of a definition.
    pub(crate) fn refused(name: &str, why: &str) -> Self {
        Self { field: "definition", value: name.to_owned(), why: why.to_owned() }
    }

    pub(crate) fn is_built_in(kind: &Kind) -> Self {
        let why = format!("{} is built in, with rules of its own", kind.qualified_plural());
        Self { field: "plural", value: kind.plural.clone(), why }
    }
}

impl Kind {
    /// A custom kind whose objects live in namespaces. It has no status subresource unless
    /// [`status`](Self::status) says so.
    #[must_use]
    pub fn namespaced(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self::new(group, version, kind, plural, true)
    }

    /// A custom kind of cluster scope.
    #[must_use]
    pub fn cluster_scoped(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self::new(group, version, kind, plural, false)
    }

    /// The names and the scope of a Rust type. The type does not tell whether there is a status
    /// subresource: off, until [`status`](Self::status) turns it on.
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

    /// A version of a custom resource definition: `spec` of the definition, the names that it got,
    /// and the version.
    pub(crate) fn of_version(spec: &Value, accepted: &Value, version: &Value) -> Self {
        let text = |of: &'_ Value, name: &str| {
            of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let names = spec.get("names").unwrap_or(&Value::Null);
        let list = |of: &Value, name: &str| {
            let names = of.get(name).and_then(Value::as_array).into_iter().flatten();
            names.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let namespaced = text(spec, "scope") != "Cluster";
        let (group, version_name) = (text(spec, "group"), text(version, "name"));
        let mut kind = Self::new(
            &group,
            &version_name,
            &text(names, "kind"),
            &text(names, "plural"),
            namespaced,
        );
        kind.singular = text(accepted, "singular");
        kind.list_kind = text(names, "listKind");
        kind.short_names = list(accepted, "shortNames");
        kind.categories = list(accepted, "categories");
        let subresources = version.get("subresources").unwrap_or(&Value::Null);
        kind.status = subresources.get("status").is_some_and(Value::is_object);
        if let Some(paths) = subresources.get("scale").filter(|scale| scale.is_object()) {
            let selector = text(paths, "labelSelectorPath");
            let replicas = (text(paths, "specReplicasPath"), text(paths, "statusReplicasPath"));
            kind = kind.scale(&replicas.0, &replicas.1, Some(&selector));
        }
        let fields =
            version.get("selectableFields").and_then(Value::as_array).into_iter().flatten();
        kind.selectable = fields
            .map(|field| text(field, "jsonPath").trim_start_matches('.').to_owned())
            .collect();
        let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
        kind.schema = schema.cloned().map(Arc::new);
        kind
    }

    /// The rules of the definition's version.
    pub(crate) fn served(mut self, served: Served) -> Self {
        self.definition = Some(Arc::new(served));
        self
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
            schema: None,
            scale: None,
            list_kind: format!("{kind}List"),
            definition: None,
            builtin: None,
            storage: format!("{group}/{plural}").into(),
            prefix,
            types: OnceLock::new(),
        }
    }

    /// Whether it is none of Kubernetes' own.
    pub(crate) fn is_custom(&self) -> bool {
        self.builtin.is_none() && !crate::access::reviews::is_review(self)
    }

    pub(crate) fn built_in(mut self, builtin: Builtin) -> Self {
        self.builtin = Some(builtin);
        self
    }

    pub(crate) fn stored_as(mut self, storage: &str) -> Self {
        self.storage = storage.into();
        self
    }

    /// Whether `status` is a subresource: then writes to the object leave the status alone, and
    /// writes to `.../status` leave the rest alone.
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

    /// A field that field selectors may name, as a path of member names: `spec.color`.
    #[must_use]
    #[doc(alias = "selectableFields")]
    pub fn selectable_field(mut self, path: &str) -> Self {
        self.selectable.push(path.trim_start_matches('.').to_owned());
        self
    }

    /// Whether and where `scale` is a subresource: the paths of the wanted and of the seen number
    /// of replicas, and of the selector of what is scaled, as member names: `spec.replicas`.
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

    /// The paths that field selectors may name, beside `metadata.name` and `metadata.namespace`.
    pub(crate) fn selectable(&self) -> &[String] {
        &self.selectable
    }

    /// `openAPIV3Schema` of this version of a custom kind, as its definition says it; none for
    /// kinds that are built in or were registered by hand.
    pub(crate) fn schema(&self) -> Option<&Arc<Value>> {
        self.schema.as_ref()
    }

    /// What its definition says of it; none for kinds that are built in or were registered by hand.
    pub(crate) fn definition(&self) -> Option<&Arc<Served>> {
        self.definition.as_ref()
    }

    /// `WidgetList`.
    pub(crate) fn list_kind(&self) -> &str {
        &self.list_kind
    }

    /// Where the scale subresource reads and writes; none: there is no such subresource.
    pub(crate) fn scale_paths(&self) -> Option<&Arc<ScalePaths>> {
        self.scale.as_ref()
    }

    /// `pods`, `leases.coordination.k8s.io`: how errors name the resource.
    pub(crate) fn qualified_plural(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// `Pod`, `Lease.coordination.k8s.io`: how errors name the kind.
    pub(crate) fn qualified_kind(&self) -> String {
        if self.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    /// Its structure, as the ownership of fields sees it.
    pub(crate) fn types(&self) -> &Types {
        self.types.get_or_init(|| Arc::new(schema::types_of(self)))
    }

    pub(crate) fn check(&self) -> Result<(), InvalidKind> {
        let bad = |field, value: &str, why: &str| {
            Err(InvalidKind { field, value: value.to_owned(), why: why.to_owned() })
        };
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !self.group.chars().all(|c| lower(c) || c == '.') {
            return bad("group", &self.group, "only lower case letters, digits, dashes and dots");
        }
        if self.version.is_empty() || !self.version.chars().all(lower) {
            return bad(
                "version",
                &self.version,
                "lower case letters, digits and dashes, as v1alpha1",
            );
        }
        if self.plural.is_empty() || !self.plural.chars().all(lower) {
            return bad(
                "plural",
                &self.plural,
                "lower case letters, digits and dashes, as widgets",
            );
        }
        if self.kind.is_empty() || !self.kind.chars().all(|c| c.is_ascii_alphanumeric()) {
            return bad("kind", &self.kind, "letters and digits, as Widget");
        }
        Ok(())
    }

    /// The value of a selectable field in an object, as selectors compare it: absent is the empty
    /// string.
    pub(crate) fn field(object: &Value, path: &str) -> String {
        let found = path.split('.').try_fold(object, |value, part| value.get(part));
        match found {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(flag)) => flag.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        }
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
