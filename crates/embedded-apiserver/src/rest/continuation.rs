//! Continue tokens: where the next page of a list begins. Encoded as by kube-apiserver, so that
//! both refuse the same tokens.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::status::Status;
use crate::rest::route::Target;
use crate::store::stored::Key;

/// `continueToken` of k8s.io/apiserver/pkg/storage/continue.go. It names a key relative to the
/// listed collection.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    v: String,
    /// -1: the newest revision.
    rv: i64,
    /// The key below the collection: `name`, or `namespace/name` in a list of all namespaces. A NUL
    /// at the end excludes the key itself.
    start: String,
    /// The number of remaining objects and their collection, to avoid a second count. Upstream has
    /// no such member, and counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<(usize, String)>,
}

impl Written {
    /// Reads as Go does: member names in any case, null as absent.
    fn read(json: &[u8]) -> Result<Self, serde_json::Error> {
        let members: Option<Map<String, Value>> = serde_json::from_slice(json)?;
        let said = members.into_iter().flatten().filter(|(_, value)| !value.is_null());
        let said = said.map(|(name, value)| (name.to_ascii_lowercase(), value));
        serde_json::from_value(Value::Object(said.collect()))
    }
}

/// A decoded token.
#[derive(Debug)]
pub(super) struct Token {
    /// The snapshot of the pages. `None`: the newest revision, which a 410 offers as an
    /// inconsistent continuation.
    pub(super) revision: Option<u64>,
    /// Without a leading slash.
    start: String,
    rest: Option<(usize, String)>,
}

const VERSION: &str = "meta.k8s.io/v1";

/// Without padding. Like Go, it ignores the trailing bits.
const ENCODING: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(base64::engine::DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

impl Token {
    /// The token of the page after an object.
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
        // A negative revision stands for the newest one.
        Ok(Self { revision: u64::try_from(rv).ok(), start: place.to_owned(), rest })
    }

    pub(super) fn write(&self) -> String {
        let written = Written {
            v: VERSION.to_owned(),
            rv: self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX)),
            start: self.start.clone(),
            rest: self.rest.clone(),
        };
        // Serialization of texts and numbers cannot fail.
        ENCODING.encode(serde_json::to_vec(&written).unwrap_or_default())
    }

    /// The same key at the newest revision.
    pub(super) fn inconsistent(&self) -> Self {
        Self { revision: None, start: self.start.clone(), rest: None }
    }

    /// The key in a collection, which may differ from the token's.
    pub(super) fn place(&self, target: &Target) -> Key {
        let start = &self.start;
        match &target.namespace {
            Some(namespace) => Key::place(&format!("{namespace}/{start}")),
            None if target.kind.is_namespaced() => Key::place(start),
            None => Key::place(&format!("/{start}")),
        }
    }

    /// The number of remaining objects, if the page before counted them.
    pub(super) fn known_rest(&self, target: &Target) -> Option<usize> {
        let (count, of) = self.rest.as_ref()?;
        (self.revision.is_some() && *of == collection(target)).then_some(*count)
    }
}

/// The collection that a token's count belongs to.
fn collection(target: &Target) -> String {
    format!("{}@{}", target.kind.storage, target.namespace.as_deref().unwrap_or_default())
}
