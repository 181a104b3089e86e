//! Strategic merge patches: merge patches that know from the kind's schema which lists are merged,
//! and by which key.
//!
//! Follows `StrategicMergeMapPatch` in k8s.io/apimachinery (pkg/util/strategicpatch/patch.go),
//! error by error, but for lists that it searches again and again: here they are indexed.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::metadata::Object;
use crate::openapi::schema::{Merging, Schema, Strategy};
use crate::status::Status;
use k8s_value::go_value::json_type;

/// `$patch: replace`, `$patch: delete`: what becomes of the object it stands in.
const DIRECTIVE: &str = "$patch";
/// `$retainKeys: [..]`: members of the object that are not named here go.
const RETAIN_KEYS: &str = "$retainKeys";
/// `$deleteFromPrimitiveList/finalizers: [..]`: items that leave the list.
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
/// `$setElementOrder/containers: [..]`: the order that the list gets.
const SET_ORDER: &str = "$setElementOrder";

/// Changes an object by a patch.
pub(super) fn merge(
    original: &mut Object,
    mut patch: Object,
    schema: Schema,
) -> Result<(), Status> {
    match patch.remove(DIRECTIVE) {
        None => {}
        Some(directive) if directive == "replace" => {
            *original = patch;
            return Ok(());
        }
        Some(directive) if directive == "delete" => {
            original.clear();
            return Ok(());
        }
        Some(other) => {
            patch.insert(DIRECTIVE.to_owned(), other);
            return Err(unknown_directive(&Value::Object(patch)));
        }
    }
    retain_keys(original, &mut patch)?;
    merge_ordered_lists(original, &mut patch, schema)?;
    for (member, value) in patch {
        if member.starts_with(DELETE_FROM_LIST) {
            let name = after(&member, DELETE_FROM_LIST, "invalid patch format of primitive list")?;
            delete_from_list(original, name, &value, schema)?;
        } else {
            merge_member(original, member, value, schema)?;
        }
    }
    Ok(())
}

fn merge_member(
    original: &mut Object,
    member: String,
    value: Value,
    schema: Schema,
) -> Result<(), Status> {
    match (original.get_mut(&member), value) {
        (_, Value::Null) => drop(original.remove(&member)),
        (Some(Value::Object(old)), Value::Object(new)) => {
            let merging = lookup(schema, &member)?;
            if merging.strategy == Strategy::Replace {
                *old = new;
            } else {
                merge(old, new, merging.schema)?;
            }
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let merging = lookup(schema, &member)?;
            let merged = merge_lists(std::mem::take(old), new, merging)?;
            *old = merged;
        }
        (_, mut value) => {
            discard_nulls(&mut value);
            if remove_directives(&mut value) {
                original.insert(member, value);
            } else {
                original.remove(&member);
            }
        }
    }
    Ok(())
}

fn lookup(schema: Schema, member: &str) -> Result<Merging, Status> {
    schema.member(member).ok_or_else(|| {
        Status::unknown(format!("unable to find api field in struct for the json field {member:?}"))
    })
}

fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), Status> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let wrong = || Status::bad_request("invalid patch format of retainKeys");
    let retained = directive.as_array().ok_or_else(wrong)?;
    let retained: HashSet<&str> = retained.iter().filter_map(Value::as_str).collect();
    let is_directive =
        |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER);
    let mut said = patch.iter().filter(|(name, value)| !value.is_null() && !is_directive(name));
    if !said.all(|(name, _)| retained.contains(name.as_str())) {
        return Err(wrong());
    }
    original.retain(|name, _| retained.contains(name.as_str()));
    Ok(())
}

