//! Members of objects: reads by path, and writes of missing members.

use serde_json::{Map, Value, json};

use crate::api::metadata::{self, Object};

/// The value at a path of member names; `None` for null.
pub(crate) fn at<'a>(object: &'a Object, path: &str) -> Option<&'a Value> {
    let (first, rest) =
        path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = object.get(first)?;
    let value = rest
        .map_or(Some(value), |rest| rest.split('.').try_fold(value, |value, part| value.get(part)));
    value.filter(|value| !value.is_null())
}

/// The text at a path of member names; empty by default.
pub(crate) fn text<'a>(object: &'a Object, path: &str) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// A member; `None` for null.
pub(super) fn part<'a>(value: &'a Value, member: &str) -> Option<&'a Value> {
    value.get(member).filter(|value| !value.is_null())
}

/// The text of a member; empty by default.
pub(super) fn said<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// The texts of a list; those of another type are left out.
pub(super) fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The items of a list with their paths: `spec.ports[0]`.
pub(super) fn items<'a>(
    value: Option<&'a Value>,
    path: &str,
) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    let items = value.and_then(Value::as_array).into_iter().flatten().enumerate();
    let path = path.to_owned();
    items.map(move |(at, item)| (format!("{path}[{at}]"), item))
}

/// The objects of a list, to be changed.
pub(super) fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Object> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Sets those of the members that are not there.
pub(super) fn set_missing(object: &mut Object, defaults: &[(&str, Value)]) {
    for (name, value) in defaults {
        object.entry(*name).or_insert_with(|| value.clone());
    }
}

/// A copy of the members of an object; empty by default.
pub(super) fn members(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Sets those of the members below `member` that are not there.
pub(super) fn fill(object: &mut Object, member: &str, defaults: &[(&str, Value)]) {
    let target = object.entry(member).or_insert_with(|| json!({}));
    if let Value::Object(target) = target {
        set_missing(target, defaults);
    }
}

/// Adds a finalizer, unless it is there.
pub(super) fn add_finalizer(object: &mut Object, finalizer: &str) {
    let finalizers = metadata::of(object).entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(finalizers) = finalizers
        && !finalizers.iter().any(|f| f == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}
