//! fieldsV1: a set of fields as JSON, in the order of the API server.

use serde_json::Value;

use crate::managed_fields::element::Element;
use crate::managed_fields::set::{Node, Set};

impl Set {
    /// Reads fieldsV1.
    ///
    /// # Errors
    ///
    /// Says which step cannot be read, or which value should be an object.
    pub(super) fn decode(fields: &Value) -> Result<Self, String> {
        read(fields).map(|(set, _)| set)
    }

    /// Appends the set as fieldsV1.
    pub(super) fn encode(&self, out: &mut String) {
        self.write(false, out);
    }

    fn write(&self, with_itself: bool, out: &mut String) {
        out.push('{');
        let mut first = true;
        if with_itself && !self.is_empty() {
            out.push_str("\".\":{}");
            first = false;
        }
        for node in self.nodes() {
            if !first {
                out.push(',');
            }
            first = false;
            node.element.write(out);
            out.push(':');
            node.children.write(node.member, out);
        }
        out.push('}');
    }
}

/// The set below a step, and whether the step itself is a member.
fn read(fields: &Value) -> Result<(Set, bool), String> {
    let members = match fields {
        Value::Object(members) => members,
        Value::Null => return Ok((Set::empty(), true)),
        _ => return Err("a set of fields is a JSON object".to_owned()),
    };
    let mut nodes = Vec::with_capacity(members.len());
    let mut member = false;
    for (text, below) in members {
        if text == "." {
            member = true;
        } else if let Some(element) = Element::parse(text)? {
            let (children, member) = read(below)?;
            nodes.push(Node { element, member, children });
        }
    }
    let set = Set::of_nodes(nodes);
    let member = member || set.is_empty();
    Ok((set, member))
}
