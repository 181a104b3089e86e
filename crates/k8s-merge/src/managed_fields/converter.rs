//! The conversion of objects between the versions of a kind.

use std::fmt;

use crate::Object;

/// Converts objects between versions of a kind that have other members.
#[doc(alias = "ObjectConvertor")]
pub trait Converter: fmt::Debug {
    /// An object of the version `from` in the version `to`; both are an apiVersion. `None` ends
    /// the operation: its result does not count.
    fn convert(&self, object: &Object, from: &str, to: &str) -> Option<Object>;
}
