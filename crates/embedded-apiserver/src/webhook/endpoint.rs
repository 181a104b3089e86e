//! Where a webhook is, and whom its certificate must come from. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::webhook::error::CallError;
use crate::webhook::url::Url;

/// A `clientConfig`, read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[doc(alias = "WebhookClientConfig")]
pub(crate) struct Endpoint {
    /// Without a query.
    url: String,
    is_local: bool,
    /// PEM; empty: no authority is known.
    ca_bundle: Vec<u8>,
}

impl Endpoint {
    /// Reads a `clientConfig` that passed validation.
    ///
    /// # Errors
    ///
    /// If it has no usable `url`.
    pub(crate) fn read(client_config: &Value) -> Result<Self, CallError> {
        if client_config.get("service").is_some_and(|service| !service.is_null()) {
            return Err(CallError::Service);
        }
        let text = client_config.get("url").and_then(Value::as_str).unwrap_or_default();
        if text.is_empty() {
            return Err(CallError::NoUrl);
        }
        let url = Url::parse(text).map_err(CallError::Unparsable)?;
        let name = url.host_name();
        let address: Option<std::net::IpAddr> = name.parse().ok();
        let is_local = name.eq_ignore_ascii_case("localhost")
            || address.is_some_and(|address| address.is_loopback());
        let ca_bundle = ca_bundle(client_config).unwrap_or_default();
        let url = format!("{}://{}{}", url.scheme, url.host, url.clean_path());
        Ok(Self { url, is_local, ca_bundle })
    }

    /// The URL with this query.
    pub(crate) fn url(&self, query: &str) -> String {
        format!("{}?{query}", self.url)
    }

    /// Whether it is on this machine: then HTTP/2 is allowed too, as upstream.
    pub(crate) const fn is_local(&self) -> bool {
        self.is_local
    }

    pub(crate) fn ca_bundle(&self) -> &[u8] {
        &self.ca_bundle
    }
}

/// Decodes `caBundle`, which is base64 in JSON. Returns `None` if it is absent or blank.
pub(crate) fn ca_bundle(client_config: &Value) -> Option<Vec<u8>> {
    let text = client_config.get("caBundle").and_then(Value::as_str)?;
    // As Go, which skips the ends of lines.
    let text: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    STANDARD.decode(text).ok().filter(|bytes| !bytes.trim_ascii().is_empty())
}
