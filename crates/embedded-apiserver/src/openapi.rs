//! OpenAPI: the structure of the built-in kinds, as the real server publishes it, and the documents
//! about it.

mod custom;
pub(crate) mod document;
pub(crate) mod schema;
