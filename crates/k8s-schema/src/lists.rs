//! Lists of type set and map: no item, and no key, twice (pkg/apiserver/schema/listtype of
//! k8s.io/apiextensions-apiserver).

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::path::Path;
use crate::schema::{ListType, Schema};
use k8s_value::{FieldError, FieldErrors};

/// Validates lists of type set and map: an error for the second of each pair of equal items or
/// keys. If `old`, the object before an update, has such an error, all are left out.
pub fn validate_lists(
    schema: &Schema,
    object: &Map<String, Value>,
    old: Option<&Map<String, Value>>,
    causes: &mut FieldErrors,
) {
    let errors = |object: &Map<String, Value>| {
        let mut found = FieldErrors::default();
        members(schema, object, &Path::Root, &mut found);
        found
    };
    let found = errors(object);
    if !found.is_empty() && old.is_none_or(|old| errors(old).is_empty()) {
        causes.append(found);
    }
}

fn members(
    schema: &Schema,
    object: &Map<String, Value>,
    path: &Path<'_>,
    causes: &mut FieldErrors,
) {
    for (name, value) in object {
        match schema.properties.get(name) {
            Some(member) => below(member, value, &path.field(name), causes),
            None => {
                if let Some(member) = schema.additional.schema() {
                    below(member, value, &path.key(name), causes);
                }
            }
        }
    }
}

fn below(schema: &Schema, value: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    match value {
        Value::Object(object) => members(schema, object, path, causes),
        Value::Array(list) => {
            match schema.list_type {
                ListType::Atomic => {}
                ListType::Set => {
                    for (at, item) in twice(list) {
                        causes.push(FieldError::duplicate(path.index(at).to_string(), item));
                    }
                }
                ListType::Map => keys(schema, list, path, causes),
            }
            if let Some(of_items) = &schema.items {
                for (at, item) in list.iter().enumerate() {
                    below(of_items, item, &path.index(at), causes);
                }
            }
        }
        _ => {}
    }
}

fn keys(schema: &Schema, list: &[Value], path: &Path<'_>, causes: &mut FieldErrors) {
    let stranger = list.iter().enumerate().find(|(_, item)| !item.is_null() && !item.is_object());
    if let Some((at, item)) = stranger {
        let why = "must be an object for an array of list-type map";
        causes.push(FieldError::invalid_json(path.index(at).to_string(), item, why));
        return;
    }
    let key_of = |item: &Value| {
        let names = schema.list_keys.iter();
        let pairs = names.filter_map(|name| Some((name.clone(), item.get(name)?.clone())));
        Value::Object(pairs.collect())
    };
    let keys: Vec<Value> = list.iter().map(key_of).collect();
    for (at, key) in twice(&keys) {
        causes.push(FieldError::duplicate(path.index(at).to_string(), key));
    }
}

/// The items that are there a second time, with their places. A third time is left out.
fn twice(items: &[Value]) -> Vec<(usize, &Value)> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut found = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let times = seen.entry(item.to_string()).or_insert(0);
        *times = times.saturating_add(1);
        if *times == 2 {
            found.push((at, item));
        }
    }
    found
}
