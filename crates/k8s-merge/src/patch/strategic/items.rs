//! Items of lists that are merged: of one type, and identified by their merge key.

use std::collections::HashMap;

use serde_json::Value;

use crate::patch::error::PatchError;

/// Whether the items are objects; lists of lists and of several types are refused.
pub(super) fn check_items(old: &[Value], new: &[Value]) -> Result<bool, PatchError> {
    let mut kinds = old.iter().chain(new).map(std::mem::discriminant);
    let first = kinds.next();
    if old.iter().chain(new).next().is_some_and(Value::is_array) {
        return Err(PatchError::OutOfBounds("lists of lists are not supported".to_owned()));
    }
    if kinds.any(|kind| Some(kind) != first) {
        return Err(PatchError::Unmergeable("list element types are not identical".to_owned()));
    }
    Ok(old.iter().chain(new).next().is_some_and(Value::is_object))
}

/// The index of each item, by its identity.
pub(super) fn places(
    items: &[Value],
    key: Option<&str>,
) -> Result<HashMap<String, usize>, PatchError> {
    let mut places = HashMap::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        places.entry(identity(item, key)?).or_insert(place);
    }
    Ok(places)
}

/// The identity of an item: the value of its merge key, or all of it.
pub(super) fn identity(item: &Value, key: Option<&str>) -> Result<String, PatchError> {
    let Some(key) = key else { return Ok(item.to_string()) };
    let Value::Object(members) = item else {
        return Err(PatchError::Unmergeable("value for key 0 is not a map".to_owned()));
    };
    match members.get(key) {
        Some(value) => Ok(value.to_string()),
        None => Err(PatchError::Unmergeable(format!(
            "map: {item} does not contain declared merge key: {key}"
        ))),
    }
}
