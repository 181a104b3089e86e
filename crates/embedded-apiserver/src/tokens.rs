//! Bearer tokens: which user a request over a socket is made for. Off until a token is given.

use http::{HeaderMap, header};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Who asks when nobody says so and no tokens are configured, as in Kubernetes.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// Tokens and their users.
#[derive(Clone, Default)]
pub(crate) struct Tokens {
    users: HashMap<String, Arc<str>>,
}

/// Tokens are configured, and the request carries none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unauthorized;

impl Tokens {
    /// A token that is given twice stands for its last user.
    pub(crate) fn insert(&mut self, user: &str, token: String) {
        self.users.insert(token, Arc::from(user));
    }

    /// The user's token; the smallest, if there are several.
    pub(crate) fn token_of(&self, user: &str) -> Option<&str> {
        let tokens = self.users.iter().filter(|(_, of)| &***of == user);
        tokens.map(|(token, _)| token.as_str()).min()
    }

    /// The user of a request over a socket.
    ///
    /// Beside `Authorization: Bearer` the token is taken as the password of `Basic`: client-go and kubectl send no
    /// bearer token over plain HTTP (clientcmd reads it only for TLS), but they do send the user part of the URL.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<str>, Unauthorized> {
        if self.users.is_empty() {
            return Ok(Arc::from(ANONYMOUS));
        }
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let (scheme, credentials) =
            value.and_then(|value| value.trim().split_once(' ')).ok_or(Unauthorized)?;
        let credentials = credentials.trim();
        let user = if scheme.eq_ignore_ascii_case("bearer") {
            self.users.get(credentials)
        } else if scheme.eq_ignore_ascii_case("basic") {
            password(credentials).and_then(|token| self.users.get(&token))
        } else {
            None
        };
        user.cloned().ok_or(Unauthorized)
    }
}

/// Tokens are secrets: only the users are shown.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.users.values()).finish()
    }
}

fn password(encoded: &str) -> Option<String> {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    decoded.split_once(':').map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests;
