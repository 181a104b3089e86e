//! A version of an object: shared compact JSON, with the parsed fields that selectors need.

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

/// An immutable version of an object. Compact, because a store may hold hundreds of thousands:
/// members of the text are found by their offsets.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) key: Key,
    pub(crate) revision: u64,
    labels: Pairs,
    /// Values of the selectable fields, by path.
    fields: Pairs,
    /// `"metadata":{...},"spec":{...}}`: all after apiVersion and kind, with the closing brace.
    /// Without the digits of the resourceVersion, which is the revision.
    body: Arc<[u8]>,
    places: Places,
    /// It has a deletionTimestamp.
    ending: bool,
    /// A read adds members to the stored text. The next write stores them.
    unsaid: bool,
    /// A webhook has converted it: the text is not the stored one.
    converted: bool,
    /// The number of the version whose form the stored text has, among those of its definition.
    written_as: u16,
}

/// Offsets in the text of a version.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    /// After the closing brace of the metadata.
    metadata_end: u32,
    /// The uid, without quotes.
    uid: (u32, u32),
    /// The place of the resourceVersion's digits; 0 without one.
    version: u32,
    /// The start of `,"managedFields":[...]`, which ends before the closing brace of the metadata;
    /// 0 without any.
    managed: u32,
}

/// Stands for the revision of the next write.
pub(crate) const NEXT: u64 = u64::MAX;

const MANAGED_FIELDS: &str = ",\"managedFields\":";
const METADATA_PREFIX: &str =
    "\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",";

impl Stored {
    /// Serializes an object without apiVersion, kind and managedFields. Revision 0 is for dry runs.
    ///
    /// `managed`: the managedFields as JSON, or empty. They stay text, in their own order: only
    /// writes parse them.
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
        let (unsaid, converted, written_as) = (false, false, 0);
        let body = body.into();
        Self { key, revision, labels, fields, body, places, ending, unsaid, converted, written_as }
    }

    /// Sets the number of the stored version.
    #[must_use]
    pub(crate) fn written_as(self, version: u16) -> Self {
        Self { written_as: version, ..self }
    }

    /// The number of the stored version.
    pub(crate) const fn version(&self) -> u16 {
        self.written_as
    }

    /// Marks the text as that of the version that a request asks for.
    #[must_use]
    pub(crate) fn converted(self) -> Self {
        Self { converted: true, ..self }
    }

    /// Whether the text is that of the version that a request asks for.
    pub(crate) const fn is_converted(&self) -> bool {
        self.converted
    }

    /// The parsed object as `kind` shows it.
    pub(crate) fn shown(&self, kind: &Kind) -> Map<String, Value> {
        match self.converted {
            true => self.object(),
            false => kind.to_version(self.object(), self.revision),
        }
    }

    /// Whether it has a deletionTimestamp.
    pub(crate) const fn is_being_deleted(&self) -> bool {
        self.ending
    }

    /// Sets whether a read adds members to the text.
    #[must_use]
    pub(crate) fn unsaid(self, unsaid: bool) -> Self {
        Self { unsaid, ..self }
    }

    /// Whether an equal update is still a change.
    pub(crate) const fn leaves_unsaid(&self) -> bool {
        self.unsaid
    }

    /// The managedFields as JSON. Empty without managers.
    pub(crate) fn managed(&self) -> &str {
        if self.places.managed == 0 {
            return "";
        }
        let Range { start, end } = range((self.places.managed, self.places.metadata_end));
        let inside = start.saturating_add(MANAGED_FIELDS.len())..end.saturating_sub(1);
        std::str::from_utf8(self.body.get(inside).unwrap_or_default()).unwrap_or_default()
    }

    /// The parsed object, without apiVersion, kind and managedFields.
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
        // `new` wrote this text, so it parses. Its tests would find an empty object.
        match go_json::read(&json) {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        }
    }

    /// Writes a part of the text, with the digits of the resourceVersion in their place.
    fn write_part(&self, part: Range<usize>, out: &mut BytesMut) {
        let version = range((0, self.places.version)).end;
        let text = |part| self.body.get(part).unwrap_or_default();
        if version == 0 || !part.contains(&version) {
            return out.put_slice(text(part));
        }
        out.put_slice(text(part.start..version));
        // Writing to memory cannot fail.
        let _ = write!(out, "{}", self.revision);
        out.put_slice(text(version..part.end));
    }

    /// The same content at another revision.
    pub(crate) fn at_revision(&self, kind: &Kind, revision: u64) -> Self {
        let converts = kind.converts(self.revision) && !kind.has_webhook() && !kind.is_lossy();
        if converts || self.places.version == 0 {
            let mut object = kind.to_storage(self.shown(kind));
            let (converted, written_as) = (self.converted, self.written_as);
            let new = Self::new(kind, self.key.clone(), revision, &mut object, self.managed());
            return Self { converted, written_as, ..new };
        }
        Self { revision, ..self.clone() }
    }

    /// The same version, at the revision of its write.
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

    /// The value of a selectable field. An absent one is empty.
    pub(crate) fn field(&self, path: &str) -> Cow<'_, str> {
        match path {
            "metadata.name" => self.key.name().into(),
            "metadata.namespace" => self.key.namespace().into(),
            _ => match self.fields.get(path) {
                Some(value) => value.into(),
                // Stored before the field was selectable.
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
            Form::Full | Form::Table => {
                out.put_slice(kind.prefix.as_bytes());
                self.write_rest(kind, form, out);
            }
        }
    }

    /// Writes the object as an item of a list. Like upstream, items of built-in kinds have no
    /// apiVersion and kind.
    pub(crate) fn write_item(&self, kind: &Kind, form: Form, out: &mut BytesMut) {
        if form != Form::Metadata && kind.is_built_in() {
            out.put_u8(b'{');
            self.write_rest(kind, form, out);
        } else {
            self.write(kind, form, out);
        }
    }

    fn write_rest(&self, kind: &Kind, form: Form, out: &mut BytesMut) {
        let as_stored = self.converted || (form == Form::Table && kind.is_lossy());
        if kind.converts(self.revision) && !as_stored {
            let object = self.shown(kind);
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

/// Serializes an object, metadata first. Returns the text and its offsets. `has_version`: it has an
/// empty resourceVersion for the digits.
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
    // Metadata always have a name before this member.
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

/// Writes `"name":value`. Returns the offsets of the value, without its first and last byte.
fn write_member(body: &mut Vec<u8>, name: &str, value: &Value) -> (u32, u32) {
    go_json::write(body, name);
    body.push(b':');
    let start = body.len();
    go_json::write(body, value);
    (narrow(start.saturating_add(1)), narrow(body.len().saturating_sub(1)))
}

/// Requests are bounded, so objects are smaller than 4 GiB.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

fn range((start, end): (u32, u32)) -> Range<usize> {
    usize::try_from(start).unwrap_or_default()..usize::try_from(end).unwrap_or_default()
}
