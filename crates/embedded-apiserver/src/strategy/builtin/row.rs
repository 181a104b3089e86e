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
    /// Groups of kinds, as in `kubectl get all`.
    pub(crate) categories: &'static [&'static str],
    /// The fields that field selectors may name, beside the metadata.
    pub(crate) selectable: &'static [&'static str],
    /// The older group of the same kind: both have one table, and errors name the older one.
    pub(crate) older_group: Option<&'static str>,
    /// How stored objects are shown, where that differs from what is stored.
    pub(crate) codec: Option<fn() -> Arc<dyn Codec>>,
    pub(crate) strategy: &'static dyn Strategy,
}

/// A kind of namespaced objects, in the core group, without a name.
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
    codec: None,
    strategy: &Generic::MOST,
};

/// The same of cluster scope.
pub(super) const CLUSTER: Row = Row { namespaced: false, ..NAMESPACED };

impl Row {
    /// The names of the kind, as discovery says them.
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
        match self.codec {
            Some(codec) => kind.codec(codec()),
            None => kind,
        }
    }
}
