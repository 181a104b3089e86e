//! Tokens of service accounts: signed by this server, and valid as long as the account and the
//! object that they are bound to.

use std::fmt;
use std::sync::{Arc, OnceLock};

use api_front::User;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::access::jwt::{self, SigningKey};
use crate::api::metadata;
use crate::store::Store;
use crate::store::stored::{Key, Stored};

/// The issuer of the tokens, and their default audience: the default `--service-account-issuer` in
/// the tools that set up clusters.
#[doc(alias = "service-account-issuer")]
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// The member of the claims that only Kubernetes has.
const KUBERNETES: &str = "kubernetes.io";

/// How far the clocks of issuer and server may differ, and how long a deleted object still counts.
#[doc(alias = "DefaultLeeway")]
const LEEWAY: SignedDuration = SignedDuration::from_mins(1);

/// Issues and authenticates tokens of service accounts.
pub(crate) struct AccountTokens {
    store: Arc<Store>,
    /// Drawn for the first token: it dies with the server.
    key: OnceLock<SigningKey>,
}

/// The content of a new token.
#[derive(Debug)]
pub(crate) struct Claims<'a> {
    pub(crate) namespace: &'a str,
    /// The account, as [`reference()`] shows it.
    pub(crate) account: Value,
    /// The objects that the token is bound to, by `pod`, `node` and `secret`.
    pub(crate) bound: Map<String, Value>,
    pub(crate) audiences: &'a Value,
    pub(crate) issued: Timestamp,
    pub(crate) seconds: i64,
    /// Seconds after which a use of the token is reported.
    pub(crate) warn_after: Option<i64>,
}

/// The user of a valid token, and those of the wanted audiences that it is for.
#[derive(Debug)]
pub(crate) struct Authenticated {
    pub(crate) user: User,
    pub(crate) audiences: Vec<String>,
}

/// An object in the claims.
pub(crate) fn reference(object: &Stored) -> Value {
    json!({ "name": object.key.name(), "uid": object.uid() })
}

