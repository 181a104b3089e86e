//! The directives of a strategic merge patch: members whose names begin with `$`.

use std::collections::HashSet;

use serde_json::Value;

use crate::Object;
use crate::patch::error::PatchError;
use crate::patch::strategic::items::identity;

/// `$patch: replace` and `$patch: delete`, in the object that they are about.
pub(super) const DIRECTIVE: &str = "$patch";
/// `$retainKeys: [..]`: removes all other members of the object.
const RETAIN_KEYS: &str = "$retainKeys";
/// `$deleteFromPrimitiveList/finalizers: [..]`: removes these items from the list.
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
/// `$setElementOrder/containers: [..]`: the new order of the list.
pub(super) const SET_ORDER: &str = "$setElementOrder";

/// Takes `$patch` out of an object of the patch, and says whether the object was replaced by it.
pub(super) fn replaces(original: &mut Object, patch: &mut Object) -> Result<bool, PatchError> {
    match patch.remove(DIRECTIVE) {
        None => Ok(false),
        Some(directive) if directive == "replace" => {
            *original = std::mem::take(patch);
            Ok(true)
        }
        Some(directive) if directive == "delete" => {
            original.clear();
            Ok(true)
        }
        Some(other) => Err(unknown_directive(&other)),
    }
}

/// Carries out `$retainKeys`.
pub(super) fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let wrong = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
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

/// Carries out the directives among the items of the patch. Returns the old list after them, and
/// the other items.
pub(super) fn obey_directives(
    mut old: Vec<Value>,
    new: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
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
                return Err(PatchError::Unmergeable(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            Some(other) => return Err(unknown_directive(other)),
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

/// Removes the null members of objects, wherever they are.
pub(super) fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Removes objects with a directive from a value that is not merged. Returns `false` if the value
/// is such an object.
pub(super) fn remove_directives(value: &mut Value) -> bool {
    match value {
        Value::Object(members) if members.contains_key(DIRECTIVE) => return false,
        Value::Object(members) => members.retain(|_, value| remove_directives(value)),
        Value::Array(items) => items.retain_mut(remove_directives),
        _ => {}
    }
    true
}

/// The member that a directive names: after `DIRECTIVE/`.
pub(super) fn after<'a>(
    member: &'a str,
    directive: &str,
    wrong: &str,
) -> Result<&'a str, PatchError> {
    let rest = member.strip_prefix(directive).and_then(|rest| rest.strip_prefix('/'));
    rest.ok_or_else(|| PatchError::Malformed(wrong.to_owned()))
}

fn unknown_directive(directive: &Value) -> PatchError {
    PatchError::Unmergeable(format!("unknown {DIRECTIVE}: {directive}"))
}
