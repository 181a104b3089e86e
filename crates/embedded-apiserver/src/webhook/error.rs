//! Why a call of a webhook has no answer, in the words of upstream's client.

use std::fmt;
use std::net::SocketAddr;

/// Why a call has no answer. Its text is that of Go's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum CallError {
    /// `clientConfig` has a `service`.
    Service,
    /// `clientConfig` has neither a URL nor a service.
    NoUrl,
    /// The URL cannot be read.
    Unparsable(String),
    /// The server is built without webhooks.
    #[cfg_attr(feature = "webhooks", expect(dead_code, reason = "only without the feature"))]
    NotBuilt,
    /// `caBundle` has no certificate.
    CaBundle(String),
    /// No answer came.
    Post {
        /// With its query.
        url: String,
        why: PostError,
    },
    /// The body of the answer did not end in time, or broke off.
    Body(String),
    /// The answer is an error: by its code, or a Status in its body.
    Answer { code: u16, message: String },
    /// The answer is no JSON object.
    Unreadable(String),
    /// The answer has no body.
    Empty { code: u16, content_type: String },
}

/// Why no answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum PostError {
    /// The name has no address.
    Lookup { name: String },
    /// No connection to the address: `connection refused`.
    Dial { address: SocketAddr, why: String },
    /// The certificate is not accepted.
    Certificate(String),
    /// The handshake failed otherwise.
    Tls(String),
    /// The server speaks no TLS.
    Plain,
    /// The time is over.
    Deadline,
    /// The connection ended before the answer.
    Eof,
    /// Any other failure, in the words of this server's client.
    Other(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => f.write_str(
                "this server has no services to route to: give clientConfig.url, with an address \
                 of this machine, in place of clientConfig.service, as load_webhooks does",
            ),
            Self::NoUrl => f.write_str("webhook configuration must have either service or URL"),
            Self::Unparsable(why) => write!(f, "Unparsable URL: {why}"),
            Self::NotBuilt => f.write_str(
                "this server calls no webhooks: build embedded-apiserver with its feature `webhooks`",
            ),
            Self::CaBundle(why) => f.write_str(why),
            Self::Post { url, why } => write!(f, "Post \"{url}\": {why}"),
            Self::Body(why) => write!(
                f,
                "unexpected error when reading response body. Please retry. Original error: {why}"
            ),
            Self::Answer { message, .. } => f.write_str(message),
            Self::Unreadable(why) => f.write_str(why),
            Self::Empty { code, content_type } => {
                write!(f, "0-length response with status code: {code} and content type: {content_type}")
            }
        }
    }
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lookup { name } => write!(f, "dial tcp: lookup {name}: no such host"),
            Self::Dial { address, why } => write!(f, "dial tcp {address}: connect: {why}"),
            Self::Certificate(why) => write!(f, "tls: failed to verify certificate: x509: {why}"),
            Self::Tls(why) => write!(f, "tls: {why}"),
            Self::Plain => f.write_str("http: server gave HTTP response to HTTPS client"),
            Self::Deadline => f.write_str("context deadline exceeded"),
            Self::Eof => f.write_str("EOF"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for CallError {}

impl std::error::Error for PostError {}
