//! The listener: HTTP/1.1 and cleartext HTTP/2 on a loopback address, one task a connection, an orderly stop.

use crate::body::{Body, Disconnected};
use crate::server::EmbeddedApiServer;
use crate::service::ApiService;
use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tower::Service;

/// How long [`Listener::shutdown`] waits for answers that are under way.
const GRACE: Duration = Duration::from_secs(1);

/// Pause after an accept that failed for want of file descriptors or memory, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Why a server does not listen.
#[derive(Debug)]
#[non_exhaustive]
pub enum ListenError {
    /// The address cannot be read or resolved.
    Address {
        /// As it was given.
        address: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The address can be reached from outside this machine, and the builder does not allow that.
    NotLoopback {
        /// What the address resolved to.
        address: SocketAddr,
    },
    /// Another socket has the port.
    InUse {
        /// The address.
        address: SocketAddr,
    },
    /// The system refuses for another reason.
    Io {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { address, source } => {
                write!(f, "cannot listen on {address:?}: {source}; give HOST:PORT, for example 127.0.0.1:0")
            }
            Self::NotLoopback { address } => write!(
                f,
                "cannot listen on {address}: it is not a loopback address, and this server trusts whoever reaches it; \
                 use 127.0.0.1 or [::1], or build the server with allow_non_loopback(true)"
            ),
            Self::InUse { address } => write!(
                f,
                "cannot listen on {address}: the port is in use; stop what uses it, or give port 0 for any free one"
            ),
            Self::Io { address, source } => write!(f, "cannot listen on {address}: {source}"),
        }
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address { source, .. } | Self::Io { source, .. } => Some(source),
            Self::NotLoopback { .. } | Self::InUse { .. } => None,
        }
    }
}

/// A server's socket. Dropping it closes the socket and all its connections at once.
#[derive(Debug)]
#[must_use = "dropping the listener closes it"]
pub struct Listener {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Listener {
    /// The address it listens on, with the port that the system chose.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops: accepts no more, ends watches, lets answers under way finish for up to a second, closes the rest.
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

impl EmbeddedApiServer {
    /// Listens on a loopback address (`127.0.0.1:0` lets the system choose the port) until the [`Listener`] is shut
    /// down or dropped. A server may listen on several addresses.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is unusable, not a loopback address, or in use.
    ///
    /// # Cancel safety
    ///
    /// Nothing listens if the future is dropped.
    pub async fn listen(&self, address: &str) -> Result<Listener, ListenError> {
        Listener::open(self.service().from_socket(), address).await
    }
}

impl Listener {
    /// Binds and accepts for `service`, whose pipeline says whether other machines may reach it.
    pub(crate) async fn open(service: ApiService, address: &str) -> Result<Self, ListenError> {
        let unusable = |source| ListenError::Address { address: address.to_owned(), source };
        let resolved: Vec<SocketAddr> = lookup_host(address).await.map_err(unusable)?.collect();
        if !service.pipeline().allow_non_loopback
            && let Some(&outside) = resolved.iter().find(|resolved| !resolved.ip().is_loopback())
        {
            return Err(ListenError::NotLoopback { address: outside });
        }
        let Some(&address) = resolved.first() else {
            return Err(unusable(io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address")));
        };
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address },
            _ => ListenError::Io { address, source },
        };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let accepting = tokio::spawn(accept(socket, service, stopped));
        Ok(Self { address, stop, accepting })
    }
}

async fn accept(socket: TcpListener, service: ApiService, mut stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop(&mut stopped) => break,
            Some(_) = connections.join_next() => {}
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, service.clone(), stopped.clone()));
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

/// Waits until the listener stops; a listener that is gone has stopped.
async fn stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn serve(stream: TcpStream, service: ApiService, mut stopped: watch::Receiver<bool>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps Nagle's delay");
    }
    let dropped = Arc::new(Notify::new());
    let (drops, stops) = (Arc::clone(&dropped), stopped.clone());
    let service =
        service_fn(move |request| answer(service.clone(), request, Arc::clone(&drops), stops.clone()));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new());
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        // First the connection, so that what it has to write is written before it is dropped.
        biased;
        ended = connection.as_mut() => Some(ended),
        () = dropped.notified() => return,
        () = stop(&mut stopped) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = dropped.notified() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// One request of a connection. A fault that drops the connection takes all of it, other HTTP/2 streams included.
async fn answer(
    mut service: ApiService,
    request: Request<Incoming>,
    dropped: Arc<Notify>,
    mut stopped: watch::Receiver<bool>,
) -> Result<Response<Body>, Disconnected> {
    let response = match service.call(request).await {
        Ok(response) => response,
        Err(disconnected) => {
            dropped.notify_one();
            return Err(disconnected);
        }
    };
    if !response.body().is_stream() {
        return Ok(response);
    }
    let lost = move |chunk: &Result<Bytes, Disconnected>| {
        if chunk.is_err() {
            dropped.notify_one();
        }
    };
    let response = response.map(|body| body.inspect_chunks(lost));
    if !response.body().is_watch() {
        return Ok(response);
    }
    // A regular end of a watch; for any other answer it would be half of it.
    let until_stop = async move { stop(&mut stopped).await };
    Ok(response.map(|body| Body::stream(body.into_stream().take_until(Box::pin(until_stop)))))
}
