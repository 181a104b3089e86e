//! The strategy of custom kinds (pkg/registry/customresource of k8s.io/apiextensions-apiserver).

use std::sync::Arc;

use k8s_value::{FieldErrors, names};

use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::strategy::columns::{Cell, Column, NAME, column};
use crate::strategy::crd::Served;
use crate::strategy::{Generation, Strategy, Write};

/// A custom kind, with or without a definition.
#[derive(Debug)]
pub(crate) struct Custom {
    kind: Kind,
    definition: Option<Arc<Served>>,
}

impl Custom {
    /// A kind without a definition: every object is valid.
    pub(crate) const fn registered(kind: Kind) -> Self {
        Self { kind, definition: None }
    }

    /// A version of a definition.
    pub(crate) const fn defined(kind: Kind, definition: Arc<Served>) -> Self {
        Self { kind, definition: Some(definition) }
    }

    /// The schema and the rules of its definition.
    pub(crate) const fn definition(&self) -> Option<&Arc<Served>> {
        self.definition.as_ref()
    }
}

impl Strategy for Custom {
    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if let Some(definition) = &self.definition {
            definition.check(&self.kind, object, write.old, write.subresource, causes);
        }
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let broken = self.definition.iter().flat_map(|of| of.warnings(&self.kind, object, old));
        broken.chain(warnings_of_finalizers(object, old)).collect()
    }

    fn deprecation(&self) -> Option<&str> {
        self.definition.as_ref()?.deprecation.as_deref()
    }

    fn generation(&self) -> Generation {
        if self.kind.has_status() { Generation::MembersButStatus } else { Generation::Members }
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn changes_metadata_by_status(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, column("Age", Cell::Created)] }
    }

    fn storage_prefix(&self, kind: &Kind) -> String {
        format!("{}/{}", kind.group(), kind.plural())
    }
}

/// Warns of new finalizers without a domain or a path.
#[doc(alias = "validateKubeFinalizerName")]
fn warnings_of_finalizers(
    object: &Object,
    old: Option<&Object>,
) -> impl Iterator<Item = String> + use<> {
    let before = old.map(metadata::finalizers).unwrap_or_default();
    let mut added = metadata::finalizers(object);
    added.retain(|finalizer| {
        names::wrong_finalizer(finalizer).is_some() && !before.contains(finalizer)
    });
    added.sort_unstable();
    added.dedup();
    let warning = |finalizer: &str| {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name{path} \
             to avoid accidental conflicts with other finalizer writers"
        )
    };
    added.into_iter().map(warning).collect::<Vec<_>>().into_iter()
}
