//! The schema of a custom kind, read once from its definition: what values look like, which members
//! are kept, which are filled in. Pure: values in, values and causes out. Whether a definition may
//! say what it says is another room: `definition/`.

mod check;
mod correlation;
mod declared;
mod embedded;
mod fill;
mod formats;
mod lists;
mod path;
mod prune;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

pub(crate) use crate::schema::check::{check, check_at};
pub(crate) use crate::schema::correlation::Old;
pub(crate) use crate::schema::embedded::{check_embedded, coerce};
pub(crate) use crate::schema::fill::fill;
pub(crate) use crate::schema::formats::Format;
pub(crate) use crate::schema::lists::check_lists;
pub(crate) use crate::schema::path::Path;
pub(crate) use crate::schema::prune::{prune, prune_nulls, prune_value};

/// How deep schemas nest: what is read from JSON cannot be deeper than serde_json reads (128), what
/// is built by hand could.
const MAX_DEPTH: usize = 128;

/// The type that a schema names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Type {
    /// None: any value.
    #[default]
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    /// `x-kubernetes-int-or-string`.
    IntOrString,
}

impl Type {
    fn read(name: &str) -> Option<Self> {
        Some(match name {
            "" => Self::Any,
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// As error messages say it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "integer,string",
        }
    }
}

/// What may stand beside the named members of an object.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    /// It is not said: such members are pruned, unless they are preserved.
    #[default]
    Unsaid,
    /// `true`: anything, but nothing is known of it, so what is inside of objects is pruned.
    Any,
    /// `false`.
    Nothing,
    /// Members of this schema.
    Of(Box<Schema>),
}

impl Additional {
    pub(crate) fn schema(&self) -> Option<&Schema> {
        match self {
            Self::Of(schema) => Some(schema),
            _ => None,
        }
    }
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    Map,
}

/// One node of a schema.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) types: Type,
    pub(crate) nullable: bool,
    pub(crate) format: Option<Format>,
    pub(crate) preserve: bool,
    pub(crate) embedded: bool,
    pub(crate) properties: BTreeMap<String, Self>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Self>>,
    pub(crate) default: Option<Value>,
    pub(crate) list_type: ListType,
    pub(crate) list_keys: Vec<String>,
    pub(crate) required: Vec<String>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) limits: Limits,
    pub(crate) pattern: Option<k8s_cel::Pattern>,
    pub(crate) all_of: Vec<Self>,
    pub(crate) any_of: Vec<Self>,
    pub(crate) one_of: Vec<Self>,
    pub(crate) not: Option<Box<Self>>,
}

/// Bounds of a value.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
}

impl Schema {
    /// Reads `openAPIV3Schema`.
    ///
    /// # Errors
    ///
    /// Says what of it is no schema at all: a wrong type, or nesting without end.
    pub(crate) fn read(schema: &Value) -> Result<Self, String> {
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
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
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
            properties: properties
                .map(|(name, schema)| Ok((name.clone(), inner(schema)?)))
                .collect::<Result<_, String>>()?,
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

    /// The schema of an object's member: by its name, or by what holds for the others.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional.schema())
    }
}