/// Lists with an order of their own are merged here, and leave the patch.
fn merge_ordered_lists(
    original: &mut Object,
    patch: &mut Object,
    schema: Schema,
) -> Result<(), Status> {
    const WRONG: &str = "invalid patch format of setElementOrder list";
    let directives: Vec<String> =
        patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else { continue };
        let Value::Array(order) = order else { return Err(not_a_list(&order)) };
        let name = after(&directive, SET_ORDER, WRONG)?;
        let merging = lookup(schema, name)?;
        let list = |value: Option<Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(not_a_list(&other)),
        };
        let old = list(original.get(name).cloned())?;
        let new = list(patch.remove(name))?;
        if let Some(new) = &new {
            check_order(new, &order, merging.key)?;
        }
        let before = old.clone().unwrap_or_default();
        let merged = match (old, new) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) => {
                let mut new = Value::Array(new);
                remove_directives(&mut new);
                match new {
                    Value::Array(new) => new,
                    _ => continue,
                }
            }
            (Some(old), Some(new)) => merge_lists(old, new, merging)?,
        };
        let ordered = arrange(merged, &order, &before, merging.key)?;
        original.insert(name.to_owned(), Value::Array(ordered));
    }
    Ok(())
}

/// The items of the patch must be in the order's list, in its order.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Status> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let wanted = identity(item, key)?;
        let found = loop {
            match rest.next() {
                Some(next) if identity(next, key)? == wanted => break true,
                Some(_) => {}
                None => break false,
            }
        };
        if !found {
            return Err(Status::unknown(format!(
                "the order in the patch's list {} doesn't match the {SET_ORDER} list {}",
                Value::from(patch),
                Value::from(order)
            )));
        }
    }
    Ok(())
}

fn delete_from_list(
    original: &mut Object,
    name: &str,
    gone: &Value,
    schema: Schema,
) -> Result<(), Status> {
    let Some(Value::Array(items)) = original.get_mut(name) else { return Ok(()) };
    let Value::Array(gone) = gone else { return Ok(()) };
    lookup(schema, name)?;
    check_items(items, gone)?;
    let gone: HashSet<String> = gone.iter().map(Value::to_string).collect();
    items.retain(|item| !gone.contains(&item.to_string()));
    Ok(())
}

fn merge_lists(old: Vec<Value>, new: Vec<Value>, merging: Merging) -> Result<Vec<Value>, Status> {
    if merging.strategy != Strategy::Merge {
        return Ok(new);
    }
    if old.is_empty() && new.is_empty() {
        return Ok(old);
    }
    let are_objects = check_items(&old, &new)?;
    if !are_objects {
        let mut seen = HashSet::new();
        let both =
            old.iter().chain(&new).filter(|item| seen.insert(item.to_string())).cloned().collect();
        return arrange(both, &new, &old, None);
    }
    let Some(key) = merging.key else {
        return Err(Status::unknown("cannot merge lists without merge key for struct"));
    };
    let (old, new) = obey_directives(old, new, key)?;
    let merged = merge_items(old.clone(), &new, key, merging.schema)?;
    // What was merged into is at its old place: identities have not changed.
    arrange(merged, &new, &old, Some(key))
}

/// Whether the items are objects; lists of lists and of several types are refused.
fn check_items(old: &[Value], new: &[Value]) -> Result<bool, Status> {
    let mut kinds = old.iter().chain(new).map(std::mem::discriminant);
    let first = kinds.next();
    if old.iter().chain(new).next().is_some_and(Value::is_array) {
        return Err(Status::out_of_bounds("lists of lists are not supported"));
    }
    if kinds.any(|kind| Some(kind) != first) {
        return Err(Status::unknown("list element types are not identical"));
    }
    Ok(old.iter().chain(new).next().is_some_and(Value::is_object))
}

