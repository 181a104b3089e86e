//! Recorded schemas: which members an object has, of which type, and how patches merge them.

use std::sync::LazyLock;

use k8s_merge::managed_fields::Types;
use serde_json::{Map, Value};

use crate::kind::Kind;
use crate::metadata::Object;
use crate::recorded;

static SCHEMAS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(&recorded::SCHEMAS).unwrap_or_default());

/// The name of Scale's schema, of `autoscaling/v1`.
pub(crate) const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

/// All recorded schemas, by name.
pub(crate) fn all() -> &'static Map<String, Value> {
    &SCHEMAS
}

/// The name of a built-in kind's schema.
pub(crate) fn name_of(kind: &Kind) -> Option<&'static str> {
    kind.builtin?;
    let is = |of: &Value| {
        of["group"] == kind.group() && of["version"] == kind.version() && of["kind"] == kind.kind()
    };
    let mut named = SCHEMAS.iter().filter(|(_, schema)| {
        schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|all| all.iter().any(is))
    });
    named.next().map(|(name, _)| name.as_str())
}

/// The structure of a kind: recorded if it is built in, of its definition otherwise.
pub(crate) fn types_of(kind: &Kind) -> Types {
    if let Some(schema) = name_of(kind).and_then(|name| SCHEMAS.get(name)) {
        let zero = kind.builtin.map(|builtin| builtin.canonical(Object::new(), &mut Vec::new()));
        let zero = zero.and_then(Result::ok).unwrap_or_default();
        return Types::of_schema(k8s_merge::Schema::new(schema, &SCHEMAS)).with_zero(zero);
    }
    let unknown = Value::Object(Map::new());
    let schema = kind.schema().map_or(&unknown, |schema| schema);
    Types::of_custom_resource(k8s_merge::Schema::new(schema, &SCHEMAS))
}

/// The structure of a Scale.
pub(crate) fn types_of_scale() -> Types {
    let unknown = Value::Null;
    let schema = SCHEMAS.get(SCALE).unwrap_or(&unknown);
    Types::of_schema(k8s_merge::Schema::new(schema, &SCHEMAS))
}

/// The name that a schema refers to, by itself or by its only `allOf`.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    k8s_merge::Schema::new(schema, &SCHEMAS).reference()
}

/// The type of a value in an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema(&'static Value);

/// How a patch changes a member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Merging {
    /// Of the member; of a list, of its items.
    pub(crate) schema: Schema,
    /// `patchStrategy`, without `retainKeys`.
    pub(crate) strategy: Strategy,
    /// Items of a list are the same if this member of them is equal.
    pub(crate) key: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// What goes without saying: objects are merged, lists replaced.
    Default,
    Merge,
    Replace,
}

impl Schema {
    /// The schema of a built-in kind.
    pub(crate) fn of(kind: &Kind) -> Option<Self> {
        SCHEMAS.get(name_of(kind)?).map(Self)
    }

    fn resolved(schema: &'static Value) -> Self {
        Self(reference(schema).and_then(|name| SCHEMAS.get(name)).unwrap_or(schema))
    }

    /// The member of an object, and what a patch does with it.
    pub(crate) fn member(self, name: &str) -> Option<Merging> {
        let member = self.0["properties"].get(name)?;
        let strategies = member["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
        let strategy = strategies.split(',').find_map(|word| match word {
            "merge" => Some(Strategy::Merge),
            "replace" => Some(Strategy::Replace),
            _ => None,
        });
        let resolved = Self::resolved(member);
        let schema = resolved.0.get("items").map_or(resolved, Self::resolved);
        Some(Merging {
            schema,
            strategy: strategy.unwrap_or(Strategy::Default),
            key: member["x-kubernetes-patch-merge-key"].as_str(),
        })
    }
}
