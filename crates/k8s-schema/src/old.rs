//! `Old`: the value before an update that a value after it comes from. Members correlate by name,
//! items of a list of type map by keys, others not at all (k8s.io/apiserver/pkg/cel/common,
//! `CorrelatedObject`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::{ListType, Schema};

/// The value before an update; `None` without a value that correlates.
#[derive(Debug, Clone, Copy, Default)]
pub struct Old<'a>(pub Option<&'a Value>);

impl<'a> Old<'a> {
    /// What a member of the value was before.
    pub(crate) fn member(self, name: &str) -> Self {
        Self(self.0.and_then(|value| value.get(name)))
    }

    pub(crate) fn is(self, value: &Value) -> bool {
        self.0 == Some(value)
    }

    /// The items of the value before, by their keys.
    pub(crate) fn items(self, schema: &'a Schema) -> OldItems<'a> {
        let mut items = OldItems { keys: &schema.list_keys, by_key: BTreeMap::new() };
        if let Some(Value::Array(old)) = self.0.filter(|_| schema.list_type == ListType::Map) {
            for item in old {
                if let Value::Object(members) = item {
                    items.by_key.entry(key_of(members, items.keys)).or_insert(item);
                }
            }
        }
        items
    }
}

/// Items of a list before an update.
#[derive(Debug)]
pub(crate) struct OldItems<'a> {
    keys: &'a [String],
    by_key: BTreeMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    /// What an item was before.
    pub(crate) fn of(&self, item: &Value) -> Old<'a> {
        match item {
            Value::Object(members) if !self.by_key.is_empty() => {
                Old(self.by_key.get(&key_of(members, self.keys)).copied())
            }
            _ => Old(None),
        }
    }
}

/// The keys of an item as one text; a key that is not there differs from every value.
pub(crate) fn key_of(members: &Map<String, Value>, keys: &[String]) -> String {
    let mut text = String::new();
    for key in keys {
        if let Some(value) = members.get(key) {
            text.push_str(&value.to_string());
        }
        text.push('\0');
    }
    text
}
