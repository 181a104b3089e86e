//! OpenAPI v3 documents, as kubectl reads them.

mod custom;
pub(crate) mod document;
