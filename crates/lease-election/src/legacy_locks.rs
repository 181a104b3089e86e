//! Legacy locks: client-go's stores from before Leases, and two stores as one for the migration.

#[cfg(feature = "kube")]
mod annotation;
#[cfg(feature = "kube")]
mod annotation_store;
#[cfg(feature = "kube")]
mod members;
mod multi_store;

#[cfg(all(test, feature = "kube"))]
pub(crate) use annotation_store::ANNOTATION;
#[cfg(feature = "kube")]
pub use annotation_store::AnnotationStore;
pub use multi_store::MultiStore;
