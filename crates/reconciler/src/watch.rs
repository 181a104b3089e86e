//! The watch protocol: `protocol` decides what to ask the server next, `decode` reads the answers.

pub(crate) mod decode;
mod managed_fields;
pub(crate) mod patience;
pub(crate) mod protocol;
