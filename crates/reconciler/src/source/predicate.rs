//! Predicates for [`Cache::when`](crate::Cache::when): which changes a source names.
//!
//! ```
//! # use k8s_openapi::api::apps::v1::Deployment;
//! # use reconciler::{Controller, Manager, ObjectReconciler, predicate};
//! # fn add<R: ObjectReconciler>(manager: &mut Manager, foos: &reconciler::Cache<R::Object>,
//! #     deployments: &reconciler::Cache<Deployment>, reconciler: R) {
//! let controller = Controller::new("foo", &foos.when(predicate::spec_or_deletion), reconciler)
//!     .owns(&deployments.when(|change| {
//!         predicate::generation_changed(change) || predicate::labels_changed(change)
//!     }));
//! # manager.add(controller);
//! # }
//! ```
//!
//! These predicates compare the two versions of a changed object. An object that appears, exists at
//! the start or vanishes passes, unless its predicate says otherwise.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::Change;

/// Passes changes of `metadata.generation`: of the spec, and the begin of a deletion. Status,
/// labels and annotations do not count.
///
/// Kinds without a generation (config maps, secrets, claims, volumes) have no spec to compare: all
/// their changes pass. The server also raises the generation after a change of a Deployment's
/// annotations, and of the status of a custom resource without the status subresource.
#[doc(alias = "GenerationChangedPredicate")]
pub fn generation_changed<K: Resource>(change: &Change<K>) -> bool {
    differs(change, |old, new| new.generation.is_none() || old.generation != new.generation)
}

/// Passes what [`generation_changed`] passes, and changes of the finalizers and of the deletion
/// timestamp. So a cleanup that waits for the finalizers of others sees them go.
pub fn spec_or_deletion<K: Resource>(change: &Change<K>) -> bool {
    generation_changed(change)
        || differs(change, |old, new| {
            old.deletion_timestamp != new.deletion_timestamp || old.finalizers != new.finalizers
        })
}

/// Passes changes of the labels.
#[doc(alias = "LabelChangedPredicate")]
pub fn labels_changed<K: Resource>(change: &Change<K>) -> bool {
    differs(change, |old, new| old.labels != new.labels)
}

/// Passes changes of the annotations.
#[doc(alias = "AnnotationChangedPredicate")]
pub fn annotations_changed<K: Resource>(change: &Change<K>) -> bool {
    differs(change, |old, new| old.annotations != new.annotations)
}

/// Passes objects without this annotation, or with the value `false`. An object that appears with
/// it does not pass. Its deletion and the removal of the annotation pass.
///
/// It stops this source alone. A retry, a requeue or another source still runs the key. To pause
/// the objects of a controller use
/// [`Controller::pause_annotation`](crate::Controller::pause_annotation).
pub fn not_paused<K: Resource>(
    annotation: impl Into<String>,
) -> impl Fn(&Change<K>) -> bool + Send + Sync + 'static {
    let annotation = annotation.into();
    move |change| !change.new.as_ref().is_some_and(|new| is_paused(new.meta(), &annotation))
}

/// Whether the annotation is there, and is not `false`.
pub(crate) fn is_paused(meta: &ObjectMeta, annotation: &str) -> bool {
    let annotations = meta.annotations.iter().flatten();
    annotations.into_iter().any(|(name, value)| name == annotation && value != "false")
}

/// Whether the two versions differ; true if there is only one.
fn differs<K: Resource>(
    change: &Change<K>,
    differ: impl Fn(&ObjectMeta, &ObjectMeta) -> bool,
) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => differ(old.meta(), new.meta()),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