/// Items of the patch that are directives are carried out on the old list, and taken away.
fn obey_directives(
    mut old: Vec<Value>,
    new: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Status> {
    let (mut kept, mut deleted, mut replaces) =
        (Vec::with_capacity(new.len()), HashSet::new(), false);
    for item in new {
        match item.get(DIRECTIVE) {
            None => kept.push(item),
            Some(directive) if directive == "delete" => {
                deleted.insert(identity(&item, Some(key))?);
            }
            Some(directive) if directive == "replace" => replaces = true,
            Some(directive) if directive == "merge" => {
                return Err(Status::unknown("merging lists cannot yet be specified in the patch"));
            }
            Some(_) => return Err(unknown_directive(&item)),
        }
    }
    if replaces {
        return Ok((kept, Vec::new()));
    }
    if !deleted.is_empty() {
        old.retain(|item| item.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    }
    Ok((old, kept))
}

fn merge_items(
    mut merged: Vec<Value>,
    new: &[Value],
    key: &str,
    schema: Schema,
) -> Result<Vec<Value>, Status> {
    let mut places = HashMap::new();
    for (place, item) in merged.iter().enumerate() {
        if let Some(value) = item.get(key) {
            places.entry(value.to_string()).or_insert(place);
        }
    }
    for item in new {
        let identity = identity(item, Some(key))?;
        match places.get(&identity).and_then(|place| merged.get_mut(*place)) {
            Some(Value::Object(old)) => {
                if let Value::Object(item) = item.clone() {
                    merge(old, item, schema)?;
                }
            }
            _ => {
                places.insert(identity, merged.len());
                merged.push(item.clone());
            }
        }
    }
    Ok(merged)
}

/// Puts a merged list in order: what the patch knows in the patch's order, what only the server
/// knows in the order it had, and, where both were there before, the two as they were to each
/// other.
fn arrange(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, Status> {
    let (order, before) = (places(order, key)?, places(before, key)?);
    let (mut known, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let identity = identity(&item, key)?;
        let place = before.get(&identity).copied();
        match order.get(&identity) {
            Some(rank) => known.push((*rank, place, item)),
            None => others.push((place.unwrap_or(usize::MAX), place, item)),
        }
    }
    known.sort_by_key(|(rank, ..)| *rank);
    others.sort_by_key(|(rank, ..)| *rank);
    let mut arranged = Vec::with_capacity(known.len().saturating_add(others.len()));
    let (mut known, mut others) = (known.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), known.peek()) {
            (None, None) => return Ok(arranged),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((_, Some(other), _)), Some((_, Some(known), _))) => other < known,
            (Some(_), Some(_)) => false,
        };
        let next = if other_first { others.next() } else { known.next() };
        arranged.extend(next.map(|(.., item)| item));
    }
}

fn places(items: &[Value], key: Option<&str>) -> Result<HashMap<String, usize>, Status> {
    let mut places = HashMap::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        places.entry(identity(item, key)?).or_insert(place);
    }
    Ok(places)
}

/// What makes an item the same as another: the value of its merge key, or all of it.
fn identity(item: &Value, key: Option<&str>) -> Result<String, Status> {
    let Some(key) = key else { return Ok(item.to_string()) };
    let Value::Object(members) = item else {
        return Err(Status::unknown("value for key 0 is not a map"));
    };
    match members.get(key) {
        Some(value) => Ok(value.to_string()),
        None => {
            Err(Status::unknown(format!("map: {item} does not contain declared merge key: {key}")))
        }
    }
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Takes objects with a directive out of a value that is taken as it is; `false` if it is one
/// itself.
fn remove_directives(value: &mut Value) -> bool {
    match value {
        Value::Object(members) if members.contains_key(DIRECTIVE) => return false,
        Value::Object(members) => members.retain(|_, value| remove_directives(value)),
        Value::Array(items) => items.retain_mut(remove_directives),
        _ => {}
    }
    true
}

fn after<'a>(member: &'a str, directive: &str, wrong: &str) -> Result<&'a str, Status> {
    let rest = member.strip_prefix(directive).and_then(|rest| rest.strip_prefix('/'));
    rest.ok_or_else(|| Status::bad_request(wrong))
}

/// Of an object with a directive.
fn unknown_directive(object: &Value) -> Status {
    let directive = object.get(DIRECTIVE).unwrap_or(&Value::Null);
    Status::unknown(format!("unknown {DIRECTIVE}: {directive}"))
}

fn not_a_list(value: &Value) -> Status {
    Status::unknown(format!("expected a list, got {}", json_type(value)))
}
