//! Names: what Kubernetes accepts as the name of an object, and this crate as an identity.

use super::random::random;
use crate::error::{ConfigError, shown};

/// Checks a DNS-1123 name, before a URL is built of it.
pub(crate) fn check_name(
    field: &'static str,
    value: &str,
    longest: usize,
    dots: bool,
) -> Result<(), ConfigError> {
    let label = |text: &str| {
        !text.is_empty()
            && !text.starts_with('-')
            && !text.ends_with('-')
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let fine =
        value.len() <= longest && if dots { value.split('.').all(label) } else { label(value) };
    if fine {
        return Ok(());
    }
    let kind = if dots { "subdomain (labels joined by dots)" } else { "label" };
    Err(ConfigError {
        field,
        value: format!("\"{}\"", shown(value)),
        bound: format!(
            "a DNS-1123 {kind}: a-z, 0-9 and '-', starting and ending with a letter or digit, at most {longest} bytes"
        ),
        remedy: "use the name as it stands in the manifest",
    })
}

pub(crate) fn check_identity(identity: &str) -> Result<(), ConfigError> {
    if !identity.trim().is_empty()
        && identity.len() <= 253
        && !identity.chars().any(char::is_control)
    {
        return Ok(());
    }
    Err(ConfigError {
        field: "identity",
        value: format!("\"{}\"", shown(identity)),
        bound: format!(
            "not blank, at most 253 bytes (it has {}), no control characters",
            identity.len()
        ),
        remedy: "use the pod's name and something random, or leave it out",
    })
}

/// The host's name and 64 random bits, so that no two processes share one.
pub(super) fn default_identity() -> String {
    format!("{}_{:016x}", host(), random())
}

/// The host's name, without characters that do not belong in an identity.
pub(super) fn host() -> String {
    let uname = rustix::system::uname();
    uname
        .nodename()
        .to_string_lossy()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
        .take(200)
        .collect()
}
