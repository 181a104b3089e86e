//! `metadata.managedFields`: read, validated, sorted and written.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::managed_fields::element::write_string;
use crate::managed_fields::manager::{MAX_MANAGER, MAX_SUBRESOURCE, Manager};
use crate::managed_fields::set::Set;
use k8s_value::{FieldError, FieldErrors};

/// The fields that one manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(alias = "ManagedFieldsEntry")]
#[non_exhaustive]
pub struct Entry {
    /// The owner.
    pub manager: Manager,
    /// `apiVersion` of the kind that the fields are of: `apps/v1`.
    pub version: String,
    /// When the manager changed the object last.
    pub time: Option<Timestamp>,
    /// The fields.
    pub fields: Set,
}

/// The entries of an object: `metadata.managedFields`.
///
/// ```
/// use k8s_merge::managed_fields::{Element, ManagedFields};
/// use serde_json::json;
///
/// let managed = ManagedFields::decode(&[json!({
///     "manager": "kubectl",
///     "operation": "Apply",
///     "apiVersion": "apps/v1",
///     "fieldsType": "FieldsV1",
///     "fieldsV1": { "f:spec": { "f:replicas": {} } },
/// })])?;
/// let replicas = ["spec", "replicas"].map(Element::field);
/// let owners: Vec<&str> = managed
///     .entries()
///     .filter(|entry| entry.fields.has_path(&replicas))
///     .map(|entry| &*entry.manager.name)
///     .collect();
/// assert_eq!(owners, ["kubectl"]);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(alias = "managedFields")]
pub struct ManagedFields {
    /// By the identity of the manager.
    pub(super) entries: BTreeMap<String, Entry>,
    /// Second entries of managers. They are written, and dropped when they are read again. A write
    /// to a Scale leaves such entries.
    beside: Vec<Entry>,
    /// Whether second entries were dropped when this was read.
    hides: bool,
}

/// `metadata.managedFields` of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestedFields {
    /// It has none, or they cannot be read: the live object's stay.
    Unset,
    /// It has an empty list, or one empty entry: all entries go.
    Reset,
    /// It has these.
    Entries(ManagedFields),
}

impl RequestedFields {
    /// Reads the member. Like the API server, it takes unreadable entries for [`Self::Unset`].
    pub fn of(value: Option<&Value>) -> Self {
        let Some(Value::Array(entries)) = value else { return Self::Unset };
        match &**entries {
            [] => return Self::Reset,
            [Value::Null] => return Self::Reset,
            [Value::Object(only)] if only.values().all(is_zero) => return Self::Reset,
            _ => {}
        }
        match ManagedFields::decode(entries) {
            Ok(managed) if !managed.is_empty() => Self::Entries(managed),
            Ok(_) | Err(_) => Self::Unset,
        }
    }
}

fn is_zero(value: &Value) -> bool {
    value.is_null() || value == ""
}

impl ManagedFields {
    /// Whether there is no entry: until the next apply, no owner is recorded.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, one for each manager.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        self.entries.insert(entry.manager.id(), entry);
    }

    /// Adds an entry. It does not replace another entry of the same manager.
    pub(super) fn insert_beside(&mut self, entry: Entry) {
        if self.entries.contains_key(&entry.manager.id()) {
            self.beside.push(entry);
        } else {
            self.insert(entry);
        }
    }

    /// Reads `metadata.managedFields`.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the first entry that cannot be read.
    #[doc(alias = "DecodeManagedFields")]
    pub fn decode(entries: &[Value]) -> Result<Self, String> {
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

    /// Reads the text of [`encode`](Self::encode). Any other text has no entries.
    pub fn parse(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Value::Array(entries)) => Self::decode(&entries).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    /// The entries in the API server's order.
    fn sorted(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.entries.values().chain(&self.beside).collect();
        entries.sort_by_key(|entry| {
            let manager = &entry.manager;
            let seconds = entry.time.map_or(0, Timestamp::as_second);
            (!manager.applies, seconds, &manager.name, &entry.version, &manager.subresource)
        });
        entries
    }

    /// Checks the names of managers and subresources: their length, and that they can be printed.
    #[doc(alias = "ValidateManagedFields")]
    pub fn validate(&self, errors: &mut FieldErrors) {
        for (at, entry) in self.sorted().into_iter().enumerate() {
            let Manager { name, subresource, .. } = &entry.manager;
            let field = |member: &str| format!("metadata.managedFields[{at}].{member}");
            if name.len() > MAX_MANAGER {
                errors.push(FieldError::too_long(field("manager"), MAX_MANAGER));
            }
            if let Some((place, c)) = name.char_indices().find(|(_, c)| c.is_control()) {
                let why = format!("invalid character U+{:04X} (at position {place})", u32::from(c));
                errors.push(FieldError::invalid(field("manager"), name, &why));
            }
            if subresource.len() > MAX_SUBRESOURCE {
                errors.push(FieldError::too_long(field("subresource"), MAX_SUBRESOURCE));
            }
        }
    }

    /// Returns `metadata.managedFields` as JSON. The text is empty if there is no entry.
    #[doc(alias = "EncodeObjectManagedFields")]
    pub fn encode(&self) -> String {
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

    /// Whether a write from `other` to `self` changes nothing but times. Dropping a second entry of
    /// a manager is a change.
    pub fn equals_but_for_times(&self, other: &Self) -> bool {
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
            write_string(&seconds(*time), out);
        }
        out.push('}');
    }
}

/// As `metav1.Time` is written: RFC 3339, UTC, whole seconds.
fn seconds(time: Timestamp) -> String {
    format!("{:.0}", Timestamp::from_second(time.as_second()).unwrap_or(time))
}
