//! A bare HTTP/1.1 client with keep-alive and a bearer token, the same for every server: bodies are
//! counted, not decoded.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Where a server listens, and who asks.
#[derive(Clone)]
pub struct Endpoint {
    address: SocketAddr,
    tls: Option<TlsConnector>,
    token: String,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("address", &self.address)
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// `http://IP:PORT`, or `https://IP:PORT` with the certificates to trust as PEM.
    ///
    /// # Errors
    ///
    /// If the URL is none of these, or there are no certificates.
    pub fn new(url: &str, certificates: &[u8], token: &str) -> Result<Self> {
        let (scheme, address) =
            url.split_once("://").with_context(|| format!("{url:?} is no URL"))?;
        let address =
            address.parse().with_context(|| format!("{url:?} has no address of numbers"))?;
        let tls = match scheme {
            "http" => None,
            _ => Some(connector(certificates)?),
        };
        Ok(Self { address, tls, token: token.to_owned() })
    }

    /// Whether the connections are encrypted.
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// If nobody listens, or nobody whom the certificates vouch for.
    ///
    /// # Cancel safety
    ///
    /// A dropped future closes the connection.
    pub async fn connect(&self) -> Result<Connection> {
        let sender = serve(TokioIo::new(self.open().await?)).await?;
        Ok(Connection { sender, authorization: format!("Bearer {}", self.token) })
    }

    /// Sends a GET whose answer has no end of its own, on a connection that is for nothing else.
    ///
    /// # Errors
    ///
    /// If nobody listens, or the answer is not 200.
    ///
    /// # Cancel safety
    ///
    /// A dropped future closes the connection.
    pub async fn watch(&self, path: &str) -> Result<Events> {
        let mut stream = self.open().await?;
        let (address, token) = (self.address, &self.token);
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\naccept: application/json\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.flush().await?;
        let mut answer = Vec::new();
        while memchr::memmem::find(&answer, b"\r\n\r\n").is_none() {
            ensure!(stream.read_buf(&mut answer).await? > 0, "{path} was not answered");
        }
        ensure!(
            answer.starts_with(b"HTTP/1.1 200 "),
            "{path}: {}",
            String::from_utf8_lossy(&answer)
        );
        let ahead = answer.last() == Some(&b'}');
        Ok(Events { stream, buffer: vec![0; 64 * 1024], seen: count(&answer, false), ahead })
    }

    async fn open(&self) -> Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(self.address).await.context("nobody listens")?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::IpAddress(self.address.ip().into());
        Ok(Box::new(tls.connect(name, stream).await.context("no TLS")?))
    }
}

fn connector(certificates: &[u8]) -> Result<TlsConnector> {
    let mut roots = rustls::RootCertStore::empty();
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
    let (added, _) =
        roots.add_parsable_certificates(read.context("the certificates cannot be read")?);
    ensure!(added > 0, "there are no certificates to trust");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?;
    Ok(TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// The events of a watch, counted in what arrives: nothing between the socket and the count, so
/// that what is measured is what servers send.
pub struct Events {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    seen: usize,
    /// The last byte closed an object, which may have been the event's.
    ahead: bool,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Events {
    /// Reads until so many have come, from the first on.
    ///
    /// # Errors
    ///
    /// If the watch ends before.
    ///
    /// # Cancel safety
    ///
    /// After a dropped future some are counted already.
    pub async fn reach(&mut self, count_of_events: usize) -> Result<()> {
        while self.seen < count_of_events {
            let read = self.stream.read(&mut self.buffer).await?;
            ensure!(read > 0, "the watch ended after {} events", self.seen);
            let data = self.buffer.get(..read).unwrap_or_default();
            self.seen = self.seen.saturating_add(count(data, self.ahead));
            self.ahead = data.last() == Some(&b'}');
        }
        Ok(())
    }
}

/// How many events end in this part of an answer: `}` and the end of a line, while heads of chunks
/// end in `\r\n`, and JSON has no end of a line within.
fn count(data: &[u8], ahead: bool) -> usize {
    let of = |at: usize| at.checked_sub(1).map_or(ahead, |before| data.get(before) == Some(&b'}'));
    memchr::memchr_iter(b'\n', data).filter(|at| of(*at)).count()
}

async fn serve(io: TokioIo<Box<dyn Stream>>) -> Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = http1::handshake(io).await?;
    // It ends with the sender, or with the server; whoever sends next is told.
    tokio::spawn(connection);
    Ok(sender)
}

/// One connection, which is kept alive.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authorization: String,
}

impl Connection {
    /// Sends a request and reads all of the answer; returns how many bytes it had.
    ///
    /// # Errors
    ///
    /// If the answer is not of this code, or does not come.
    ///
    /// # Cancel safety
    ///
    /// After a dropped future the connection is of no more use.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
        wanted: StatusCode,
    ) -> Result<usize> {
        let (code, answer) = self.start(method, path, body).await?;
        let mut bytes = 0_usize;
        let mut answer = answer;
        let mut told = Vec::new();
        while let Some(frame) = answer.frame().await {
            if let Ok(data) = frame?.into_data() {
                bytes = bytes.saturating_add(data.len());
                if code != wanted {
                    told.extend_from_slice(&data);
                }
            }
        }
        ensure!(code == wanted, "{path} answered {code}: {}", String::from_utf8_lossy(&told));
        Ok(bytes)
    }

    async fn start(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Incoming)> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "rivals")
            .header(header::AUTHORIZATION, &self.authorization)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        Ok((parts.status, body))
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn events_are_counted_across_chunks_and_reads() {
        let stream = b"10\r\n{\"a\":{}}\n{}\n\r\n5\r\n{}\n{}\r\n1\r\n\n\r\n";
        assert_eq!(
            count(stream, false),
            3,
            "of the fourth the end of its line is in a chunk of its own"
        );
        for at in 0..stream.len() {
            let (one, other) = stream.split_at(at);
            assert_eq!(count(one, false) + count(other, one.last() == Some(&b'}')), 3, "{at}");
        }
    }
}
