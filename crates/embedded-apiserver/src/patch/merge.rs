//! JSON merge patches as the real server applies them: RFC 7386, but nulls stay where a value
//! replaces what is no object, and go within the lists of a value that replaces nothing. Pure.

use bytes::Bytes;

use crate::patch::document::{Members, Node};

/// The text that a patch makes of the text of a document.
pub(super) fn apply(document: Bytes, patch: Bytes) -> String {
    let (mut document, mut patch) = (Node::Text(document), Node::Text(patch));
    // A patch that is a list takes the place of the document.
    if matches!(patch.open(), Some(Node::Object(_))) {
        document = merged(document, patch);
    } else {
        prune(&mut patch);
        document = patch;
    }
    document.text()
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
