//! One run on one object: the reconciler of objects, its context and its writes.

mod conditions;
mod context;
mod finalizers;
mod json;
mod object;
mod own;
mod writer;
mod writes;

pub use conditions::Conditions;
pub use context::Context;
pub use finalizers::Finalizers;
pub use object::{Cleanup, ObjectAdapter, ObjectReconciler};
pub use writer::TypedKind;
pub(crate) use writer::{Writer, is_of_cluster};
pub(crate) use writes::Writes;
