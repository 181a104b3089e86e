//! Owners of fields: `metadata.managedFields`, server-side apply, and its conflicts.
//!
//! Follows structured-merge-diff v6 and the field manager of apimachinery.
//!
//! [`Types`] is the structure of a kind, [`ManagedFields`] are the owners in one object.
//! [`apply()`] and [`update()`] say what one write, an [`Operation`], does to both. [`scale`] moves
//! the owner of the replicas to a Scale and back.

mod apply;
mod codec;
mod compare;
mod conflict;
mod converter;
mod element;
mod entries;
mod manager;
mod merge;
mod of_object;
mod openapi;
mod operation;
mod reconcile;
mod remove;
pub mod scale;
mod set;
#[cfg(test)]
mod tests;
mod types;
mod update;
mod validate;

pub use apply::{ApplyError, ApplyOutcome, apply};
pub use compare::Mismatch;
pub use conflict::Conflict;
pub use converter::Converter;
pub use element::Element;
pub use entries::{Entry, ManagedFields, RequestedFields};
pub use manager::{MAX_MANAGER, Manager};
pub use operation::Operation;
pub use set::{Path, Set};
pub use types::Types;
pub use update::update;
