//! Continue tokens: where the next page of a list begins. In kube-apiserver's own form, so that
//! what it says of wrong ones can be said here.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json_syntax::{mismatch, problem};
use crate::route::Target;
use crate::status::Status;
use crate::stored::Key;

/// `continueToken` of k8s.io/apiserver/pkg/storage/continue.go. Opaque to clients, and not tied to
/// a collection: it names a place below whatever is listed.
#[derive(Debug, Default, Serialize)]
struct Written {
    v: String,
    /// -1: whatever is newest.
    rv: i64,
    /// Below the collection: `name`, or `namespace/name` in a list over all namespaces, and a NUL
    /// to begin behind it.
    start: String,
    /// How many objects of which collection follow, if all of them were asked for: then nobody
    /// counts them again. The real server has no such member, and counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<(usize, String)>,
}

impl Written {
    /// As Go's decoder reads it: the names of members in any case.
    fn read(json: &[u8]) -> Result<Self, String> {
        let wrong = |raw: &RawValue, into: &str| match serde_json::from_str(raw.get()) {
            // Of a number it is said which, where another one would do.
            Ok(Value::Number(_)) if into.ends_with("int64") => {
                format!("json: cannot unmarshal number {raw} into Go {into}")
            }
            Ok(other) => mismatch(&other, into),
            Err(error) => error.to_string(),
        };
        let unreadable =
            |error: serde_json::Error| problem(json).unwrap_or_else(|| error.to_string());
        let whole: &RawValue = serde_json::from_slice(json).map_err(unreadable)?;
        let mut written = Self::default();
        let members: BTreeMap<String, &RawValue> = match serde_json::from_str(whole.get()) {
            Ok(members) => members,
            Err(_) if whole.get() == "null" => return Ok(written),
            Err(_) => {
                let other = serde_json::from_str(whole.get()).unwrap_or_default();
                return Err(mismatch(&other, "value of type storage.continueToken"));
            }
        };
        for (name, raw) in members {
            let name = name.to_ascii_lowercase();
            let field =
                |of: &str| wrong(raw, &format!("struct field continueToken.{name} of type {of}"));
            match name.as_str() {
                _ if raw.get() == "null" => {}
                "v" => written.v = serde_json::from_str(raw.get()).map_err(|_| field("string"))?,
                "rv" => written.rv = serde_json::from_str(raw.get()).map_err(|_| field("int64"))?,
                "start" => {
                    written.start = serde_json::from_str(raw.get()).map_err(|_| field("string"))?
                }
                "rest" => written.rest = serde_json::from_str(raw.get()).unwrap_or_default(),
                _ => {}
            }
        }
        Ok(written)
    }
}

/// A token that was read, or is to be written.
#[derive(Debug)]
pub(super) struct Token {
    /// The snapshot that the pages are of. Nothing: whatever is newest, handed out with 410 to
    /// those who would rather have an inconsistent rest than none.
    pub(super) revision: Option<u64>,
    /// Without the leading slash.
    start: String,
    rest: Option<(usize, String)>,
}

const VERSION: &str = "meta.k8s.io/v1";

/// Without padding; the last bits may be anything, as in Go.
const ENCODING: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(base64::engine::DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

impl Token {
    /// The page behind an object.
    pub(super) fn after(key: &Key, target: &Target, revision: u64, rest: Option<usize>) -> Self {
        let within = if target.namespace.is_some() || !target.kind.is_namespaced() {
            key.name()
        } else {
            key.path()
        };
        Self {
            revision: Some(revision),
            start: format!("{within}\0"),
            rest: rest.map(|rest| (rest, collection(target))),
        }
    }

    pub(super) fn parse(token: &str) -> Result<Self, Status> {
        let bad = |why: &str| {
            Status::bad_request(format!("invalid continue token: continue key is not valid{why}"))
        };
        let json = ENCODING.decode(token).map_err(|_| {
            bad(&format!(": illegal base64 data at input byte {}", illegal_byte(token)))
        })?;
        let Written { v, rv, start, rest } =
            Written::read(&json).map_err(|why| bad(&format!(": {why}")))?;
        if v != VERSION {
            return Err(bad(&format!(": server does not recognize this encoded version {v}")));
        }
        if rv == 0 {
            return Err(bad(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if start.is_empty() {
            return Err(bad(": encoded start key empty (version meta.k8s.io/v1)"));
        }
        let place = start.strip_prefix('/').unwrap_or(&start);
        if place.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(bad(&format!(": {start}")));
        }
        // Below zero it is whatever is newest.
        Ok(Self { revision: u64::try_from(rv).ok(), start: place.to_owned(), rest })
    }

    pub(super) fn write(&self) -> String {
        let written = Written {
            v: VERSION.to_owned(),
            rv: self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX)),
            start: self.start.clone(),
            rest: self.rest.clone(),
        };
        // A struct of texts and numbers can be written.
        ENCODING.encode(serde_json::to_vec(&written).unwrap_or_default())
    }

    /// The same place at whatever revision is newest.
    pub(super) fn inconsistent(&self) -> Self {
        Self { revision: None, start: self.start.clone(), rest: None }
    }

    /// Where that is in a collection, be it the one that the token came from or another one.
    pub(super) fn place(&self, target: &Target) -> Key {
        let start = &self.start;
        match &target.namespace {
            Some(namespace) => Key::place(&format!("{namespace}/{start}")),
            None if target.kind.is_namespaced() => Key::place(start),
            None => Key::place(&format!("/{start}")),
        }
    }

    /// How many objects of the collection follow, if the page before knew it: they have not changed
    /// since.
    pub(super) fn known_rest(&self, target: &Target) -> Option<usize> {
        let (count, of) = self.rest.as_ref()?;
        (self.revision.is_some() && *of == collection(target)).then_some(*count)
    }
}

/// What a token's count is about.
fn collection(target: &Target) -> String {
    format!("{}@{}", target.kind.storage, target.namespace.as_deref().unwrap_or_default())
}

/// Where Go's decoder gives up: at the first byte that is none, or where a last one stands alone.
fn illegal_byte(token: &str) -> usize {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    token.bytes().position(|byte| !legal(byte)).unwrap_or_else(|| token.len().saturating_sub(1))
}
