//! Legacy locks: what client-go elected with before Leases, and two locks as one for the move away
//! from them. Stores as any other: the protocol does not know them.

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
