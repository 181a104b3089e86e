//! One version of one object: shared compact JSON bytes with what selectors need parsed beside
//! them.

mod key;
mod pairs;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value};

use crate::api::kind::{Kind, field_text};
use crate::api::media::Form;
pub(crate) use crate::store::stored::key::Key;
use crate::store::stored::pairs::Pairs;
use k8s_value::go_json;

/// A version of an object, never changed again. Small, because there may be hundreds of thousands:
/// what is in the text already is told by where it is there.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) key: Key,
    pub(crate) revision: u64,
    labels: Pairs,
    /// Values of the selectable fields, by path.
    fields: Pairs,
    /// `"metadata":{...},"spec":{...}}`: everything after apiVersion and kind, the closing brace
    /// included, and without the digits of the resourceVersion: those are the revision's.
    body: Arc<[u8]>,
    places: Places,
    /// It has a deletionTimestamp.
    ending: bool,
    /// Something of it goes without saying, which the next write will say, whatever else it says.
    unsaid: bool,
}

/// Where things are in the text of a version.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    /// Behind the metadata's closing brace.
    metadata_end: u32,
    /// The uid, without quotes.
    uid: (u32, u32),
    /// The digits of the resourceVersion belong here. 0: it has none.
    version: u32,
    /// `,"managedFields":[...]` begins here, and ends before the metadata's closing brace. 0:
    /// nobody owns anything.
    managed: u32,
}

/// The revision of a version that is going to be written at the next one.
pub(crate) const NEXT: u64 = u64::MAX;

const MANAGED_FIELDS: &str = ",\"managedFields\":";
const METADATA_PREFIX: &str =
    "\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",";

impl Stored {
    /// Takes an object without apiVersion, kind and managedFields, and writes it down at a revision
    /// (0: none, for a dry run). `managed`: the managedFields as JSON, or nothing. They are
    /// kept as text: only writes look into them, and the order of their members is theirs.
    pub(crate) fn new(
        kind: &Kind,
        key: Key,
        revision: u64,
        object: &mut Map<String, Value>,
        managed: &str,
    ) -> Self {
        let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Some(metadata) = metadata.as_object_mut()
            && revision != 0
        {
            metadata.insert("resourceVersion".to_owned(), "".into());
        }
        let ending = metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null());
        let labels = metadata.get("labels").and_then(Value::as_object).into_iter().flatten();
        let labels =
            labels.map(|(name, value)| (name, value.as_str().unwrap_or_default())).collect();
        let (body, places) = write_down(object, managed, revision != 0);
        let fields = if kind.selectable().is_empty() {
            Pairs::default()
        } else {
            let whole = Value::Object(std::mem::take(object));
            let paths = kind.selectable().iter().map(|path| kind.stored_path(path));
            let fields = paths.map(|path| {
                let value = kind.selectable_value(&whole, &path);
                (path, value)
            });
            let fields = fields.collect();
            if let Value::Object(whole) = whole {
                *object = whole;
            }
            fields
        };
        Self { key, revision, labels, fields, body: body.into(), places, ending, unsaid: false }
    }

    /// Whether it is being deleted, and something holds it.
    pub(crate) const fn is_being_deleted(&self) -> bool {
        self.ending
    }

    /// The version, with something of it that goes without saying.
    #[must_use]
    pub(crate) fn unsaid(self, unsaid: bool) -> Self {
        Self { unsaid, ..self }
    }

    /// Whether even a write that changes nothing makes another version.
    pub(crate) const fn leaves_unsaid(&self) -> bool {
        self.unsaid
    }

    /// The managedFields as JSON; empty if there are none.
    pub(crate) fn managed(&self) -> &str {
        if self.places.managed == 0 {
            return "";
        }
        let Range { start, end } = range((self.places.managed, self.places.metadata_end));
        let inside = start.saturating_add(MANAGED_FIELDS.len())..end.saturating_sub(1);
        std::str::from_utf8(self.body.get(inside).unwrap_or_default()).unwrap_or_default()
    }

    /// The object as JSON values, without apiVersion, kind and managedFields.
    pub(crate) fn object(&self) -> Map<String, Value> {
        let mut json = BytesMut::with_capacity(self.body.len() + 24);
        json.put_u8(b'{');
        let mut rest = 0;
        if self.places.managed != 0 {
            let managed = range((self.places.managed, self.places.metadata_end));
            self.write_part(0..managed.start, &mut json);
            rest = managed.end.saturating_sub(1);
        }
        self.write_part(rest..self.body.len(), &mut json);
        // What was written by `new` can be read: an empty object here would be a bug of `new`, seen
        // by its tests.
        match go_json::read(&json) {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        }
    }

    /// A part of the text, with the digits of the resourceVersion if they belong there.
    fn write_part(&self, part: Range<usize>, out: &mut BytesMut) {
        let version = range((0, self.places.version)).end;
        let text = |part| self.body.get(part).unwrap_or_default();
        if version == 0 || !part.contains(&version) {
            return out.put_slice(text(part));
        }
        out.put_slice(text(part.start..version));
        // A buffer in memory takes everything.
        let _ = write!(out, "{}", self.revision);
        out.put_slice(text(version..part.end));
    }

    /// The same content at another revision.
    pub(crate) fn at_revision(&self, kind: &Kind, revision: u64) -> Self {
        if kind.converts(self.revision) || self.places.version == 0 {
            let mut object = kind.to_storage(kind.to_version(self.object(), self.revision));
            return Self::new(kind, self.key.clone(), revision, &mut object, self.managed());
        }
        Self { revision, ..self.clone() }
    }

    /// This version, which is written at a revision.
    pub(crate) fn written_at(self, revision: u64) -> Self {
        Self { revision, ..self }
    }

    pub(crate) fn uid(&self) -> &str {
        let uid = self.body.get(range(self.places.uid)).unwrap_or_default();
        std::str::from_utf8(uid).unwrap_or_default()
    }

    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name)
    }

    /// The value of a selectable field: absent is the empty string.
    pub(crate) fn field(&self, path: &str) -> Cow<'_, str> {
        match path {
            "metadata.name" => self.key.name().into(),
            "metadata.namespace" => self.key.namespace().into(),
            _ => match self.fields.get(path) {
                Some(value) => value.into(),
                // Written before the kind was registered with this field.
                None => field_text(&Value::Object(self.object()), path).into(),
            },
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.body.len()
    }

    /// Writes the object as `kind` shows it.
    pub(crate) fn write(&self, kind: &Kind, form: Form, out: &mut BytesMut) {
        out.put_u8(b'{');
        match form {
            Form::Metadata => {
                out.put_slice(METADATA_PREFIX.as_bytes());
                self.write_part(range((0, self.places.metadata_end)), out);
                out.put_u8(b'}');
            }
            Form::Full => {
                out.put_slice(kind.prefix.as_bytes());
                self.write_rest(kind, out);
            }
        }
    }

    /// Writes the object as an item of a list: the real server leaves apiVersion and kind out there
    /// for kinds that are built in.
    pub(crate) fn write_item(&self, kind: &Kind, form: Form, out: &mut BytesMut) {
        if form == Form::Full && kind.is_built_in() {
            out.put_u8(b'{');
            self.write_rest(kind, out);
        } else {
            self.write(kind, form, out);
        }
    }

    fn write_rest(&self, kind: &Kind, out: &mut BytesMut) {
        if kind.converts(self.revision) {
            let object = kind.to_version(self.object(), self.revision);
            out.put_slice(&write_down(&object, self.managed(), false).0);
        } else {
            self.write_part(0..self.body.len(), out);
        }
    }

    pub(crate) fn to_bytes(&self, kind: &Kind, form: Form) -> Bytes {
        let mut out = BytesMut::with_capacity(self.body.len() + kind.prefix.len() + 24);
        self.write(kind, form, &mut out);
        out.freeze()
    }
}

