//! A webhook for cases: an HTTPS server on loopback, whose answers a closure gives.

use std::sync::Arc;

use api_front::{Backend, Body, Faults, Front, Listener, Tls};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// With its query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The review.
    pub(crate) review: Value,
}

/// What a webhook answers.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Of this code, with this content type and body.
    Response(u16, &'static str, String),
    /// Nothing, until the client gives up.
    Never,
}

impl Reply {
    /// A review, with 200.
    pub(crate) fn review(review: &Value) -> Self {
        Self::Response(200, "application/json", review.to_string())
    }
}

type Answer = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// A webhook that runs until it is dropped.
pub(crate) struct WebhookServer {
    /// `None` after [`stop`](Self::stop).
    listener: Mutex<Option<Listener>>,
    url: String,
    front: Front,
    authority: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// The certificate of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certificate {
    /// Nothing: it is for `127.0.0.1` and `localhost`.
    Good,
    /// It is for `elsewhere.example.com`.
    OtherName,
    /// It ended in 2001.
    Expired,
}

impl WebhookServer {
    /// A webhook with this certificate, whose reviews get these answers.
    ///
    /// # Errors
    ///
    /// Why there is no socket.
    pub(crate) async fn with(
        certificate: Certificate,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let tls = made(certificate)?;
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let backend = Webhook { answer: Arc::new(answer), seen: Arc::clone(&seen) };
        let front = Front::builder().build();
        let listener = front.service(backend).listen_tls("127.0.0.1:0", &tls).await;
        let listener = listener.map_err(|error| error.to_string())?;
        let (url, listener) = (listener.url(), Mutex::new(Some(listener)));
        Ok(Self { listener, url, front, authority: tls.authority().to_owned(), seen })
    }

    /// `https://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Stops it: nothing listens at its address any more.
    pub(crate) async fn stop(&self) {
        let listener = self.listener.lock().take();
        if let Some(listener) = listener {
            listener.shutdown().await;
        }
    }

    /// The authority of its certificate: PEM in base64.
    pub(crate) fn ca_bundle(&self) -> String {
        STANDARD.encode(&self.authority)
    }

    /// The authority of its certificate, as PEM.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// The `clientConfig` that reaches it at this path.
    pub(crate) fn client_config(&self, path: &str) -> Value {
        json!({ "url": format!("{}{path}", self.url()), "caBundle": self.ca_bundle() })
    }

    /// Its own faults.
    pub(crate) fn faults(&self) -> Faults {
        self.front.faults()
    }

    /// The requests so far, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// Forgets the requests so far.
    pub(crate) fn forget(&self) {
        self.seen.lock().clear();
    }
}

#[derive(Clone)]
struct Webhook {
    answer: Answer,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Backend for Webhook {
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        let path = request.uri().path_and_query().map(ToString::to_string);
        let review = serde_json::from_slice(request.body()).unwrap_or_default();
        let headers = request.headers().clone();
        let seen = Seen { path: path.unwrap_or_default(), headers, review };
        let reply = (self.answer)(&seen);
        self.seen.lock().push(seen);
        let Reply::Response(code, content_type, body) = reply else {
            return std::future::pending().await;
        };
        let mut response = Response::new(Body::full(body));
        *response.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
        let content_type = HeaderValue::from_static(content_type);
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response
    }
}

/// A new authority and a certificate by it.
fn made(certificate: Certificate) -> Result<Tls, String> {
    let making = |error: rcgen::Error| error.to_string();
    let mut authority = CertificateParams::new(Vec::new()).map_err(making)?;
    authority.distinguished_name.push(DnType::CommonName, "conformance");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority_key = KeyPair::generate().map_err(making)?;
    let authority_pem = authority.self_signed(&authority_key).map_err(making)?.pem();
    let names: &[&str] = match certificate {
        Certificate::OtherName => &["elsewhere.example.com", "127.0.0.9"],
        Certificate::Good | Certificate::Expired => &["localhost", "127.0.0.1"],
    };
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut own = CertificateParams::new(names).map_err(making)?;
    own.distinguished_name.push(DnType::CommonName, "webhook");
    if certificate == Certificate::Expired {
        own.not_before = rcgen::date_time_ymd(2000, 1, 1);
        own.not_after = rcgen::date_time_ymd(2001, 1, 1);
    }
    let own_key = KeyPair::generate().map_err(making)?;
    let issuer = Issuer::new(authority, authority_key);
    let own_pem = own.signed_by(&own_key, &issuer).map_err(making)?.pem();
    Tls::from_pem(&own_pem, &own_key.serialize_pem(), &authority_pem)
        .map_err(|error| error.to_string())
}
