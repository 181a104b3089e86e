//! Who sends a request: an http extension, set by `client_as` in the process and by the token check on a socket.

use std::sync::Arc;

/// The user on whose behalf a request is made; an extension of the [`http::Request`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientName(pub Arc<str>);

impl ClientName {
    /// A client's name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }
}
