//! What a schema says of the type and of the size of its values
//! (k8s.io/apiserver/pkg/cel/common/schemas.go).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cel::names::{escaped, member};
use crate::cel::types::{ObjectType, Type};
use crate::schema::{Schema, Type as Named};

/// The most bytes of a request, for these estimates.
const MAX_REQUEST: i64 = 3 * 1024 * 1024;

/// A type with the bounds of its values.
#[derive(Debug)]
pub(crate) struct Declared {
    kind: Kind,
    /// As many elements or characters it may have; 0 if it has none.
    pub(super) max_elements: u64,
    /// As many bytes it takes at least, as JSON.
    min_size: i64,
}

#[derive(Debug)]
enum Kind {
    Plain(Type),
    List(Arc<Declared>),
    Map(Arc<Declared>),
    Object(BTreeMap<String, Arc<Declared>>),
}

impl Declared {
    /// What a schema declares; `is_root`: it is of a whole object. Nothing: expressions do not see
    /// its values.
    pub(crate) fn of(schema: &Schema, is_root: bool) -> Option<Arc<Self>> {
        let limit = |limit: Option<i64>| limit.map(|limit| limit.max(0));
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        let plain = |of: Type, max: i64, min_size: i64| {
            Some(Arc::new(Self { kind: Kind::Plain(of), max_elements: count(max), min_size }))
        };
        let max_length = limit(schema.limits.max_length);
        match schema.types {
            Named::IntOrString => {
                let max = max_length.map_or(MAX_REQUEST - 2, |max| max.saturating_mul(4));
                plain(Type::Dyn, max, 1)
            }
            Named::Array => {
                let items = schema.items.as_ref()?;
                let of = Self::of(items, items.embedded)?;
                let most = (MAX_REQUEST - 2) / of.min_size.saturating_add(1);
                let max = limit(schema.limits.max_items).unwrap_or(most);
                Some(Arc::new(Self { kind: Kind::List(of), max_elements: count(max), min_size: 2 }))
            }
            Named::Object if schema.additional.schema().is_some() => {
                let values = schema.additional.schema()?;
                let of = Self::of(values, values.embedded)?;
                let most = (MAX_REQUEST - 2) / of.min_size.saturating_add(6);
                let max = limit(schema.limits.max_properties).unwrap_or(most);
                Some(Arc::new(Self { kind: Kind::Map(of), max_elements: count(max), min_size: 2 }))
            }
            Named::Object => Some(Arc::new(Self::object(schema, is_root))),
            Named::String => match schema.format.map_or("", |format| format.name()) {
                "byte" => plain(Type::Bytes, max_length.unwrap_or(MAX_REQUEST - 2), 2),
                "duration" => plain(Type::Duration, 32, 3),
                "date" => plain(Type::Timestamp, 12, 12),
                "date-time" => plain(Type::Timestamp, 32, 21),
                _ => plain(
                    Type::String,
                    max_length.map_or_else(|| longest(schema), |max| max.saturating_mul(4)),
                    2,
                ),
            },
            Named::Boolean => plain(Type::Bool, 0, 4),
            Named::Number => plain(Type::Double, 0, 1),
            Named::Integer => plain(Type::Int, 0, 1),
            Named::Any => None,
        }
    }

    fn object(schema: &Schema, is_root: bool) -> Self {
        let text = || {
            Arc::new(Self {
                kind: Kind::Plain(Type::String),
                max_elements: 3 * 1024 * 1024 - 2,
                min_size: 2,
            })
        };
        let mut members = BTreeMap::new();
        let mut min_size = 2_i64;
        for (name, member) in &schema.properties {
            let implied = is_root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
            let Some(of) = Self::of(member, member.embedded).filter(|_| !implied) else { continue };
            if schema.required.contains(name) && member.default.is_none() {
                let length = i64::try_from(name.len()).unwrap_or(i64::MAX);
                min_size =
                    min_size.saturating_add(length).saturating_add(of.min_size).saturating_add(4);
            }
            if let Some(name) = escaped(name) {
                members.insert(name, of);
            }
        }
        if is_root {
            let of_metadata = ["name", "generateName"].map(|name| (name.to_owned(), text()));
            let metadata = Self {
                kind: Kind::Object(of_metadata.into_iter().collect()),
                max_elements: 0,
                min_size: 2,
            };
            members.insert("metadata".to_owned(), Arc::new(metadata));
            members.insert("apiVersion".to_owned(), text());
            members.insert("kind".to_owned(), text());
        }
        Self { kind: Kind::Object(members), max_elements: 0, min_size }
    }

    /// Its type; objects are named by where they are.
    pub(super) fn named(&self, name: &str) -> Type {
        match &self.kind {
            Kind::Plain(of) => of.clone(),
            Kind::List(of) => Type::List(of.named(&format!("{name}.@idx")).into()),
            Kind::Map(of) => {
                Type::Map(Type::String.into(), of.named(&format!("{name}.@elem")).into())
            }
            Kind::Object(members) => {
                let of = |(member, of): (&String, &Arc<Self>)| {
                    (member.clone(), of.named(&format!("{name}.{member}")))
                };
                Type::Object(Arc::new(ObjectType {
                    name: name.to_owned(),
                    members: members.iter().map(of).collect(),
                }))
            }
        }
    }

    /// What is declared of a member, by the name that expressions use.
    pub(crate) fn member(&self, name: &str) -> Option<&Arc<Self>> {
        match &self.kind {
            Kind::Object(members) => member(name, |name| members.get(name)),
            _ => None,
        }
    }

    /// What is declared of the elements of a list, or of the values of a map.
    pub(crate) fn element(&self) -> Option<&Arc<Self>> {
        match &self.kind {
            Kind::List(of) | Kind::Map(of) => Some(of),
            _ => None,
        }
    }

    /// As often it may be in an object, if nothing around it has a bound.
    pub(crate) fn max_cardinality(&self) -> u64 {
        u64::try_from(MAX_REQUEST / self.min_size.saturating_add(1)).unwrap_or(0)
    }
}

/// As many characters a text without a bound may have.
fn longest(schema: &Schema) -> i64 {
    let texts = schema.allowed.iter().filter_map(serde_json::Value::as_str);
    let longest = texts.map(|text| i64::try_from(text.len()).unwrap_or(i64::MAX)).max();
    if schema.allowed.is_empty() { MAX_REQUEST - 2 } else { longest.unwrap_or(0) }
}
