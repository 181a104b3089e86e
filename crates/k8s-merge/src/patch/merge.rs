//! JSON merge patches as the API server applies them: RFC 7386, but nulls stay where a value
//! replaces something else than an object, and go within the lists of a new value.

use bytes::Bytes;

use crate::patch::document::{Members, Node, is_too_deep};
use crate::patch::error::PatchError;

/// Returns the text of an object after a JSON merge patch. A patch that is a list replaces it.
///
/// ```
/// let labels = r#"{"labels":{"a":"1","b":"2"},"ports":[80]}"#;
/// let patch = r#"{"labels":{"a":null},"ports":[8080]}"#;
/// let merged = k8s_merge::patch::merge_patch(labels, patch)?;
/// assert_eq!(merged, r#"{"labels":{"b":"2"},"ports":[8080]}"#);
/// # Ok::<(), k8s_merge::patch::PatchError>(())
/// ```
///
/// # Errors
///
/// The document is not an object, the patch is neither an object nor a list, or one of them is
/// nested too deep.
#[doc(alias = "jsonpatch.MergePatch")]
pub fn merge_patch(
    document: impl Into<Bytes>,
    patch: impl Into<Bytes>,
) -> Result<String, PatchError> {
    let (document, patch) = (document.into(), patch.into());
    if is_too_deep(&document) || is_too_deep(&patch) {
        return Err(PatchError::TooDeep);
    }
    let (mut document, mut patch) = (Node::Text(document), Node::Text(patch));
    document.open_object().ok_or(PatchError::NotAnObject)?;
    match patch.open() {
        Some(Node::Object(_)) => Ok(merged(document, patch).text()),
        Some(_) => {
            prune(&mut patch);
            Ok(patch.text())
        }
        None => {
            Err(PatchError::Malformed("a merge patch is neither an object nor a list".to_owned()))
        }
    }
}

fn merged(mut current: Node, mut patch: Node) -> Node {
    let Some(members) = current.open_object() else {
        prune(&mut patch);
        return patch;
    };
    match patch.open_object() {
        Some(changes) => merge(members, std::mem::take(changes)),
        // Nulls within it stay.
        None => return patch,
    }
    current
}

fn merge(members: &mut Members, changes: Members) {
    for (name, change) in changes {
        let Some(mut change) = change else {
            members.remove(&name);
            continue;
        };
        let value = match members.remove(&name).flatten() {
            Some(current) => merged(current, change),
            None => {
                prune(&mut change);
                change
            }
        };
        members.insert(name, Some(value));
    }
}

/// Removes the null members of objects, wherever they are. Null items of lists stay.
fn prune(node: &mut Node) {
    match node.open() {
        Some(Node::Object(members)) => {
            members.retain(|_, value| value.is_some());
            members.values_mut().flatten().for_each(prune);
        }
        Some(Node::List(items)) => items.iter_mut().flatten().for_each(prune),
        _ => {}
    }
}
