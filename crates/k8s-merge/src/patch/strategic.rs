//! Strategic merge patches.
//!
//! Follows `StrategicMergeMapPatch` of k8s.io/apimachinery (pkg/util/strategicpatch/patch.go),
//! case by case. Lists that it searches again and again are indexed here.

mod directives;
mod items;
mod merging;
mod order;

use std::collections::{HashMap, HashSet};

use k8s_value::go_value::json_type;
use serde_json::Value;

use crate::patch::error::PatchError;
use crate::patch::strategic::directives::{
    DELETE_FROM_LIST, SET_ORDER, after, discard_nulls, obey_directives, remove_directives,
    replaces, retain_keys,
};
use crate::patch::strategic::items::{check_items, identity};
use crate::patch::strategic::merging::{Merging, Strategy};
use crate::patch::strategic::order::{arrange, check_order};
use crate::{Object, Schema};

/// Changes an object of a kind by a strategic merge patch: a merge patch that takes from the schema
/// of the kind which lists are merged, and by which key.
///
/// ```
/// use k8s_merge::patch::strategic_merge;
/// use k8s_merge::{Object, Schema};
/// use serde_json::json;
///
/// let schema = json!({ "properties": { "containers": {
///     "items": { "properties": { "name": {}, "image": {} } },
///     "x-kubernetes-patch-merge-key": "name",
///     "x-kubernetes-patch-strategy": "merge",
/// } } });
/// let containers = |items| Object::from_iter([("containers".to_owned(), items)]);
///
/// let mut object = containers(json!([{ "name": "a", "image": "a:1" }, { "name": "b" }]));
/// let patch = containers(json!([{ "name": "a", "image": "a:2" }]));
/// strategic_merge(&mut object, patch, Schema::new(&schema, &Object::new()))?;
/// assert_eq!(object, containers(json!([{ "name": "a", "image": "a:2" }, { "name": "b" }])));
/// # Ok::<(), k8s_merge::patch::PatchError>(())
/// ```
///
/// # Errors
///
/// A directive is malformed, the patch has a member that the schema does not have, or lists cannot
/// be merged. The object is changed in part then.
#[doc(alias = "StrategicMergePatch")]
#[doc(alias = "StrategicMergeMapPatch")]
pub fn strategic_merge(
    original: &mut Object,
    mut patch: Object,
    schema: Schema<'_>,
) -> Result<(), PatchError> {
    if replaces(original, &mut patch)? {
        return Ok(());
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
    schema: Schema<'_>,
) -> Result<(), PatchError> {
    match (original.get_mut(&member), value) {
        (_, Value::Null) => drop(original.remove(&member)),
        (Some(Value::Object(old)), Value::Object(new)) => {
            let merging = Merging::of(schema, &member)?;
            if merging.strategy == Strategy::Replace {
                *old = new;
            } else {
                strategic_merge(old, new, merging.schema)?;
            }
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let merging = Merging::of(schema, &member)?;
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

/// Merges the lists that `$setElementOrder` orders, and removes them from the patch.
fn merge_ordered_lists(
    original: &mut Object,
    patch: &mut Object,
    schema: Schema<'_>,
) -> Result<(), PatchError> {
    const WRONG: &str = "invalid patch format of setElementOrder list";
    let directives: Vec<String> =
        patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else { continue };
        let Value::Array(order) = order else { return Err(not_a_list(&order)) };
        let name = after(&directive, SET_ORDER, WRONG)?;
        let merging = Merging::of(schema, name)?;
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

fn delete_from_list(
    original: &mut Object,
    name: &str,
    gone: &Value,
    schema: Schema<'_>,
) -> Result<(), PatchError> {
    let Some(Value::Array(items)) = original.get_mut(name) else { return Ok(()) };
    let Value::Array(gone) = gone else { return Ok(()) };
    Merging::of(schema, name)?;
    check_items(items, gone)?;
    let gone: HashSet<String> = gone.iter().map(Value::to_string).collect();
    items.retain(|item| !gone.contains(&item.to_string()));
    Ok(())
}

fn merge_lists(
    old: Vec<Value>,
    new: Vec<Value>,
    merging: Merging<'_>,
) -> Result<Vec<Value>, PatchError> {
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
        return Err(PatchError::Unmergeable(
            "cannot merge lists without merge key for struct".to_owned(),
        ));
    };
    let (old, new) = obey_directives(old, new, key)?;
    let merged = merge_items(old.clone(), &new, key, merging.schema)?;
    // Merging has changed no identity.
    arrange(merged, &new, &old, Some(key))
}

fn merge_items(
    mut merged: Vec<Value>,
    new: &[Value],
    key: &str,
    schema: Schema<'_>,
) -> Result<Vec<Value>, PatchError> {
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
                    strategic_merge(old, item, schema)?;
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

fn not_a_list(value: &Value) -> PatchError {
    PatchError::Unmergeable(format!("expected a list, got {}", json_type(value)))
}
