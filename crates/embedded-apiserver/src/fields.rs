//! Who owns which field of an object: sets of field paths, the structure that says what one field
//! is, and what a write does to both. Pure; follows the semantics of structured-merge-diff v6 and
//! of apimachinery's field manager.

mod apply;
mod codec;
mod compare;
mod element;
mod managed;
mod merge;
mod of_object;
mod reconcile;
mod remove;
pub(crate) mod scale;
mod set;
#[cfg(test)]
mod tests;
mod types;
mod update;
mod validate;

pub(crate) use crate::fields::apply::{Applied, Conflict, Refused, apply};
pub(crate) use crate::fields::element::Element;
pub(crate) use crate::fields::managed::{MAX_MANAGER, Managed, Sent};
pub(crate) use crate::fields::set::Set;
pub(crate) use crate::fields::types::Types;
pub(crate) use crate::fields::update::{Operation, update};
