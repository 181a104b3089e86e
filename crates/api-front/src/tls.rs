//! Transport security for the listener: certificates that are given, or made for one server's life.

use std::fmt;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificates of a listener, and the authority that its clients trust.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use api_front::{Front, Tls};
/// # use bytes::Bytes;
/// # #[derive(Clone)]
/// # struct Server;
/// # impl api_front::Backend for Server {
/// #     async fn answer(&self, _: http::Request<Bytes>) -> http::Response<api_front::Body> {
/// #         http::Response::new(api_front::Body::empty())
/// #     }
/// # }
///
/// let front = Front::builder().token("alice", "a-secret").build();
/// let server = front.service(Server);
/// let listener = server.listen_tls("127.0.0.1:0", &Tls::self_signed()?).await?;
/// // For kubectl, client-go and kube, with the authority inline: they send the token as a bearer token.
/// let kubeconfig = listener.kubeconfig("alice");
/// assert!(kubeconfig.contains("certificate-authority-data"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "give it to `listen_tls`"]
pub struct Tls {
    config: Arc<ServerConfig>,
    authority: Arc<str>,
}

/// The key stays out of sight.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// Why certificates cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum TlsError {
    /// The text of the certificates has none, or an unreadable one.
    Certificates {
        /// The reason.
        why: String,
    },
    /// The text of the key has none, or an unreadable one.
    Key {
        /// The reason.
        why: String,
    },
    /// Key and certificates do not fit, or the key is of a sort that is not supported.
    Mismatch {
        /// The reason.
        why: String,
    },
    /// No certificate could be made.
    Making {
        /// The reason.
        why: String,
    },
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificates { why } => {
                write!(
                    f,
                    "cannot read the certificates: {why}; give PEM, the server's own certificate first"
                )
            }
            Self::Key { why } => {
                write!(
                    f,
                    "cannot read the private key: {why}; give PEM of PKCS #8, PKCS #1 or SEC 1"
                )
            }
            Self::Mismatch { why } => {
                write!(
                    f,
                    "cannot use the certificate with this key: {why}; give the key of the first certificate"
                )
            }
            Self::Making { why } => write!(f, "cannot make a certificate: {why}"),
        }
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// An authority of this server's own and a certificate by it for `localhost`, `127.0.0.1` and
    /// `::1`. The keys are made anew each time, and are kept in memory alone.
    ///
    /// # Errors
    ///
    /// [`TlsError::Making`], if the system gives no random numbers.
    pub fn self_signed() -> Result<Self, TlsError> {
        let making = |error: rcgen::Error| TlsError::Making { why: error.to_string() };
        let mut authority = CertificateParams::new(Vec::new()).map_err(making)?;
        authority.distinguished_name.push(DnType::CommonName, "api-front");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority_key = KeyPair::generate().map_err(making)?;
        let authority_pem = authority.self_signed(&authority_key).map_err(making)?.pem();
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        let mut own = CertificateParams::new(names).map_err(making)?;
        own.distinguished_name.push(DnType::CommonName, "localhost");
        own.use_authority_key_identifier_extension = true;
        let own_key = KeyPair::generate().map_err(making)?;
        let issuer = Issuer::new(authority, authority_key);
        let own_pem = own.signed_by(&own_key, &issuer).map_err(making)?.pem();
        Self::from_pem(&own_pem, &own_key.serialize_pem(), &authority_pem)
    }

    /// Certificates and key as text: the server's own certificate, with what stands between it and
    /// the authority behind it; its private key; and the authority's certificate, which goes
    /// into kubeconfigs.
    ///
    /// # Errors
    ///
    /// [`TlsError`], if one of the three cannot be read, or if they do not fit.
    pub fn from_pem(certificates: &str, key: &str, authority: &str) -> Result<Self, TlsError> {
        let read = |text: &str| {
            let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
            let all = all.map_err(|error| TlsError::Certificates { why: error.to_string() })?;
            if all.is_empty() {
                return Err(TlsError::Certificates { why: "there is none".to_owned() });
            }
            Ok(all)
        };
        let chain = read(certificates)?;
        read(authority)?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|error| TlsError::Key { why: error.to_string() })?;
        let mismatch =
            |error: tokio_rustls::rustls::Error| TlsError::Mismatch { why: error.to_string() };
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let mut config = builder
            .with_safe_default_protocol_versions()
            .map_err(mismatch)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(mismatch)?;
        config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), authority: authority.into() })
    }

    /// The certificate of the authority, as PEM: what a client must trust.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

/// HTTP/2 in the words of ALPN (RFC 9113, section 3.2).
pub(crate) const HTTP2: &[u8] = b"h2";
