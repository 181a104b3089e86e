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

    /// The user of a request over a socket. `issued` knows the tokens that the server behind has
    /// issued itself: see [`Backend::user_of_token`](crate::Backend::user_of_token).
    ///
    /// Beside `Authorization: Bearer` the token is taken as the password of `Basic`, with the
    /// user's name: client-go and kubectl send no bearer token over plain HTTP (clientcmd reads
    /// it only for TLS), but they do send the user part of the URL.
    pub(crate) fn authenticate(
        &self,
        headers: &HeaderMap,
        issued: impl Fn(&str) -> Result<Option<User>, String>,
    ) -> Result<User, Unauthorized> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            let admits = self.users.is_empty() || self.admit_anonymous;
            return if admits { Ok(User::anonymous()) } else { Err(Unauthorized) };
        };
        let known = |token: &str| match self.users.get(token) {
            Some(user) => Ok(Some(user.clone())),
            None => issued(token).map_err(|_| Unauthorized),
        };
        let credentials = value.to_str().ok().and_then(|value| value.trim().split_once(' '));
        let user = match credentials.map(|(scheme, rest)| (scheme, rest.trim())) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => known(token)?,
            Some((scheme, pair)) if scheme.eq_ignore_ascii_case("basic") => {
                of_pair(&decoded(pair).unwrap_or_default(), known)?
            }
            _ => None,
        };
        match user {
            Some(user) => Ok(user),
            None if self.users.is_empty() => Ok(User::anonymous()),
            None => Err(Unauthorized),
        }
    }
}

/// The user of `NAME:TOKEN`. Both the name of a service account and a token may have colons.
fn of_pair(
    pair: &str,
    known: impl Fn(&str) -> Result<Option<User>, Unauthorized>,
) -> Result<Option<User>, Unauthorized> {
    for (at, _) in pair.match_indices(':') {
        let (name, token) = (pair.get(..at), pair.get(at.saturating_add(1)..));
        let user = token.map(&known).transpose()?.flatten();
        if let Some(user) = user.filter(|user| Some(user.name()) == name) {
            return Ok(Some(user));
        }
    }
    Ok(None)
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
