//! The parts of the API for kubectl: tables, OpenAPI, discovery, protobuf.

pub(crate) mod discovery;
pub(crate) mod openapi;
pub(crate) mod protobuf;
pub(crate) mod table;
