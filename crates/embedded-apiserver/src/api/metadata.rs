//! The `metadata` of an object during a request.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap};

use fastrand::Rng;
use serde_json::{Map, Value};

use k8s_value::go_json::go_json;
use k8s_value::names;
use k8s_value::{FieldError, FieldErrors};

/// The members of an object, without apiVersion and kind.
pub(crate) type Object = Map<String, Value>;

const EMPTY: &str = "";

/// A member of the metadata as text. An absent one is empty.
pub(crate) fn text<'a>(object: &'a Object, member: &str) -> &'a str {
    get(object, member).and_then(Value::as_str).unwrap_or(EMPTY)
}

pub(crate) fn get<'a>(object: &'a Object, member: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(member).filter(|value| !value.is_null())
}

pub(crate) fn of(object: &mut Object) -> &mut Object {
    if !object.get("metadata").is_some_and(Value::is_object) {
        object.insert("metadata".to_owned(), Value::Object(Map::new()));
    }
    match object.get_mut("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => unreachable!("metadata was made an object above"),
    }
}

pub(crate) fn set(object: &mut Object, member: &str, value: impl Into<Value>) {
    of(object).insert(member.to_owned(), value.into());
}

/// Copies a member from another object, or removes it.
pub(crate) fn copy(from: &Object, to: &mut Object, member: &str) {
    match get(from, member) {
        Some(value) => set(to, member, value.clone()),
        None => drop(of(to).remove(member)),
    }
}

pub(crate) fn finalizers(object: &Object) -> Vec<&str> {
    get(object, "finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

pub(crate) fn is_being_deleted(object: &Object) -> bool {
    get(object, "deletionTimestamp").is_some()
}

/// Whether the deletionTimestamp is Go's zero time. It counts as set, and is null in the output.
pub(crate) fn ends_at_zero(object: &Object) -> bool {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("deletionTimestamp"))
        .is_some_and(Value::is_null)
}

pub(crate) fn generation(object: &Object) -> i64 {
    get(object, "generation").and_then(Value::as_i64).unwrap_or(0)
}

/// Removes managedFields, which are stored separately, members that are never stored, and empty
/// ones.
pub(crate) fn normalize(object: &mut Object) {
    let metadata = of(object);
    metadata.remove("managedFields");
    metadata.remove("selfLink");
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
    if metadata.get("generation").is_some_and(|generation| *generation == 0) {
        metadata.remove("generation");
    }
}

/// Removes duplicate owner references. Returns their uids.
pub(crate) fn remove_equal_owners(object: &mut Object) -> Vec<String> {
    let Some(Value::Array(owners)) = of(object).get_mut("ownerReferences") else {
        return Vec::new();
    };
    let mut seen: HashMap<String, Vec<Value>> = HashMap::new();
    let mut twice = Vec::new();
    owners.retain(|owner| {
        let uid = owner.get("uid").and_then(Value::as_str).unwrap_or(EMPTY);
        let same = seen.entry(uid.to_owned()).or_default();
        let is_new = !same.contains(owner);
        if is_new {
            same.push(owner.clone());
        } else {
            twice.push(uid.to_owned());
        }
        is_new
    });
    twice
}

/// A random uid of version 4, from the seeded generator.
pub(crate) fn new_uid(rng: &mut Rng) -> String {
    let bits = rng.u128(..) & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let mut uid = String::with_capacity(36);
    for (at, byte) in bits.to_be_bytes().into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            uid.push('-');
        }
        for digit in [byte >> 4, byte & 0xf] {
            uid.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    uid
}

/// Generates a name, as k8s.io/apiserver/pkg/storage/names: the base, cut to 58 bytes, and five
/// characters that form no words.
pub(crate) fn generate_name(base: &str, rng: &mut Rng) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut end = base.len().min(58);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = base.get(..end).unwrap_or_default().to_owned();
    for _ in 0..5 {
        name.push(rng.choice(ALPHABET).map_or('x', |byte| char::from(*byte)));
    }
    name
}

/// For kinds with known finalizers: one without a domain must be known.
pub(crate) fn check_old_finalizers(object: &Object, causes: &mut FieldErrors) {
    for (at, finalizer) in finalizers(object).into_iter().enumerate() {
        if let Some(why) = names::wrong_finalizer(finalizer) {
            causes.push(FieldError::invalid(format!("metadata.finalizers[{at}]"), finalizer, why));
        }
    }
}

