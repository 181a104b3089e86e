//! JSON of objects: the merge patch between two, and whether a patch says all that differs.

use serde_json::{Map, Value};

/// Whether the patch `said` names all that differs between `old` and `new`.
pub(crate) fn says(said: Option<&Value>, old: Option<&Value>, new: Option<&Value>) -> bool {
    if old == new {
        return true;
    }
    match (said, old, new) {
        (None, ..) => false,
        (Some(Value::Object(said)), Some(Value::Object(old)), Some(Value::Object(new))) => {
            let mut names = old.keys().chain(new.keys());
            names.all(|name| says(said.get(name), old.get(name), new.get(name)))
        }
        (Some(Value::Array(said)), Some(Value::Array(old)), Some(Value::Array(new))) => {
            said.len() == new.len()
                && (old.len() != new.len()
                    || (0..new.len()).all(|at| says(said.get(at), old.get(at), new.get(at))))
        }
        (Some(_), ..) => true,
    }
}

/// The merge patch (RFC 7396) that makes `old` into `new`; `None` if they are equal.
pub(crate) fn merge_patch(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return Some(new.clone()) };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, new) in new {
        let change = match old.get(name) {
            Some(old) => merge_patch(old, new),
            None => Some(new.clone()),
        };
        patch.extend(change.map(|change| (name.clone(), change)));
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_says_what_differs_or_another_wrote_it() {
        let old = json!({"a": 1, "b": {"c": 1}, "l": [{"m": 1, "n": 1}]});
        for (said, new, expected) in [
            (json!({}), json!({"a": 1, "b": {"c": 1}, "l": [{"m": 1, "n": 1}]}), true),
            (json!({"a": 2}), json!({"a": 2, "b": {"c": 1}, "l": [{"m": 1, "n": 1}]}), true),
            (json!({"b": {}}), json!({"a": 2, "b": {"c": 1}, "l": [{"m": 1, "n": 1}]}), false),
            (json!({"b": {"d": 1}}), json!({"a": 1, "b": {"c": 2}, "l": []}), false),
            // The server adds defaults to a new field.
            (json!({"e": {}}), json!({"a": 1, "b": {"c": 1}, "l": old["l"], "e": {"f": 1}}), true),
            (json!({"a": null}), json!({"b": {"c": 1}, "l": old["l"]}), true),
            (json!({}), json!({"b": {"c": 1}, "l": old["l"]}), false),
            (
                json!({"l": [{"m": 2}]}),
                json!({"a": 1, "b": {"c": 1}, "l": [{"m": 2, "n": 1}]}),
                true,
            ),
            (
                json!({"l": [{"m": 2}]}),
                json!({"a": 1, "b": {"c": 1}, "l": [{"m": 2, "n": 2}]}),
                false,
            ),
            (json!({"l": [{"m": 1}]}), json!({"a": 1, "b": {"c": 1}, "l": [{"m": 1}, {}]}), false),
            (
                json!({"l": [{"m": 1}, {}]}),
                json!({"a": 1, "b": {"c": 1}, "l": [{"m": 1}, {}]}),
                true,
            ),
        ] {
            assert_eq!(says(Some(&said), Some(&old), Some(&new)), expected, "{said} {new}");
        }
    }

    #[test]
    fn a_merge_patch_says_what_differs() {
        let old = json!({"a": 1, "b": {"c": 1, "d": 2}, "l": [1, 2]});
        let new = json!({"a": 1, "b": {"c": 3}, "l": [2], "n": {"m": 1}});
        let patch = json!({"b": {"c": 3, "d": null}, "l": [2], "n": {"m": 1}});
        assert_eq!(merge_patch(&old, &new), Some(patch));
        assert_eq!(merge_patch(&old, &old), None);
    }
}
