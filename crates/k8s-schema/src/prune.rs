//! Pruning: members that the schema does not know are dropped, and nulls where null is no value.

use serde_json::{Map, Value};

use crate::path::Path;
use crate::schema::{Additional, Schema};

/// Members that every resource has, whatever its schema says.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops members that the schema does not know. Returns the paths of dropped members in order, at
/// most `most` of them.
pub fn prune(object: &mut Map<String, Value>, schema: &Schema, most: usize) -> Vec<String> {
    let mut pruner = Pruner { unknown: Vec::new(), most };
    pruner.members(object, Some(schema), true, schema.preserve, &Path::Root);
    pruner.unknown.sort_unstable();
    pruner.unknown
}

/// As [`prune`], for a part of an object.
pub fn prune_value(value: &mut Value, schema: &Schema) {
    Pruner { unknown: Vec::new(), most: 0 }.value(value, Some(schema), &Path::Root);
}

struct Pruner {
    unknown: Vec<String>,
    most: usize,
}

impl Pruner {
    fn value(&mut self, value: &mut Value, schema: Option<&Schema>, path: &Path<'_>) {
        let (embedded, preserve) = schema.map_or((false, false), |s| (s.embedded, s.preserve));
        match value {
            Value::Object(members) => self.members(members, schema, embedded, preserve, path),
            Value::Array(items) => {
                let of_items = schema.and_then(|schema| schema.items.as_deref());
                for (at, item) in items.iter_mut().enumerate() {
                    if preserve {
                        self.preserved(item, of_items, &path.index(at));
                    } else {
                        self.value(item, of_items, &path.index(at));
                    }
                }
            }
            _ => {}
        }
    }

    fn members(
        &mut self,
        members: &mut Map<String, Value>,
        schema: Option<&Schema>,
        resource: bool,
        preserve: bool,
        path: &Path<'_>,
    ) {
        let mut drop = Vec::new();
        for (name, value) in members.iter_mut() {
            if resource && META.contains(&name.as_str()) {
                continue;
            }
            let known = schema.and_then(|schema| schema.properties.get(name));
            match (known, schema.map(|schema| &schema.additional)) {
                (Some(known), _) => self.value(value, Some(known), &path.field(name)),
                (None, Some(additional)) if !matches!(additional, Additional::Unsaid) => {
                    self.value(value, additional.schema(), &path.field(name));
                }
                _ if preserve => {}
                _ => drop.push(name.clone()),
            }
        }
        for name in drop {
            members.remove(&name);
            if self.unknown.len() < self.most {
                self.unknown.push(path.field(&name).to_string());
            }
        }
    }

    /// Items of a preserved list: members with a schema are pruned all the same.
    fn preserved(&mut self, value: &mut Value, schema: Option<&Schema>, path: &Path<'_>) {
        let Some(schema) = schema else { return };
        match value {
            Value::Object(members) => {
                self.members(members, Some(schema), schema.embedded, true, path)
            }
            Value::Array(items) => {
                let of_items = schema.items.as_deref();
                for (at, item) in items.iter_mut().enumerate() {
                    self.preserved(item, of_items, &path.index(at));
                }
            }
            _ => {}
        }
    }
}

/// Drops members that are null where the schema neither allows that nor has a default; items of
/// lists stay.
pub fn prune_nulls(members: &mut Map<String, Value>, schema: Option<&Schema>) {
    let of_member = |name: &str| schema.and_then(|schema| schema.member(name));
    members.retain(|name, value| {
        !(value.is_null()
            && of_member(name).is_some_and(|schema| !schema.nullable && schema.default.is_none()))
    });
    for (name, value) in members.iter_mut() {
        nulls_below(value, of_member(name));
    }
}

fn nulls_below(value: &mut Value, schema: Option<&Schema>) {
    match value {
        Value::Object(members) => prune_nulls(members, schema),
        Value::Array(items) => {
            let of_items = schema.and_then(|schema| schema.items.as_deref());
            items.iter_mut().for_each(|item| nulls_below(item, of_items));
        }
        _ => {}
    }
}
