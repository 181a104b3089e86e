//! Defaults: set where a member is missing, or null where null is no value.

use serde_json::{Map, Value};

use crate::schema::Schema;

/// Sets the defaults of a schema, as `structuraldefaulting.Default` of
/// k8s.io/apiextensions-apiserver.
pub fn set_defaults(members: &mut Map<String, Value>, schema: &Schema) {
    for (name, member) in &schema.properties {
        let Some(default) = &member.default else { continue };
        let missing = members.get(name).is_none_or(|value| value.is_null() && !member.nullable);
        if missing {
            members.insert(name.clone(), default.clone());
        }
    }
    for (name, value) in members.iter_mut() {
        match schema.properties.get(name) {
            Some(member) => fill_value(value, member),
            None => {
                if let Some(member) = schema.additional.schema() {
                    fill_null(value, member);
                    fill_value(value, member);
                }
            }
        }
    }
}

fn fill_null(value: &mut Value, schema: &Schema) {
    if value.is_null() && !schema.nullable {
        *value = schema.default.clone().unwrap_or_default();
    }
}

fn fill_value(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => set_defaults(members, schema),
        Value::Array(items) => {
            if let Some(of_items) = schema.items.as_deref() {
                for item in items {
                    fill_null(item, of_items);
                    fill_value(item, of_items);
                }
            }
        }
        _ => {}
    }
}
