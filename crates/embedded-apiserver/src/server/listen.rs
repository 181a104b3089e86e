//! The server and its replicas on a socket.

use api_front::{ListenError, Listener};

use crate::server::handle::EmbeddedApiServer;
use crate::server::replica::Replica;

impl EmbeddedApiServer {
    /// Listens on a loopback address (`127.0.0.1:0` lets the system choose the port) until the
    /// [`Listener`] is shut down or dropped. A server may listen on several addresses.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is unusable, not a loopback address, or in use.
    ///
    /// # Cancel safety
    ///
    /// Nothing listens if the future is dropped.
    pub async fn listen(&self, address: &str) -> Result<Listener, ListenError> {
        self.service().listen(address).await
    }

    /// As [`listen`](Self::listen), by TLS: HTTP/2 or HTTP/1.1 as the client wants it (ALPN). The
    /// users' tokens are then sent as bearer tokens by every client.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is unusable, not a loopback address, or in use.
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
    /// Listens as [`EmbeddedApiServer::listen`] does, for this replica.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is unusable, not a loopback address, or in use.
    ///
    /// # Cancel safety
    ///
    /// Nothing listens if the future is dropped.
    pub async fn listen(&self, address: &str) -> Result<Listener, ListenError> {
        self.service().listen(address).await
    }
}
