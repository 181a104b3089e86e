//! A built-in kind as data: its names, its scope, its subresources, and its strategy.

use std::sync::Arc;

use crate::api::kind::{Codec, Kind};
use crate::strategy::{Generic, Strategy};

/// A built-in kind.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
    /// Whether there is a status subresource.
    pub(crate) status: bool,
    /// Whether there is a scale subresource, with the paths that all workloads have.
    pub(crate) scale: bool,
    pub(crate) short_names: &'static [&'static str],
    /// Categories, as in `kubectl get all`.
    pub(crate) categories: &'static [&'static str],
    /// The selectable fields outside of the metadata.
    pub(crate) selectable: &'static [&'static str],
    /// The older group of the same kind. Both share a table, and errors name the older one.
    pub(crate) older_group: Option<&'static str>,
    /// The version of the stored form, if it differs.
    pub(crate) stored_version: Option<&'static str>,
    /// The conversion from the stored form, if it differs.
    pub(crate) codec: Option<fn() -> Arc<dyn Codec>>,
    pub(crate) strategy: &'static dyn Strategy,
}

/// A namespaced kind of the core group, without a name.
pub(super) const NAMESPACED: Row = Row {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    namespaced: true,
    status: false,
    scale: false,
    short_names: &[],
    categories: &[],
    selectable: &[],
    older_group: None,
    stored_version: None,
    codec: None,
    strategy: &Generic::MOST,
};

/// A cluster-scoped kind of the core group.
pub(super) const CLUSTER: Row = Row { namespaced: false, ..NAMESPACED };

impl Row {
    /// The names of the kind for discovery.
    pub(crate) fn to_kind(&self) -> Kind {
        let new = if self.namespaced { Kind::namespaced } else { Kind::cluster_scoped };
        let kind = new(self.group, self.version, self.kind, self.plural).status(self.status);
        let kind = self.short_names.iter().fold(kind, |kind, name| kind.short_name(name));
        let kind = self.categories.iter().fold(kind, |kind, name| kind.category(name));
        let mut kind = self.selectable.iter().fold(kind, |kind, path| kind.selectable_field(path));
        if self.scale {
            kind = kind.scale("spec.replicas", "status.replicas", Some("spec.selector"));
        }
        if let Some(group) = self.older_group {
            kind = kind.stored_as(&format!("{group}/{}", self.plural)).refused_as_of(group);
        }
        if let Some(version) = self.stored_version {
            kind = kind.stored_version_is(version);
        }
        match self.codec {
            Some(codec) => kind.codec(codec()),
            None => kind,
        }
    }
}
