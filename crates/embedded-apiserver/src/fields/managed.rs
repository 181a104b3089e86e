//! `metadata.managedFields`: who owns which fields, as it is kept, sent and sorted.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::clock;
use crate::fields::element::write_string;
use crate::fields::set::Set;
use crate::status::{FieldError, FieldErrors};

/// The longest name of a manager, in bytes: `FieldManagerMaxLength` of apimachinery.
pub(crate) const MAX_MANAGER: usize = 128;
/// The longest name of a subresource, in bytes: `MaxSubresourceNameLength` of apimachinery.
const MAX_SUBRESOURCE: usize = 256;

/// Who writes, and how: the entries of two are never mixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manager {
    pub(crate) name: String,
    pub(crate) applies: bool,
    /// Of an applier it tells nothing apart: the version is the entry's.
    version: String,
    pub(crate) subresource: String,
}

impl Manager {
    pub(super) fn new(name: &str, applies: bool, version: &str, subresource: &str) -> Self {
        // Go gives a client without a User-Agent this name.
        let name = if name.is_empty() { "unknown" } else { name };
        let version = if applies { "" } else { version };
        Self {
            name: name.to_owned(),
            applies,
            version: version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// A text that is the same for the same manager only; the order of these is the one the real
    /// server breaks ties by.
    pub(super) fn id(&self) -> String {
        let operation = if self.applies { "Apply" } else { "Update" };
        let mut id = String::with_capacity(128);
        id.push_str("{\"manager\":");
        write_string(&self.name, &mut id);
        id.push_str(",\"operation\":\"");
        id.push_str(operation);
        id.push('"');
        for (member, value) in
            [(",\"apiVersion\":", &self.version), (",\"subresource\":", &self.subresource)]
        {
            if !value.is_empty() {
                id.push_str(member);
                write_string(value, &mut id);
            }
        }
        id.push('}');
        id
    }
}

/// What one manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) manager: Manager,
    /// The version of the kind that the fields are of.
    pub(crate) version: String,
    pub(crate) time: Option<Timestamp>,
    pub(crate) fields: Set,
}

/// All entries of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(alias = "managedFields")]
pub(crate) struct Managed {
    pub(super) entries: BTreeMap<String, Entry>,
    /// Entries beside others of the same managers: written down, and hidden by those when they are
    /// read again. A write to a Scale leaves such.
    beside: Vec<Entry>,
    /// What was read had entries of one manager twice, of which one is here.
    hides: bool,
}

/// What a client has sent as managedFields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    /// Nothing, or nothing of use: who owned what still does.
    Nothing,
    /// An empty list, or one empty entry: nobody shall own anything.
    Reset,
    /// These.
    Entries(Managed),
}

impl Sent {
    /// Reads what was sent. What cannot be read counts for nothing, as on the real server.
    pub(crate) fn of(value: Option<&Value>) -> Self {
        let Some(Value::Array(entries)) = value else { return Self::Nothing };
        match &**entries {
            [] => return Self::Reset,
            [Value::Null] => return Self::Reset,
            [Value::Object(only)] if only.values().all(is_zero) => return Self::Reset,
            _ => {}
        }
        match Managed::decode(entries) {
            Ok(managed) if !managed.is_empty() => Self::Entries(managed),
            Ok(_) | Err(_) => Self::Nothing,
        }
    }
}

fn is_zero(value: &Value) -> bool {
    value.is_null() || value == ""
}

impl Managed {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub(crate) fn insert(&mut self, entry: Entry) {
        self.entries.insert(entry.manager.id(), entry);
    }

    /// Adds an entry, beside the one that its manager has already.
    pub(super) fn insert_beside(&mut self, entry: Entry) {
        if self.entries.contains_key(&entry.manager.id()) {
            self.beside.push(entry);
        } else {
            self.insert(entry);
        }
    }

