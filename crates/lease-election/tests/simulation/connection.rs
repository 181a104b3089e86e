//! Connection: the road of a process to its API server, by calls or, as a real client's, by HTTP/2
//! over a pipe.
//!
//! There a leaving server sends GOAWAY, and closes the connection later. A new handshake may fail.

use std::error::Error;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use embedded_apiserver::ApiService;
use http::{Request, Response, Uri};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http2;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use kube::client::Body;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tower::{Service, ServiceExt as _};

use crate::judge::World;

type BoxError = Box<dyn Error + Send + Sync>;

/// The body of an answer by either road.
pub(crate) type Answered = UnsyncBoxBody<Bytes, BoxError>;

/// The most bytes in flight.
const PIPE: usize = 64 * 1024;

/// How one API server treats connections over pipes.
#[derive(Clone)]
pub(crate) struct Door {
    /// How long after its next GOAWAY the server closes the rest.
    leaves: Arc<watch::Sender<Duration>>,
    is_broken: Arc<AtomicBool>,
    world: Arc<Mutex<World>>,
}

impl Door {
    pub(crate) fn new(world: &Arc<Mutex<World>>) -> Self {
        Self { leaves: Arc::default(), is_broken: Arc::default(), world: Arc::clone(world) }
    }

    /// Sends GOAWAY on all connections, and closes them after this time.
    pub(crate) fn go_away(&self, closed_after: Duration) {
        self.leaves.send_replace(closed_after);
    }

    /// Whether handshakes fail from now on. Open connections stay.
    pub(crate) fn set_broken(&self, is_broken: bool) {
        self.is_broken.store(is_broken, Ordering::SeqCst);
    }
}

/// The road of one process to one server.
#[derive(Clone)]
pub(crate) enum Road {
    Calls(ApiService),
    Http2(Box<Client<Handshake, Body>>),
}

impl Road {
    pub(crate) fn http2(server: ApiService, door: &Door) -> Self {
        let handshake = Handshake { server, door: door.clone() };
        let mut builder = Client::builder(TokioExecutor::new());
        Self::Http2(Box::new(builder.timer(TokioTimer::new()).http2_only(true).build(handshake)))
    }

    pub(crate) async fn send(
        self,
        mut request: Request<Body>,
    ) -> Result<Response<Answered>, BoxError> {
        match self {
            Self::Calls(server) => {
                let answer = server.oneshot(request).await?;
                Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
            }
            Self::Http2(client) => {
                *request.uri_mut() = format!("http://server{}", request.uri()).parse()?;
                let answer = client.request(request).await?;
                Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
            }
        }
    }
}

/// Makes connections, unless handshakes fail.
#[derive(Clone)]
pub(crate) struct Handshake {
    server: ApiService,
    door: Door,
}

impl Service<Uri> for Handshake {
    type Response = Pipe;
    type Error = io::Error;
    type Future = std::future::Ready<Result<Pipe, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        std::future::ready(if self.door.is_broken.load(Ordering::SeqCst) {
            self.door.world.lock().unwrap().saw("TLS error");
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "received fatal alert: CertificateExpired",
            ))
        } else {
            let (ours, theirs) = tokio::io::duplex(PIPE);
            tokio::spawn(serve(theirs, self.server.clone(), self.door.clone()));
            Ok(Pipe(TokioIo::new(ours)))
        })
    }
}

/// Serves one connection until the server has gone away.
async fn serve(pipe: DuplexStream, server: ApiService, door: Door) {
    let mut leaves = door.leaves.subscribe();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let service = TowerToHyperService::new(server);
    let mut connection =
        pin!(builder.timer(TokioTimer::new()).serve_connection(TokioIo::new(pipe), service));
    tokio::select! {
        biased;
        _ = &mut connection => return,
        _ = leaves.changed() => {}
    }
    door.world.lock().unwrap().saw("GOAWAY");
    let closed_after = *leaves.borrow();
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(closed_after, connection).await;
}

/// The client's end.
pub(crate) struct Pipe(TokioIo<DuplexStream>);

impl Connection for Pipe {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl Write for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
