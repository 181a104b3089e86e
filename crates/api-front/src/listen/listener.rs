//! The socket of a server: binds, accepts, one task a connection, an orderly stop.

use super::connection::{Secure, connect, stop};
use super::error::ListenError;
use crate::backend::Backend;
use crate::front::Front;
use crate::service::FrontService;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, lookup_host};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// How long [`Listener::shutdown`] waits for answers that are under way.
const GRACE: Duration = Duration::from_secs(1);

/// Pause after an accept that failed for want of file descriptors or memory, so that the loop does
/// not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A server's socket. Dropping it closes the socket and all its connections at once.
#[derive(Debug)]
#[must_use = "dropping the listener closes it"]
pub struct Listener {
    address: SocketAddr,
    front: Front,
    secure: Secure,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Listener {
    /// The address it listens on, with the port that the system chose.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients: `http://127.0.0.1:PORT`, or `https://` with TLS.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = match self.secure {
            Secure::Plain => "http",
            #[cfg(feature = "tls")]
            Secure::Tls(_) => "https",
        };
        format!("{scheme}://{}", self.address)
    }

    /// A kubeconfig (YAML) with which kube, client-go and kubectl reach the server here as `user`,
    /// with the token of that user if it has one, and with the authority to trust inline. It
    /// holds the token: write it where only its reader can read it. Without any
    /// [token](crate::FrontBuilder::token) clients are `system:anonymous`.
    #[must_use]
    pub fn kubeconfig(&self, user: &str) -> String {
        let authority = match &self.secure {
            Secure::Plain => None,
            #[cfg(feature = "tls")]
            Secure::Tls(tls) => Some(tls.authority()),
        };
        self.front.kubeconfig_with(&self.url(), user, authority)
    }

    /// Stops: accepts no more, ends watches, lets answers under way finish for up to a second,
    /// closes the rest.
    ///
    /// # Cancel safety
    ///
    /// A dropped future closes everything at once, as dropping the listener does.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        // The task neither panics nor is aborted before; either way nothing runs any more.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl<B: Backend> FrontService<B> {
    /// Listens on a loopback address (`127.0.0.1:0` lets the system choose the port) until the
    /// [`Listener`] is shut down or dropped. A service may listen on several addresses.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is unusable, not a loopback address, or in use.
    ///
    /// # Cancel safety
    ///
    /// Nothing listens if the future is dropped.
    pub async fn listen(&self, address: &str) -> Result<Listener, ListenError> {
        Listener::open(self.clone(), address, Secure::Plain).await
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
        tls: &crate::Tls,
    ) -> Result<Listener, ListenError> {
        Listener::open(self.clone(), address, Secure::Tls(tls.clone())).await
    }
}

impl Listener {
    /// Binds and accepts for `service`, whose front says whether other machines may reach it.
    async fn open<B: Backend>(
        service: FrontService<B>,
        address: &str,
        secure: Secure,
    ) -> Result<Self, ListenError> {
        let unusable = |source| ListenError::Address { address: address.to_owned(), source };
        let resolved: Vec<SocketAddr> = lookup_host(address).await.map_err(unusable)?.collect();
        if !service.front().parts().allow_non_loopback
            && let Some(&outside) = resolved.iter().find(|resolved| !resolved.ip().is_loopback())
        {
            return Err(ListenError::NotLoopback { address: outside });
        }
        let Some(&address) = resolved.first() else {
            return Err(unusable(io::Error::new(
                io::ErrorKind::AddrNotAvailable,
                "the name has no address",
            )));
        };
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address },
            _ => ListenError::Io { address, source },
        };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let front = service.front().clone();
        let accepting = tokio::spawn(accept(socket, service.for_socket(), secure.clone(), stopped));
        Ok(Self { address, front, secure, stop, accepting })
    }
}

async fn accept<B: Backend>(
    socket: TcpListener,
    service: FrontService<B>,
    secure: Secure,
    mut stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop(&mut stopped) => break,
            Some(_) = connections.join_next() => {}
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connect(stream, service.clone(), secure.clone(), stopped.clone()));
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(socket);
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(GRACE, all).await.is_err() {
        connections.shutdown().await;
    }
}
