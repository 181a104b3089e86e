//! Bearer tokens: they name the user of a request over a socket. Off until a token is given.

use crate::user::User;
use http::{HeaderMap, header};
use std::collections::BTreeMap;
use std::fmt;

/// Tokens and their users.
#[derive(Clone, Default)]
pub(crate) struct Tokens {
    users: BTreeMap<String, User>,
    /// Whether a request without credentials is anonymous though there are tokens: the roles of the
    /// server behind decide about it.
    pub(crate) admit_anonymous: bool,
}

/// Tokens are configured, and the request carries none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unauthorized;

impl Tokens {
    /// A token that is given twice stands for its last user.
    pub(crate) fn insert(&mut self, user: User, token: String) {
        self.users.insert(token, user);
    }

    /// The user's token; the smallest, if there are several.
    pub(crate) fn token_of(&self, user: &str) -> Option<&str> {
        self.users.iter().find(|(_, of)| of.name() == user).map(|(token, _)| token.as_str())
    }

    /// The user of a token.
    pub(crate) fn user_of(&self, token: &str) -> Option<&User> {
        self.users.get(token)
    }

    /// The user of a request over a socket.
    ///
    /// Beside `Authorization: Bearer` the token is taken as the password of `Basic`, with the
    /// user's name: client-go and kubectl send no bearer token over plain HTTP (clientcmd reads
    /// it only for TLS), but they do send the user part of the URL.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<User, Unauthorized> {
        if self.users.is_empty() {
            return Ok(User::anonymous());
        }
        let value = headers.get(header::AUTHORIZATION);
        if value.is_none() && self.admit_anonymous {
            return Ok(User::anonymous());
        }
        let value = value.and_then(|value| value.to_str().ok()).ok_or(Unauthorized)?;
        let (scheme, credentials) = value.trim().split_once(' ').ok_or(Unauthorized)?;
        let credentials = credentials.trim();
        let user = if scheme.eq_ignore_ascii_case("bearer") {
            self.users.get(credentials)
        } else if scheme.eq_ignore_ascii_case("basic") {
            // Both the name of a service account and a token may have colons.
            let pair = decoded(credentials).ok_or(Unauthorized)?;
            let mut splits = pair.match_indices(':').filter_map(|(at, _)| {
                let (name, token) = (pair.get(..at)?, pair.get(at.saturating_add(1)..)?);
                self.users.get(token).filter(|user| user.name() == name)
            });
            return splits.next().cloned().ok_or(Unauthorized);
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

fn decoded(credentials: &str) -> Option<String> {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(credentials).ok()?;
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests;
