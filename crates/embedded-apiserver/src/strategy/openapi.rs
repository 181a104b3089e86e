//! Recorded OpenAPI schemas of the built-in kinds.

use std::sync::LazyLock;

use k8s_merge::Schema;
use k8s_merge::managed_fields::Types;
use serde_json::{Map, Value};

use crate::api::kind::Kind;
use crate::api::recorded;

static SCHEMAS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(&recorded::SCHEMAS).unwrap_or_default());

/// The name of Scale's schema, of `autoscaling/v1`.
pub(crate) const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

/// All recorded schemas, by name.
pub(crate) fn all() -> &'static Map<String, Value> {
    &SCHEMAS
}

/// The schema's name of a built-in kind.
pub(crate) fn name_of(kind: &Kind) -> Option<&'static str> {
    let is = |of: &Value| {
        of["group"] == kind.group() && of["version"] == kind.version() && of["kind"] == kind.kind()
    };
    let mut named = SCHEMAS.iter().filter(|(_, schema)| {
        schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|all| all.iter().any(is))
    });
    named.next().map(|(name, _)| name.as_str())
}

/// The schema of a built-in kind.
pub(crate) fn schema_of(kind: &Kind) -> Option<Schema<'static>> {
    Some(Schema::new(SCHEMAS.get(name_of(kind)?)?, &SCHEMAS))
}

/// The field types of a definition's schema.
pub(crate) fn types_of(schema: &Value) -> Types {
    Types::of_custom_resource(Schema::new(schema, &SCHEMAS))
}

/// The field types of a Scale.
pub(crate) fn types_of_scale() -> Types {
    let unknown = Value::Null;
    let schema = SCHEMAS.get(SCALE).unwrap_or(&unknown);
    Types::of_schema(Schema::new(schema, &SCHEMAS))
}

/// The reference of a schema, direct or in its only `allOf`.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    Schema::new(schema, &SCHEMAS).reference()
}