/// The text of an object, metadata first, and where things are in it. `has_version`: it has a
/// resourceVersion, whose digits are written later.
fn write_down(object: &Map<String, Value>, managed: &str, has_version: bool) -> (Vec<u8>, Places) {
    let mut body = Vec::with_capacity(512 + managed.len());
    let mut places = Places::default();
    body.extend_from_slice(b"\"metadata\":{");
    let metadata = object.get("metadata").and_then(Value::as_object);
    for (at, (name, value)) in metadata.into_iter().flatten().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        let inside = write_member(&mut body, name, value);
        match name.as_str() {
            "uid" if value.is_string() => places.uid = inside,
            "resourceVersion" if has_version => places.version = inside.0,
            _ => {}
        }
    }
    // Metadata without anything else has no name, and is not stored.
    if !managed.is_empty() {
        places.managed = narrow(body.len());
        body.extend_from_slice(MANAGED_FIELDS.as_bytes());
        body.extend_from_slice(go_json::escaped(managed).as_bytes());
    }
    body.push(b'}');
    places.metadata_end = narrow(body.len());
    for (name, value) in object.iter().filter(|(name, _)| *name != "metadata") {
        body.push(b',');
        write_member(&mut body, name, value);
    }
    body.push(b'}');
    (body, places)
}

/// Writes `"name":value`, and says where the value is without its first and its last byte.
fn write_member(body: &mut Vec<u8>, name: &str, value: &Value) -> (u32, u32) {
    go_json::write(body, name);
    body.push(b':');
    let start = body.len();
    go_json::write(body, value);
    (narrow(start.saturating_add(1)), narrow(body.len().saturating_sub(1)))
}

/// No object is as long as four gigabytes: requests are bounded.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

fn range((start, end): (u32, u32)) -> Range<usize> {
    usize::try_from(start).unwrap_or_default()..usize::try_from(end).unwrap_or_default()
}
