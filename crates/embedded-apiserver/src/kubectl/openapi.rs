//! OpenAPI v3 documents for kubectl.

mod custom;
pub(crate) mod document;
