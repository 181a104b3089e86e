//! Continue tokens: where the next page of a list begins. In kube-apiserver's own form, so that
//! the same ones are refused.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::status::Status;
use crate::rest::route::Target;
use crate::store::stored::Key;

/// `continueToken` of k8s.io/apiserver/pkg/storage/continue.go. Opaque to clients, and not tied to
/// a collection: it names a place below whatever is listed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
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
    /// As Go's decoder reads it: the names of members in any case, null as nothing.
    fn read(json: &[u8]) -> Result<Self, serde_json::Error> {
        let members: Option<Map<String, Value>> = serde_json::from_slice(json)?;
        let said = members.into_iter().flatten().filter(|(_, value)| !value.is_null());
        let said = said.map(|(name, value)| (name.to_ascii_lowercase(), value));
        serde_json::from_value(Value::Object(said.collect()))
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
        let bad = || Status::bad_request("invalid continue token");
        let json = ENCODING.decode(token).map_err(|_| bad())?;
        let Written { v, rv, start, rest } = Written::read(&json).map_err(|_| bad())?;
        let place = start.strip_prefix('/').unwrap_or(&start);
        let is_place = !place.split('/').any(|part| matches!(part, "" | "." | ".."));
        if v != VERSION || rv == 0 || !is_place {
            return Err(bad());
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
