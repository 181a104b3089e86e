//! A bare HTTP/1.1 client with keep-alive and a bearer token, the same for every server: bodies are counted, not decoded.

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
        let (scheme, address) = url.split_once("://").with_context(|| format!("{url:?} is no URL"))?;
        let address = address.parse().with_context(|| format!("{url:?} has no address of numbers"))?;
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
        let stream = TcpStream::connect(self.address).await.context("nobody listens")?;
        stream.set_nodelay(true)?;
        let sender = match &self.tls {
            None => serve(TokioIo::new(stream)).await?,
            Some(tls) => {
                let name = ServerName::IpAddress(self.address.ip().into());
                serve(TokioIo::new(tls.connect(name, stream).await.context("no TLS")?)).await?
            }
        };
        Ok(Connection { sender, authorization: format!("Bearer {}", self.token) })
    }
}

fn connector(certificates: &[u8]) -> Result<TlsConnector> {
    let mut roots = rustls::RootCertStore::empty();
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
    let (added, _) = roots.add_parsable_certificates(read.context("the certificates cannot be read")?);
    ensure!(added > 0, "there are no certificates to trust");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
}

async fn serve<T>(io: TokioIo<T>) -> Result<SendRequest<Full<Bytes>>>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
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

    /// Sends a GET whose answer has no end of its own.
    ///
    /// # Errors
    ///
    /// If the answer is not 200, or does not come.
    ///
    /// # Cancel safety
    ///
    /// After a dropped future the connection is of no more use.
    pub async fn stream(&mut self, path: &str) -> Result<Incoming> {
        let (code, body) = self.start(Method::GET, path, Bytes::new()).await?;
        ensure!(code == StatusCode::OK, "{path} answered {code}");
        Ok(body)
    }

    async fn start(&mut self, method: Method, path: &str, body: Bytes) -> Result<(StatusCode, Incoming)> {
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