/// Validates labels.
pub(crate) fn check_labels(labels: &Object, causes: &mut FieldErrors) {
    for (key, value) in labels {
        for why in names::wrongs_of_qualified_name(key) {
            causes.push(FieldError::invalid("metadata.labels", key, why));
        }
        let value = value.as_str().unwrap_or_default();
        if let Some(why) = names::wrong_label_value(value) {
            causes.push(FieldError::invalid("metadata.labels", value, why));
        }
    }
}

/// Validates annotations.
pub(crate) fn check_annotations(field: &str, annotations: &Object, causes: &mut FieldErrors) {
    let mut size = 0_usize;
    for (key, value) in annotations {
        for why in names::wrongs_of_qualified_name(&key.to_lowercase()) {
            causes.push(FieldError::invalid(field, key, why));
        }
        size =
            size.saturating_add(key.len()).saturating_add(value.as_str().unwrap_or_default().len());
    }
    if size > 256 * 1024 {
        causes.push(FieldError::too_long(field, 256 * 1024));
    }
}

/// Validates labels, annotations, finalizers and owner references.
pub(crate) fn check(object: &Object, causes: &mut FieldErrors) {
    if let Some(number) = get(object, "generation").filter(|_| generation(object) < 0) {
        let why = "must be greater than or equal to 0";
        causes.push(FieldError::invalid_json("metadata.generation", number, why));
    }
    if let Some(Value::Object(labels)) = get(object, "labels") {
        check_labels(labels, causes);
    }
    if let Some(Value::Object(annotations)) = get(object, "annotations") {
        check_annotations("metadata.annotations", annotations, causes);
    }
    check_owners(object, causes);
    for finalizer in finalizers(object) {
        for why in names::wrongs_of_qualified_name(finalizer) {
            causes.push(FieldError::invalid("metadata.finalizers", finalizer, why));
        }
    }
    let both = ["orphan", "foregroundDeletion"];
    if both.iter().all(|finalizer| finalizers(object).contains(finalizer)) {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(FieldError::invalid_json(
            "metadata.finalizers",
            &finalizers(object).into(),
            why,
        ));
    }
}

fn check_owners(object: &Object, causes: &mut FieldErrors) {
    let owners =
        get(object, "ownerReferences").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut controller: Option<String> = None;
    // Reports each duplicate once, with all owners, up to the limit of a message.
    let mut said = BTreeSet::new();
    let shown = LazyCell::new(|| shown_owners(owners));
    for owner in owners {
        if causes.is_full() {
            return;
        }
        let says = |member: &str| owner.get(member).and_then(Value::as_str).unwrap_or_default();
        for member in ["apiVersion", "kind", "name", "uid"] {
            if says(member).is_empty() {
                let field = format!("metadata.ownerReferences.{member}");
                let why = if member == "apiVersion" {
                    "version must not be empty"
                } else {
                    "must not be empty"
                };
                causes.push(FieldError::invalid(field, "", why));
            }
        }
        if (says("apiVersion"), says("kind")) == ("v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(FieldError::invalid_shown(
                "metadata.ownerReferences",
                &shown_owner(owner),
                why,
            ));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let named = format!("{}/{}", says("kind"), says("name"));
            if let Some(first) = &controller {
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                     and {named}"
                );
                if said.insert(named) {
                    causes.push(FieldError::invalid_shown(
                        "metadata.ownerReferences",
                        &shown,
                        &why,
                    ));
                }
            } else {
                controller = Some(named);
            }
        }
    }
}

/// The owner references of a list, up to the limit of a message.
fn shown_owners(owners: &[Value]) -> String {
    let mut shown = String::from("[");
    for (at, owner) in owners.iter().enumerate() {
        if shown.len() > FieldError::LONGEST {
            break;
        }
        shown.push_str(if at > 0 { "," } else { "" });
        shown.push_str(&shown_owner(owner));
    }
    shown.push(']');
    shown
}

/// Formats an owner reference as Go does.
fn shown_owner(owner: &Value) -> String {
    let members = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let members = members
        .iter()
        .filter_map(|member| Some(format!("\"{member}\":{}", go_json(owner.get(member)?))));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}