impl AccountTokens {
    /// Tokens of the accounts in `store`.
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, key: OnceLock::new() }
    }

    fn key(&self) -> &SigningKey {
        self.key.get_or_init(|| {
            let mut key = [0; 64];
            self.store.draw(|rng| rng.fill(&mut key));
            key
        })
    }

    /// A new token.
    #[doc(alias = "GenerateToken")]
    pub(crate) fn issue(&self, claims: Claims<'_>) -> String {
        let Claims { namespace, account, bound, audiences, issued, seconds, warn_after } = claims;
        let issued = issued.as_second();
        let name = text(&account, "name").to_owned();
        let mut kubernetes = bound;
        kubernetes.insert("namespace".to_owned(), namespace.into());
        kubernetes.insert("serviceaccount".to_owned(), account);
        if let Some(seconds) = warn_after {
            kubernetes.insert("warnafter".to_owned(), issued.saturating_add(seconds).into());
        }
        let claims = json!({
            "aud": audiences,
            "exp": issued.saturating_add(seconds),
            "iat": issued,
            "iss": ISSUER,
            "jti": self.store.draw(metadata::new_uid),
            KUBERNETES: kubernetes,
            "nbf": issued,
            "sub": User::service_account(namespace, &name).name(),
        });
        jwt::sign(self.key(), &claims)
    }

    /// The user of a token. `None`: this server does not issue such tokens.
    ///
    /// # Errors
    ///
    /// Says why the token is not valid, in upstream's words.
    #[doc(alias = "AuthenticateToken")]
    pub(crate) fn authenticate(
        &self,
        token: &str,
        audiences: &[&str],
        now: Timestamp,
    ) -> Result<Option<Authenticated>, String> {
        let Some(claims) = jwt::claims(token) else { return Ok(None) };
        if claims.get("iss").and_then(Value::as_str) != Some(ISSUER) {
            return Ok(None);
        }
        if !jwt::is_signed(self.key(), token) {
            return Err("go-jose/go-jose: error in cryptographic primitive".to_owned());
        }
        let of: Vec<&str> = claims
            .get("aud")
            .and_then(Value::as_array)
            .map(|of| of.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let both = of.iter().filter(|audience| audiences.contains(audience));
        let both: Vec<String> = both.map(|audience| (*audience).to_owned()).collect();
        if both.is_empty() {
            return Err(format!(
                "token audiences {} is invalid for the target audiences {}",
                quoted_list(&of),
                quoted_list(audiences)
            ));
        }
        let at = |claim: &str| claims.get(claim).and_then(Value::as_i64).unwrap_or_default();
        let leeway = LEEWAY.as_secs();
        if now.as_second() > at("exp").saturating_add(leeway) {
            return Err("service account token has expired".to_owned());
        }
        if now.as_second().saturating_add(leeway) < at("nbf") {
            return Err("service account token is not valid yet".to_owned());
        }
        let id = claims.get("jti").and_then(Value::as_str).unwrap_or_default();
        let user = self.user(claims.get(KUBERNETES).unwrap_or(&Value::Null), id, now)?;
        Ok(Some(Authenticated { user, audiences: both }))
    }

    /// The user of a token with a right signature, if all that it is bound to still exists.
    #[doc(alias = "Validate")]
    fn user(&self, claims: &Value, id: &str, now: Timestamp) -> Result<User, String> {
        let (namespace, account) = (text(claims, "namespace"), &claims["serviceaccount"]);
        let name = text(account, "name");
        let found = self.store.get("/serviceaccounts", &Key::new(namespace, name));
        let found = found.ok_or_else(|| format!("serviceaccounts {name:?} not found"))?;
        if found.uid() != text(account, "uid") {
            let (is, claimed) = (found.uid(), text(account, "uid"));
            return Err(format!("service account UID ({is}) does not match claim ({claimed})"));
        }
        if is_long_deleted(&found, now) {
            return Err(format!("service account {namespace}/{name} has been deleted"));
        }
        let (pod, node) = (&claims["pod"], &claims["node"]);
        self.check_bound("secret", namespace, &claims["secret"], now)?;
        self.check_bound("pod", namespace, pod, now)?;
        if pod.is_null() {
            self.check_bound("node", "", node, now)?;
        }
        let user = User::service_account(namespace, name).uid(found.uid());
        let extra = [
            ("credential-id", if id.is_empty() { String::new() } else { format!("JTI={id}") }),
            ("pod-name", text(pod, "name").to_owned()),
            ("pod-uid", text(pod, "uid").to_owned()),
            ("node-name", text(node, "name").to_owned()),
            ("node-uid", text(node, "uid").to_owned()),
        ];
        Ok(extra
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .fold(user, |user, (key, value)| {
                user.extra(format!("authentication.kubernetes.io/{key}"), value)
            }))
    }

    /// Checks that a bound object exists and has the uid of the claim.
    fn check_bound(
        &self,
        kind: &str,
        namespace: &str,
        claim: &Value,
        now: Timestamp,
    ) -> Result<(), String> {
        if claim.is_null() {
            return Ok(());
        }
        let invalidated = || "service account token has been invalidated".to_owned();
        let key = Key::new(namespace, text(claim, "name"));
        let found = self.store.get(&format!("/{kind}s"), &key).ok_or_else(invalidated)?;
        let (is, claimed) = (found.uid(), text(claim, "uid"));
        if is != claimed {
            return Err(format!(
                "{kind} UID ({is}) does not match service account {kind} ref claim ({claimed})"
            ));
        }
        if is_long_deleted(&found, now) { Err(invalidated()) } else { Ok(()) }
    }
}

/// The key is a secret.
impl fmt::Debug for AccountTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountTokens").finish_non_exhaustive()
    }
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// As Go's `%q` of a list.
fn quoted_list(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(" "))
}

/// Whether the object has had a deletionTimestamp for longer than the leeway.
fn is_long_deleted(object: &Stored, now: Timestamp) -> bool {
    if !object.is_being_deleted() {
        return false;
    }
    let object = object.object();
    let deleted: Option<Timestamp> = metadata::text(&object, "deletionTimestamp").parse().ok();
    deleted.is_some_and(|deleted| now.duration_since(deleted) > LEEWAY)
}