    /// Reads a list of entries.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the first that cannot be read.
    pub(crate) fn decode(entries: &[Value]) -> Result<Self, String> {
        let mut managed = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            let text = |member: &str| entry[member].as_str().unwrap_or_default();
            let applies = match text("operation") {
                "Apply" => true,
                "Update" => false,
                _ => return Err("operation must be `Apply` or `Update`".to_owned()),
            };
            let version = text("apiVersion");
            if version.is_empty() {
                return Err("apiVersion must not be empty".to_owned());
            }
            match text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
                other => {
                    return Err(format!(
                        "invalid fieldsType {other:?} in managed fields entry {at}"
                    ));
                }
            }
            let fields = Set::decode(&entry["fieldsV1"])?;
            let mut manager = Manager::new(text("manager"), applies, version, text("subresource"));
            text("manager").clone_into(&mut manager.name);
            let time = text("time").parse().ok();
            let entry = Entry { manager, version: version.to_owned(), time, fields };
            managed.hides |= managed.entries.insert(entry.manager.id(), entry).is_some();
        }
        Ok(managed)
    }

    /// Reads what [`encode`](Self::encode) has written.
    pub(crate) fn parse(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Value::Array(entries)) => Self::decode(&entries).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    /// The entries in the order in which they are shown.
    fn sorted(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.entries.values().chain(&self.beside).collect();
        entries.sort_by_key(|entry| {
            let manager = &entry.manager;
            let seconds = entry.time.map_or(0, Timestamp::as_second);
            (!manager.applies, seconds, &manager.name, &entry.version, &manager.subresource)
        });
        entries
    }

    /// What is wrong with the names in entries that a client has sent.
    pub(crate) fn check(&self, causes: &mut FieldErrors) {
        for (at, entry) in self.sorted().into_iter().enumerate() {
            let Manager { name, subresource, .. } = &entry.manager;
            let field = |member: &str| format!("metadata.managedFields[{at}].{member}");
            if name.len() > MAX_MANAGER {
                causes.push(FieldError::too_long(field("manager"), MAX_MANAGER));
            }
            if let Some((place, c)) = name.char_indices().find(|(_, c)| c.is_control()) {
                let why = format!("invalid character U+{:04X} (at position {place})", u32::from(c));
                causes.push(FieldError::invalid(field("manager"), name, &why));
            }
            if subresource.len() > MAX_SUBRESOURCE {
                causes.push(FieldError::too_long(field("subresource"), MAX_SUBRESOURCE));
            }
        }
    }

    /// The entries as a JSON list; empty if there are none.
    pub(crate) fn encode(&self) -> String {
        let mut out = String::with_capacity(if self.is_empty() { 0 } else { 512 });
        for entry in self.sorted() {
            out.push(if out.is_empty() { '[' } else { ',' });
            entry.write(&mut out);
        }
        if !out.is_empty() {
            out.push(']');
        }
        out
    }

    /// Whether both say the same but for times. What was read with entries twice is said once from
    /// then on.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        let timeless = |(id, entry): (&String, &Entry)| (id.clone(), entry.version.clone());
        let beside = |managed: &Self| managed.beside.len();
        self.entries.len() == other.entries.len()
            && beside(self) == beside(other)
            && !other.hides
            && self.entries.iter().map(timeless).eq(other.entries.iter().map(timeless))
            && self
                .entries()
                .map(|entry| &entry.fields)
                .eq(other.entries().map(|entry| &entry.fields))
    }
}

impl Entry {
    fn write(&self, out: &mut String) {
        let Self { manager, version, time, fields } = self;
        out.push_str("{\"apiVersion\":");
        write_string(version, out);
        out.push_str(",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
        fields.encode(out);
        if !manager.name.is_empty() {
            out.push_str(",\"manager\":");
            write_string(&manager.name, out);
        }
        out.push_str(",\"operation\":");
        out.push_str(if manager.applies { "\"Apply\"" } else { "\"Update\"" });
        if !manager.subresource.is_empty() {
            out.push_str(",\"subresource\":");
            write_string(&manager.subresource, out);
        }
        if let Some(time) = time {
            out.push_str(",\"time\":");
            write_string(&clock::seconds(*time), out);
        }
        out.push('}');
    }
}
