//! Sockets of the server and its replicas.

use api_front::{ListenError, Listener};

use crate::server::handle::EmbeddedApiServer;
use crate::server::replica::Replica;

impl EmbeddedApiServer {
    /// Listens on a loopback address until the [`Listener`] is shut down or dropped. With
    /// `127.0.0.1:0` the system selects the port. A server may listen on several addresses.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is invalid, not a loopback address, or in use.
    ///
    /// # Cancel safety
    ///
    /// Nothing listens if the future is dropped.
    pub async fn listen(&self, address: &str) -> Result<Listener, ListenError> {
        self.service().listen(address).await
    }

    /// As [`listen`](Self::listen), with TLS: HTTP/2 or HTTP/1.1, as the client selects (ALPN).
    /// Every client then sends its token.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is invalid, not a loopback address, or in use.
    ///
    /// # Cancel safety
    ///
    /// Nothing listens if the future is dropped.
    #[cfg(feature = "tls")]
    pub async fn listen_tls(
        &self,
        address: &str,
        tls: &api_front::Tls,
    ) -> Result<Listener, ListenError> {
        self.service().listen_tls(address, tls).await
    }
}

impl Replica {
    /// As [`EmbeddedApiServer::listen`], for this replica.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is invalid, not a loopback address, or in use.
    ///
    /// # Cancel safety
    ///
    /// Nothing listens if the future is dropped.
    pub async fn listen(&self, address: &str) -> Result<Listener, ListenError> {
        self.service().listen(address).await
    }
}
