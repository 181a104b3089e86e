//! The types and bounds that a schema declares to expressions
//! (k8s.io/apiserver/pkg/cel/common/schemas.go).

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_cel::{Declared, Type, escaped};

use crate::schema::Schema;
use crate::types::Type as Named;

/// The most bytes of a request.
const MAX_REQUEST: i64 = 3 * 1024 * 1024;

impl Schema {
    /// Returns the declaration of its values for expressions; `is_root` for the schema of a whole
    /// object. `None` if expressions do not see its values.
    pub fn declared(&self, is_root: bool) -> Option<Arc<Declared>> {
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        let limit = |limit: Option<i64>| limit.map(count);
        let plain =
            |of: Type, max: i64, min_size: i64| Some(Declared::plain(of, count(max), min_size));
        let max_length = self.limits.max_length.map(|limit| limit.max(0));
        match self.types {
            Named::IntOrString => {
                let max = max_length.map_or(MAX_REQUEST - 2, |max| max.saturating_mul(4));
                plain(Type::Dyn, max, 1)
            }
            Named::Array => {
                let items = self.items.as_ref()?;
                let of = items.declared(items.embedded)?;
                Some(Declared::list(of, limit(self.limits.max_items)))
            }
            Named::Object if self.additional.schema().is_some() => {
                let values = self.additional.schema()?;
                let of = values.declared(values.embedded)?;
                Some(Declared::map(of, limit(self.limits.max_properties)))
            }
            Named::Object => Some(object(self, is_root)),
            Named::String => match self.format.map_or("", |format| format.name()) {
                "byte" => plain(Type::Bytes, max_length.unwrap_or(MAX_REQUEST - 2), 2),
                "duration" => plain(Type::Duration, 32, 3),
                "date" => plain(Type::Timestamp, 12, 12),
                "date-time" => plain(Type::Timestamp, 32, 21),
                _ => plain(
                    Type::String,
                    max_length.map_or_else(|| longest(self), |max| max.saturating_mul(4)),
                    2,
                ),
            },
            Named::Boolean => plain(Type::Bool, 0, 4),
            Named::Number => plain(Type::Double, 0, 1),
            Named::Integer => plain(Type::Int, 0, 1),
            Named::Any => None,
        }
    }
}

fn object(schema: &Schema, is_root: bool) -> Arc<Declared> {
    let text = || Declared::plain(Type::String, 3 * 1024 * 1024 - 2, 2);
    let mut members = BTreeMap::new();
    let mut min_size = 2_i64;
    for (name, member) in &schema.properties {
        let implied = is_root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        let Some(of) = member.declared(member.embedded).filter(|_| !implied) else { continue };
        if schema.required.contains(name) && member.default.is_none() {
            let length = i64::try_from(name.len()).unwrap_or(i64::MAX);
            min_size =
                min_size.saturating_add(length).saturating_add(of.min_size()).saturating_add(4);
        }
        if let Some(name) = escaped(name) {
            members.insert(name, of);
        }
    }
    if is_root {
        let of_metadata = ["name", "generateName"].map(|name| (name.to_owned(), text()));
        let metadata = Declared::object(of_metadata.into_iter().collect(), 2);
        members.insert("metadata".to_owned(), metadata);
        members.insert("apiVersion".to_owned(), text());
        members.insert("kind".to_owned(), text());
    }
    Declared::object(members, min_size)
}

/// The most characters of a text without a bound.
fn longest(schema: &Schema) -> i64 {
    let texts = schema.allowed.iter().filter_map(serde_json::Value::as_str);
    let longest = texts.map(|text| i64::try_from(text.len()).unwrap_or(i64::MAX)).max();
    if schema.allowed.is_empty() { MAX_REQUEST - 2 } else { longest.unwrap_or(0) }
}
