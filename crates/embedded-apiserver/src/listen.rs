//! The listener: HTTP/1.1 and HTTP/2 on a loopback address, in the clear or by TLS, one task a
//! connection, an orderly stop. Who connects and then says nothing, or says it too slowly, is not
//! waited for.

use crate::body::{Body, Disconnected};
use crate::listen::together::together;
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
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tower::Service;

mod together;

/// How long [`Listener::shutdown`] waits for answers that are under way.
const GRACE: Duration = Duration::from_secs(1);

/// Pause after an accept that failed for want of file descriptors or memory, so that the loop does
/// not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// How long a new connection may take until its first request is there, the TLS handshake included:
/// `ReadHeaderTimeout` of k8s.io/apiserver/pkg/server/secure_serving.go.
const FIRST_REQUEST: Duration = Duration::from_secs(32);

/// How long a connection may be idle between two requests, and the head of a later request may
/// take: `IdleTimeout` there.
const NEXT_REQUEST: Duration = Duration::from_secs(90);

/// Requests that are under way on one HTTP/2 connection: `--http2-max-streams-per-connection` of
/// kube-apiserver.
const STREAMS: u32 = 1000;

/// The largest head of a request: `DefaultMaxHeaderBytes` of Go's net/http.
const HEAD: u32 = 1 << 20;

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
                write!(
                    f,
                    "cannot listen on {address:?}: {source}; give HOST:PORT, for example 127.0.0.1:0"
                )
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
    service: ApiService,
    secure: Secure,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

/// How a connection is secured.
#[derive(Debug, Clone)]
enum Secure {
    Not,
    #[cfg(feature = "tls")]
    Tls(crate::tls::Tls),
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
            Secure::Not => "http",
            #[cfg(feature = "tls")]
            Secure::Tls(_) => "https",
        };
        format!("{scheme}://{}", self.address)
    }

    /// A kubeconfig (YAML) with which kube, client-go and kubectl reach the server here as `user`,
    /// with the user's token if the builder was given one, and with what to trust inline. It
    /// holds the token: write it where only its reader can read it. Without a token
    /// ([`Builder::token`](crate::Builder::token)) clients are `system:anonymous`.
    #[must_use]
    pub fn kubeconfig(&self, user: &str) -> String {
        let authority = match &self.secure {
            Secure::Not => None,
            #[cfg(feature = "tls")]
            Secure::Tls(tls) => Some(tls.authority()),
        };
        let token = self.service.pipeline().tokens.token_of(user);
        crate::kubeconfig::kubeconfig(&self.url(), user, token, authority)
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
        Listener::open(self.service().for_socket(), address).await
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
        let secure = Secure::Tls(tls.clone());
        Listener::open_secured(self.service().for_socket(), address, secure).await
    }
}

impl Listener {
    /// Binds and accepts for `service`, whose pipeline says whether other machines may reach it.
    pub(crate) async fn open(service: ApiService, address: &str) -> Result<Self, ListenError> {
        Self::open_secured(service, address, Secure::Not).await
    }

    async fn open_secured(
        service: ApiService,
        address: &str,
        secure: Secure,
    ) -> Result<Self, ListenError> {
        let unusable = |source| ListenError::Address { address: address.to_owned(), source };
        let resolved: Vec<SocketAddr> = lookup_host(address).await.map_err(unusable)?.collect();
        if !service.pipeline().allow_non_loopback
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
        let accepting = tokio::spawn(accept(socket, service.clone(), secure.clone(), stopped));
        Ok(Self { address, service, secure, stop, accepting })
    }
}

async fn accept(
    socket: TcpListener,
    service: ApiService,
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

/// Waits until the listener stops; a listener that is gone has stopped.
async fn stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// One connection: its handshake, if it has one, and its requests.
async fn connect(
    stream: TcpStream,
    service: ApiService,
    secure: Secure,
    stopped: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps Nagle's delay");
    }
    match secure {
        Secure::Not => {
            serve(stream, service, auto::Builder::new(TokioExecutor::new()), stopped).await
        }
        #[cfg(feature = "tls")]
        Secure::Tls(tls) => {
            let handshake = timeout(FIRST_REQUEST, tls.acceptor().accept(stream)).await;
            let stream = match handshake {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => {
                    return tracing::debug!(%error, "a connection ended in its handshake");
                }
                Err(_) => return tracing::debug!("a connection did not end its handshake in time"),
            };
            let http2 = stream.get_ref().1.alpn_protocol() == Some(crate::tls::HTTP2);
            let builder = auto::Builder::new(TokioExecutor::new());
            let builder = if http2 { builder.http2_only() } else { builder.http1_only() };
            serve(stream, service, builder, stopped).await;
        }
    }
}

async fn serve<S>(
    stream: S,
    service: ApiService,
    mut builder: auto::Builder<TokioExecutor>,
    mut stopped: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (dropped, begun) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let (drops, stops, begins) = (Arc::clone(&dropped), stopped.clone(), Arc::clone(&begun));
    let service = service_fn(move |request| {
        begins.store(true, Ordering::Relaxed);
        answer(service.clone(), request, Arc::clone(&drops), stops.clone())
    });
    builder.http1().timer(TokioTimer::new()).header_read_timeout(NEXT_REQUEST);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut first = pin!(sleep(FIRST_REQUEST));
    let mut waits = true;
    let ended = loop {
        tokio::select! {
            // First the connection, so that what it has to write is written before it is dropped.
            biased;
            ended = connection.as_mut() => break Some(ended),
            () = dropped.notified() => return,
            () = stop(&mut stopped) => break None,
            () = first.as_mut(), if waits => {
                if !begun.load(Ordering::Relaxed) {
                    return tracing::debug!("a connection without a request was closed");
                }
                waits = false;
            }
        }
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

/// One request of a connection. A fault that drops the connection takes all of it, other HTTP/2
/// streams included.
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
    let response = response.map(|body| match body.is_watch() {
        true => Body::stream(together(body.into_stream())),
        false => body,
    });
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
