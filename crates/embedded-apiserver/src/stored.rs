//! One version of one object: shared compact JSON bytes with what selectors need parsed beside them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value};

use crate::builtin::{self, event};
use crate::kind::Kind;

/// Where an object is in its table; sorts by namespace, then name. Cluster-scoped objects have an empty namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// A version of an object, never changed again.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) key: Key,
    pub(crate) revision: u64,
    pub(crate) uid: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Values of the selectable fields, by path.
    fields: Vec<(String, String)>,
    /// `"metadata":{...},"spec":{...}}`: everything after apiVersion and kind, the closing brace included.
    body: Bytes,
    /// Where the metadata's closing brace ends in `body`.
    metadata_end: usize,
}

/// In which form an object is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The whole object.
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
}

const METADATA_PREFIX: &str = "\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",";

impl Stored {
    /// Takes an object without apiVersion and kind, and writes it down at a revision (0: none, for a dry run).
    pub(crate) fn new(kind: &Kind, key: Key, revision: u64, object: &mut Map<String, Value>) -> Self {
        let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Some(metadata) = metadata.as_object_mut()
            && revision != 0
        {
            metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        }
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let uid = text("uid");
        let labels = metadata.get("labels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        let labels = labels.map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned())).collect();
        let mut body = BytesMut::with_capacity(256);
        body.put_slice(b"\"metadata\":");
        body.put_slice(metadata.to_string().as_bytes());
        let metadata_end = body.len();
        for (name, value) in object.iter().filter(|(name, _)| *name != "metadata") {
            body.put_u8(b',');
            body.put_slice(Value::from(name.as_str()).to_string().as_bytes());
            body.put_u8(b':');
            body.put_slice(value.to_string().as_bytes());
        }
        body.put_u8(b'}');
        let whole = Value::Object(std::mem::take(object));
        let paths = kind.selectable().iter().map(|path| event::stored_path(kind, path));
        let fields = paths.map(|path| {
            let value = Kind::field(&whole, &path);
            (path.to_string(), builtin::derived_field(kind, &whole, &path).unwrap_or(value))
        });
        let fields = fields.collect();
        if let Value::Object(whole) = whole {
            *object = whole;
        }
        Self { key, revision, uid, labels, fields, body: body.freeze(), metadata_end }
    }

    /// The object as JSON values, without apiVersion and kind.
    pub(crate) fn object(&self) -> Map<String, Value> {
        let mut json = Vec::with_capacity(self.body.len() + 1);
        json.push(b'{');
        json.extend_from_slice(&self.body);
        // What was written by `new` can be read: an empty object here would be a bug of `new`, seen by its tests.
        serde_json::from_slice(&json).unwrap_or_default()
    }

    /// The same content at another revision.
    pub(crate) fn at_revision(&self, kind: &Kind, revision: u64) -> Self {
        Self::new(kind, self.key.clone(), revision, &mut self.object())
    }

    /// The value of a selectable field: absent is the empty string.
    pub(crate) fn field(&self, path: &str) -> Cow<'_, str> {
        match path {
            "metadata.name" => (*self.key.name).into(),
            "metadata.namespace" => (*self.key.namespace).into(),
            _ => match self.fields.iter().find(|(known, _)| known == path) {
                Some((_, value)) => value.into(),
                // Written before the kind was registered with this field.
                None => Kind::field(&Value::Object(self.object()), path).into(),
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
                out.put_slice(self.body.get(..self.metadata_end).unwrap_or_default());
                out.put_u8(b'}');
            }
            Form::Full => {
                out.put_slice(kind.prefix.as_bytes());
                self.write_rest(kind, out);
            }
        }
    }

    /// Writes the object as an item of a list: the real server leaves apiVersion and kind out there for kinds that
    /// are built in.
    pub(crate) fn write_item(&self, kind: &Kind, form: Form, out: &mut BytesMut) {
        if form == Form::Full && kind.builtin.is_some() {
            out.put_u8(b'{');
            self.write_rest(kind, out);
        } else {
            self.write(kind, form, out);
        }
    }

    fn write_rest(&self, kind: &Kind, out: &mut BytesMut) {
        if event::is_events_v1(kind) {
            let shown = Value::Object(event::to_events_v1(self.object())).to_string();
            out.put_slice(shown.as_bytes().get(1..).unwrap_or_default());
        } else {
            out.put_slice(&self.body);
        }
    }

    pub(crate) fn to_bytes(&self, kind: &Kind, form: Form) -> Bytes {
        let mut out = BytesMut::with_capacity(self.body.len() + kind.prefix.len() + 2);
        self.write(kind, form, &mut out);
        out.freeze()
    }
}
