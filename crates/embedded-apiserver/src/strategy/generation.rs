//! Which changes increase the generation of an object.

use crate::api::metadata::{self, Object};

/// The changes that increase the generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Objects have no generation.
    None,
    /// Objects have generation 1, whatever changes.
    Constant,
    /// A change of the spec.
    Spec,
    /// A change of the spec or of an annotation: annotations are copied to the dependents.
    SpecAndAnnotations,
    /// A change of any member outside of the metadata, or of a label
    /// (pkg/registry/discovery/endpointslice/strategy.go).
    MembersAndLabels,
    /// A change of any member outside of the metadata.
    Members,
    /// A change of any member outside of the metadata and the status.
    MembersButStatus,
}

impl Generation {
    /// Whether objects have a generation.
    pub(crate) fn exists(self) -> bool {
        self != Self::None
    }

    /// Whether an update increases the generation. Not for updates of the status.
    pub(crate) fn is_counted(self, new: &Object, old: &Object) -> bool {
        let differs = |member: &str| new.get(member) != old.get(member);
        let differs_in_metadata =
            |member: &str| metadata::get(new, member) != metadata::get(old, member);
        let differs_but = |left_out: &[&str]| {
            let mut names = new.keys().chain(old.keys());
            names.any(|name| !left_out.contains(&name.as_str()) && differs(name))
        };
        match self {
            Self::None | Self::Constant => false,
            Self::Spec => differs("spec"),
            Self::SpecAndAnnotations => differs("spec") || differs_in_metadata("annotations"),
            Self::MembersAndLabels => differs_but(&["metadata"]) || differs_in_metadata("labels"),
            Self::Members => differs_but(&["metadata"]),
            Self::MembersButStatus => differs_but(&["metadata", "status"]),
        }
    }
}
