//! One connection: its handshake, its requests, its orderly end. A client that sends nothing, or
//! sends it too slowly, loses the connection.

use super::coalesce::coalesce;
use crate::backend::Backend;
use crate::body::{Body, Disconnected};
use crate::service::FrontService;
use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;
use tower::Service;

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

/// How a connection is secured.
#[derive(Debug, Clone)]
pub(super) enum Secure {
    Plain,
    #[cfg(feature = "tls")]
    Tls(crate::tls::Tls),
}

/// Waits until the listener stops; a listener that is gone has stopped.
pub(super) async fn stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// One connection: its handshake, if it has one, and its requests.
pub(super) async fn connect<B: Backend>(
    stream: TcpStream,
    service: FrontService<B>,
    secure: Secure,
    stopped: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps Nagle's delay");
    }
    match secure {
        Secure::Plain => {
            serve(stream, service, auto::Builder::new(TokioExecutor::new()), stopped).await
        }
        #[cfg(feature = "tls")]
        Secure::Tls(tls) => {
            let handshake =
                tokio::time::timeout(FIRST_REQUEST, tls.acceptor().accept(stream)).await;
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

async fn serve<B, S>(
    stream: S,
    service: FrontService<B>,
    mut builder: auto::Builder<TokioExecutor>,
    mut stopped: watch::Receiver<bool>,
) where
    B: Backend,
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
async fn answer<B: Backend>(
    mut service: FrontService<B>,
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
        true => Body::stream(coalesce(body.into_stream())),
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
