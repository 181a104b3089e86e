//! The versions of a definition as the real server shows them in its messages: in its internal
//! form, member by member in the order of the Go types (pkg/apis/apiextensions/types.go and
//! types_jsonschema.go of k8s.io/apiextensions-apiserver). Pure.

use serde_json::Value;

use crate::definition::structural::flag;
use k8s_value::go_json::go_json;

/// How a member of a Go struct is written.
#[derive(Debug, Clone, Copy)]
enum As {
    /// A text that is empty when nobody has said it.
    Text,
    Flag,
    Number,
    /// Null when nobody has said it.
    Value,
    Struct(Struct),
    List(Struct),
    Schema,
    Schemas,
    /// Schemas by name.
    Named,
    /// A schema, or whether there may be anything.
    SchemaOrBool,
    /// A schema, or several of them.
    SchemaOrSchemas,
}

/// The members of a Go struct: in JSON, in Go.
type Struct = &'static [(&'static str, &'static str, As)];

const COLUMN: Struct = &[
    ("name", "Name", As::Text),
    ("type", "Type", As::Text),
    ("format", "Format", As::Text),
    ("description", "Description", As::Text),
    ("priority", "Priority", As::Number),
    ("jsonPath", "JSONPath", As::Text),
];
const SELECTABLE: Struct = &[("jsonPath", "JSONPath", As::Text)];
const SUBRESOURCES: Struct =
    &[("status", "Status", As::Struct(&[])), ("scale", "Scale", As::Struct(SCALE))];
const SCALE: Struct = &[
    ("specReplicasPath", "SpecReplicasPath", As::Text),
    ("statusReplicasPath", "StatusReplicasPath", As::Text),
    ("labelSelectorPath", "LabelSelectorPath", As::Value),
];
const DOCS: Struct = &[("description", "Description", As::Text), ("url", "URL", As::Text)];
const RULE: Struct = &[
    ("rule", "Rule", As::Text),
    ("message", "Message", As::Text),
    ("messageExpression", "MessageExpression", As::Text),
    ("reason", "Reason", As::Value),
    ("fieldPath", "FieldPath", As::Text),
    ("optionalOldSelf", "OptionalOldSelf", As::Value),
];
const SCHEMA: Struct = &[
    ("id", "ID", As::Text),
    ("$schema", "Schema", As::Text),
    ("$ref", "Ref", As::Value),
    ("description", "Description", As::Text),
    ("type", "Type", As::Text),
    ("nullable", "Nullable", As::Flag),
    ("format", "Format", As::Text),
    ("title", "Title", As::Text),
    ("default", "Default", As::Value),
    ("maximum", "Maximum", As::Value),
    ("exclusiveMaximum", "ExclusiveMaximum", As::Flag),
    ("minimum", "Minimum", As::Value),
    ("exclusiveMinimum", "ExclusiveMinimum", As::Flag),
    ("maxLength", "MaxLength", As::Value),
    ("minLength", "MinLength", As::Value),
    ("pattern", "Pattern", As::Text),
    ("maxItems", "MaxItems", As::Value),
    ("minItems", "MinItems", As::Value),
    ("uniqueItems", "UniqueItems", As::Flag),
    ("multipleOf", "MultipleOf", As::Value),
    ("enum", "Enum", As::Value),
    ("maxProperties", "MaxProperties", As::Value),
    ("minProperties", "MinProperties", As::Value),
    ("required", "Required", As::Value),
    ("items", "Items", As::SchemaOrSchemas),
    ("allOf", "AllOf", As::Schemas),
    ("oneOf", "OneOf", As::Schemas),
    ("anyOf", "AnyOf", As::Schemas),
    ("not", "Not", As::Schema),
    ("properties", "Properties", As::Named),
    ("additionalProperties", "AdditionalProperties", As::SchemaOrBool),
    ("patternProperties", "PatternProperties", As::Named),
    ("dependencies", "Dependencies", As::Value),
    ("additionalItems", "AdditionalItems", As::SchemaOrBool),
    ("definitions", "Definitions", As::Named),
    ("externalDocs", "ExternalDocs", As::Struct(DOCS)),
    ("example", "Example", As::Value),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", As::Value),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", As::Flag),
    ("x-kubernetes-int-or-string", "XIntOrString", As::Flag),
    ("x-kubernetes-list-map-keys", "XListMapKeys", As::Value),
    ("x-kubernetes-list-type", "XListType", As::Value),
    ("x-kubernetes-map-type", "XMapType", As::Value),
    ("x-kubernetes-validations", "XValidations", As::List(RULE)),
];

