//! The API types that every layer shares: kinds, metadata, statuses, queries, media types.

pub(crate) mod clock;
pub(crate) mod json_path;
pub(crate) mod json_syntax;
pub(crate) mod kind;
pub(crate) mod media;
pub(crate) mod metadata;
pub(crate) mod query;
pub(crate) mod recorded;
pub(crate) mod response;
pub(crate) mod status;
pub(crate) mod yaml;
