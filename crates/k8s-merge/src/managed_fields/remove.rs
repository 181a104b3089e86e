//! An object without some of its fields.

use serde_json::Value;

use crate::Object;
use crate::managed_fields::element::Element;
use crate::managed_fields::set::Set;
use crate::managed_fields::types::{Form, Members, Ref, Sort, Types};

impl Types {
    /// Removes the members and items in a set from an object. An atomic object or list is removed
    /// as a whole.
    pub(super) fn without(&self, object: &Object, gone: &Set) -> Object {
        self.without_members(self.root(), object, gone)
    }

    fn without_members(&self, members: &Members, all: &Object, gone: &Set) -> Object {
        let mut kept = Object::new();
        for (name, value) in all {
            let element = Element::field(name);
            if gone.has(&element) {
                continue;
            }
            let value = match gone.below(&element) {
                Some(below) => self.without_at(members.member(name).0, value, below),
                None => value.clone(),
            };
            kept.insert(name.clone(), value);
        }
        kept
    }

    fn without_at(&self, of: Option<Ref>, value: &Value, gone: &Set) -> Value {
        let Some(of) = of else { return value.clone() };
        match self.atom(of).form(Some(value)) {
            Form::Nothing | Form::Scalar(_) => value.clone(),
            Form::Map(members) => {
                let Value::Object(all) = value else { return Value::Null };
                if all.is_empty() || members.atomic {
                    return Value::Null;
                }
                let kept = self.without_members(members, all, gone);
                if kept.is_empty() { Value::Null } else { Value::Object(kept) }
            }
            Form::List(list) => {
                let Value::Array(all) = value else { return Value::Null };
                if all.is_empty() || list.sort == Sort::Atomic {
                    return Value::Null;
                }
                let mut kept = Vec::with_capacity(all.len());
                for item in all {
                    let Ok(element) = self.item(list, item) else {
                        kept.push(item.clone());
                        continue;
                    };
                    if gone.has(&element) {
                        continue;
                    }
                    kept.push(match gone.below(&element) {
                        Some(below) => self.without_at(Some(list.items), item, below),
                        None => item.clone(),
                    });
                }
                if kept.is_empty() { Value::Null } else { Value::Array(kept) }
            }
        }
    }
}
