//! The TCP connection to a webhook.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tower::Service;

use crate::webhook::error::PostError;

/// Connects to the host of a URL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dial;

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = PostError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), PostError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(async move { dial(&uri).await.map(TokioIo::new) })
    }
}

/// The first address that accepts; if none does, the error is that of the first.
async fn dial(uri: &Uri) -> Result<TcpStream, PostError> {
    let host = uri.host().unwrap_or_default();
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let lookup = || PostError::Lookup { name: name.to_owned() };
    let addresses = lookup_host((name, uri.port_u16().unwrap_or(443))).await;
    let mut first = None;
    for address in addresses.map_err(|_| lookup())? {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "a connection keeps Nagle's delay");
                }
                return Ok(stream);
            }
            Err(error) => {
                let why = match error.kind() {
                    std::io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
                    _ => error.to_string(),
                };
                first.get_or_insert(PostError::Dial { address, why });
            }
        }
    }
    Err(first.unwrap_or_else(lookup))
}
