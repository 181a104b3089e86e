//! One run of one key: `worker` takes it, `outcome` decides what comes next. Of a run on an object:
//! the reconciler, its context and its writes.

pub(crate) mod active;
mod cancellation;
pub(crate) mod events;
pub(crate) mod failing;
pub(crate) mod outcome;
pub(crate) mod parked;
pub(crate) mod reconciler;
pub(crate) mod request;
pub(crate) mod sparse_map;
#[cfg(feature = "admin")]
pub(crate) mod stall;
pub(crate) mod term;
pub(crate) mod worker;
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
