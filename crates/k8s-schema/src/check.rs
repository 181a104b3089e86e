//! `check_schema`: whether a definition may have a schema
//! (`ValidateCustomResourceDefinitionOpenAPISchema` and what is called beside it in
//! pkg/apis/apiextensions/validation of k8s.io/apiextensions-apiserver).

mod defaults;
mod node;
mod rules;
mod structural;

use serde_json::Value;

use crate::keywords::{flag, has, subschemas, text};
use crate::path::Path;
use crate::schema::{MAX_DEPTH, Schema};
use k8s_value::{FieldError, FieldErrors};

pub use crate::check::rules::unsupported_in_rules;

/// Checks an `openAPIV3Schema`: that it is structural, its defaults, its keywords, then the types
/// and the cost of its rules. `path` is its place in the definition.
///
/// ```
/// use k8s_schema::{Path, check_schema};
/// use k8s_value::FieldErrors;
///
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": {"size": {"type": "integer", "default": "large"}, "any": {}},
/// });
/// let mut errors = FieldErrors::default();
/// check_schema(&schema, &Path::Root.field("schema"), &mut errors);
/// let why = "must not be empty for specified object fields";
/// assert_eq!(
///     errors.as_slice()[0].to_string(),
///     format!("schema.properties[any].type: Required value: {why}"),
/// );
/// ```
#[doc(alias = "ValidateCustomResourceDefinitionOpenAPISchema")]
pub fn check_schema(schema: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    if nests_too_deep(schema, 0) {
        let why = format!("nests deeper than {MAX_DEPTH} levels");
        causes.push(FieldError::invalid(path.to_string(), "", &why));
        return;
    }
    if flag(schema, "nullable") {
        let place = path.field("nullable").to_string();
        causes.push(FieldError::forbidden(place, "nullable cannot be true at the root"));
    }
    let unsupported = structural::unsupported(schema);
    let mut structural = None;
    if unsupported.is_none() {
        let mut wrong = structural::check(schema, path);
        let parsed = Schema::read(schema).ok().filter(|_| wrong.is_empty());
        if let Some(parsed) = &parsed {
            defaults::check(parsed, path, &mut wrong);
        }
        structural = parsed.filter(|_| wrong.is_empty());
        causes.append(wrong);
    }
    node::check(schema, path, causes);
    if let Some(parsed) = structural {
        rules::check(schema, &parsed, path, causes);
    }
    if let Some(why) = unsupported.filter(|_| !rules::has_errors(causes, path)) {
        causes.push(FieldError::invalid(path.to_string(), "", &why));
    }
}

fn nests_too_deep(schema: &Value, depth: usize) -> bool {
    depth > MAX_DEPTH || subschemas(schema).any(|inner| nests_too_deep(inner, depth + 1))
}

/// Keywords that the root of a schema may have beside a status subresource.
const BESIDE_STATUS: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// As [`check_schema`], for a version with a status subresource: fewer keywords are allowed at the
/// root.
pub fn check_schema_with_status(schema: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    let keywords = schema.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let stranger = keywords
        .filter(|name| has(schema, name))
        .any(|name| BESIDE_STATUS.iter().all(|(known, _)| *known != name));
    let named = text(schema, "type");
    if !named.is_empty() && named != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the \
                   status subresource is enabled";
        causes.push(FieldError::invalid(path.field("type").to_string(), named, why));
    } else if stranger {
        let allowed: Vec<&str> = BESIDE_STATUS.iter().map(|(_, name)| *name).collect();
        let why = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is \
             enabled",
            allowed.join(" ")
        );
        causes.push(FieldError::invalid_json(path.to_string(), schema, &why));
    }
    check_schema(schema, path, causes);
}
