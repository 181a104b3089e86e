//! `Schema`: a structural schema, read once from a definition.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::formats::Format;
use crate::keywords::members;
use crate::types::Type;

/// How deep schemas nest: as deep as serde_json reads.
pub(crate) const MAX_DEPTH: usize = 128;

/// `additionalProperties`: the members of an object that the schema does not name.
#[derive(Debug, Default)]
pub enum Additional {
    /// Not set: such members are pruned, unless they are preserved.
    #[default]
    Unsaid,
    /// `true`: any value. Members inside of objects are pruned.
    Any,
    /// `false`: none.
    Nothing,
    /// Members of this schema.
    Of(Box<Schema>),
}

impl Additional {
    /// Returns the schema of such members.
    pub fn schema(&self) -> Option<&Schema> {
        match self {
            Self::Of(schema) => Some(schema),
            _ => None,
        }
    }
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListType {
    /// One value.
    #[default]
    Atomic,
    /// No item twice.
    Set,
    /// Objects that keys identify.
    Map,
}

/// One node of a schema.
#[derive(Debug, Default)]
pub struct Schema {
    /// `type`, or `x-kubernetes-int-or-string`.
    pub types: Type,
    /// `nullable`.
    pub nullable: bool,
    /// `format`, if Kubernetes checks it.
    pub format: Option<Format>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded: bool,
    /// `properties`.
    pub properties: BTreeMap<String, Self>,
    /// `additionalProperties`.
    pub additional: Additional,
    /// `items`.
    pub items: Option<Box<Self>>,
    /// `default`.
    pub default: Option<Value>,
    /// `x-kubernetes-list-type`.
    pub list_type: ListType,
    /// `x-kubernetes-list-map-keys`.
    pub list_keys: Vec<String>,
    /// `required`.
    pub required: Vec<String>,
    /// `enum`.
    pub allowed: Vec<Value>,
    /// Bounds of numbers, lengths and counts.
    pub limits: Limits,
    /// `pattern`.
    pub pattern: Option<k8s_cel::Pattern>,
    /// `allOf`.
    pub all_of: Vec<Self>,
    /// `anyOf`.
    pub any_of: Vec<Self>,
    /// `oneOf`.
    pub one_of: Vec<Self>,
    /// `not`.
    pub not: Option<Box<Self>>,
}

/// Bounds of a value.
#[derive(Debug, Default)]
pub struct Limits {
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `maxLength`.
    pub max_length: Option<i64>,
    /// `minLength`.
    pub min_length: Option<i64>,
    /// `maxItems`.
    pub max_items: Option<i64>,
    /// `minItems`.
    pub min_items: Option<i64>,
    /// `maxProperties`.
    pub max_properties: Option<i64>,
    /// `minProperties`.
    pub min_properties: Option<i64>,
}

impl Schema {
    /// Reads an `openAPIV3Schema`.
    ///
    /// # Errors
    ///
    /// It is no schema: it has a wrong type, or nests too deep.
    pub fn read(schema: &Value) -> Result<Self, String> {
        Self::read_at(schema, 0)
    }

    fn read_at(schema: &Value, depth: usize) -> Result<Self, String> {
        if depth > MAX_DEPTH {
            return Err(format!("a schema nests deeper than {MAX_DEPTH} levels"));
        }
        let inner = |schema: &Value| Self::read_at(schema, depth + 1);
        let boxed = |member: &str| match schema.get(member) {
            Some(schema @ Value::Object(_)) => inner(schema).map(|schema| Some(Box::new(schema))),
            _ => Ok(None),
        };
        let several = |member: &str| {
            let schemas = schema.get(member).and_then(Value::as_array);
            schemas.into_iter().flatten().map(inner).collect::<Result<Vec<_>, _>>()
        };
        let text = |member: &str| schema.get(member).and_then(Value::as_str).unwrap_or_default();
        let flag = |member: &str| schema.get(member).and_then(Value::as_bool).unwrap_or(false);
        let float = |member: &str| schema.get(member).and_then(Value::as_f64);
        let count = |member: &str| schema.get(member).and_then(Value::as_i64);
        let names = |member: &str| {
            let names = schema.get(member).and_then(Value::as_array).into_iter().flatten();
            names.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let named = text("type");
        let types = match Type::read(named) {
            _ if flag("x-kubernetes-int-or-string") => Type::IntOrString,
            Some(named) => named,
            None => return Err(format!("{named:?} is no type")),
        };
        // A loop: its frames on the stack are small.
        let mut properties = BTreeMap::new();
        for (name, member) in members(schema, "properties") {
            properties.insert(name.clone(), inner(member)?);
        }
        let additional = match schema.get("additionalProperties") {
            None | Some(Value::Null) => Additional::Unsaid,
            Some(Value::Bool(true)) => Additional::Any,
            Some(Value::Bool(false)) => Additional::Nothing,
            Some(schema) => Additional::Of(Box::new(inner(schema)?)),
        };
        Ok(Self {
            types,
            nullable: flag("nullable"),
            format: Format::read(types, text("format")),
            preserve: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            properties,
            additional,
            items: boxed("items")?,
            // `default: null` is no default: Go cannot tell it from none.
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            list_type: match text("x-kubernetes-list-type") {
                "set" => ListType::Set,
                "map" => ListType::Map,
                _ => ListType::Atomic,
            },
            list_keys: names("x-kubernetes-list-map-keys"),
            required: names("required"),
            allowed: schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            limits: Limits {
                maximum: float("maximum"),
                exclusive_maximum: flag("exclusiveMaximum"),
                minimum: float("minimum"),
                exclusive_minimum: flag("exclusiveMinimum"),
                multiple_of: float("multipleOf"),
                max_length: count("maxLength"),
                min_length: count("minLength"),
                max_items: count("maxItems"),
                min_items: count("minItems"),
                max_properties: count("maxProperties"),
                min_properties: count("minProperties"),
            },
            pattern: Some(text("pattern"))
                .filter(|pattern| !pattern.is_empty())
                .map(k8s_cel::Pattern::new),
            all_of: several("allOf")?,
            any_of: several("anyOf")?,
            one_of: several("oneOf")?,
            not: boxed("not")?,
        })
    }

    /// Returns the schema of an object's member: by its name, or that of additional ones.
    pub fn member(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional.schema())
    }
}
