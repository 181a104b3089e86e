//! The conversion of objects between the versions of a kind.

use std::borrow::Cow;
use std::fmt;

use crate::Object;
use crate::managed_fields::compare::Mismatch;
use crate::managed_fields::operation::Operation;

/// Converts objects between versions of a kind that have other members.
#[doc(alias = "ObjectConvertor")]
pub trait Converter: fmt::Debug {
    /// An object of the version `from` in the version `to`; both are an apiVersion. `None` ends
    /// the operation: its result does not count.
    fn convert(&self, object: &Object, from: &str, to: &str) -> Option<Object>;
}

impl Operation<'_> {
    /// An object of one version in another one.
    pub(super) fn in_version<'a>(
        &self,
        object: &'a Object,
        from: &str,
        to: &str,
    ) -> Result<Cow<'a, Object>, Mismatch> {
        let Some(converter) = self.converter.filter(|_| from != to) else {
            return Ok(Cow::Borrowed(object));
        };
        let converted = converter.convert(object, from, to).map(Cow::Owned);
        converted.ok_or_else(|| Mismatch(format!("it is not converted from {from} to {to}")))
    }
}