/// `spec.versions`. What all of them say alike is with the definition there, as it is whenever
/// there is one version: `shared` says of a member whether it is.
pub(super) fn versions(versions: &Value, shared: impl Fn(&str) -> bool) -> String {
    let Value::Array(versions) = versions else { return "null".to_owned() };
    let shown = versions.iter().map(|version| {
        let own = |name: &str| version.get(name).filter(|_| !shared(name)).unwrap_or(&Value::Null);
        let schema = match own("schema") {
            Value::Object(schema) => {
                let schema = schema.get("openAPIV3Schema").unwrap_or(&Value::Null);
                format!("{{\"OpenAPIV3Schema\":{}}}", write(As::Schema, schema))
            }
            _ => "null".to_owned(),
        };
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{schema},\
             \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            write(As::Text, version.get("name").unwrap_or(&Value::Null)),
            flag(version, "served"),
            flag(version, "storage"),
            flag(version, "deprecated"),
            go_json(version.get("deprecationWarning").unwrap_or(&Value::Null)),
            write(As::Struct(SUBRESOURCES), own("subresources")),
            write(As::List(COLUMN), own("additionalPrinterColumns")),
            write(As::List(SELECTABLE), own("selectableFields")),
        )
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(","))
}

/// A schema.
pub(super) fn schema(schema: &Value) -> String {
    write(As::Schema, schema)
}

/// A rule of a schema.
pub(super) fn rule(rule: &Value) -> String {
    write(As::Struct(RULE), rule)
}

fn write(form: As, value: &Value) -> String {
    match (form, value) {
        (As::Text, Value::Null) => "\"\"".to_owned(),
        (As::Flag, _) => (*value == Value::Bool(true)).to_string(),
        (As::Number, Value::Null) => "0".to_owned(),
        (As::Struct(members), Value::Object(_)) => {
            let members = members.iter().map(|(name, go, form)| {
                format!("\"{go}\":{}", write(*form, value.get(name).unwrap_or(&Value::Null)))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        (As::Schema, _) => write(As::Struct(SCHEMA), value),
        (As::List(item), Value::Array(items)) => list(As::Struct(item), items),
        (As::Schemas, Value::Array(items)) => list(As::Schema, items),
        (As::Named, Value::Object(schemas)) => {
            let schemas = schemas
                .iter()
                .map(|(name, schema)| format!("{}:{}", go_json(name), write(As::Schema, schema)));
            format!("{{{}}}", schemas.collect::<Vec<_>>().join(","))
        }
        (As::SchemaOrBool, Value::Bool(allows)) => {
            format!("{{\"Allows\":{allows},\"Schema\":null}}")
        }
        (As::SchemaOrBool, Value::Object(_)) => {
            format!("{{\"Allows\":true,\"Schema\":{}}}", write(As::Schema, value))
        }
        (As::SchemaOrSchemas, Value::Object(_)) => {
            format!("{{\"Schema\":{},\"JSONSchemas\":null}}", write(As::Schema, value))
        }
        (As::SchemaOrSchemas, Value::Array(_)) => {
            format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", write(As::Schemas, value))
        }
        _ => go_json(value),
    }
}

fn list(item: As, items: &[Value]) -> String {
    format!("[{}]", items.iter().map(|value| write(item, value)).collect::<Vec<_>>().join(","))
}
