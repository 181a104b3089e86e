//! Validation of the versions of a definition: schemas, subresources, columns, selectable fields
//! (pkg/apis/apiextensions/validation of k8s.io/apiextensions-apiserver).

use serde_json::Value;

use crate::api::status::{FieldError, FieldErrors};
use crate::strategy::crd::members::{flag, list, schema_of, text};
use crate::strategy::crd::version_paths::{check_column, check_scale, check_selectable};
use k8s_schema::{Path, check_schema, check_schema_with_status, subschemas};
use k8s_value::names;

/// Whether a schema sets a default anywhere.
pub(super) fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some_and(|value| !value.is_null())
        || subschemas(schema).any(has_default)
}

/// A member that all versions share. Upstream stores it once, and its errors name that place
/// (`Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec`).
fn shared<'a>(spec: &'a Value, member: &str) -> Option<&'a Value> {
    let versions = list(spec, "versions");
    let first = versions.first()?.get(member).filter(|value| !value.is_null())?;
    versions.iter().all(|version| version.get(member) == Some(first)).then_some(first)
}

/// Validates the members that all versions share.
pub(super) fn check_shared(spec: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    let first = text(list(spec, "versions").first().unwrap_or(&Value::Null), "name");
    if let Some(why) = names::wrong_dns_1035_label(first).filter(|_| !first.is_empty()) {
        causes.push(FieldError::invalid(path.field("version").to_string(), first, why));
    }
    let schema = shared(spec, "schema").and_then(|schema| schema.get("openAPIV3Schema"));
    let has_status = list(spec, "versions").iter().any(|version| {
        version.get("subresources").and_then(|all| all.get("status")).is_some_and(Value::is_object)
    });
    if let Some(schema) = schema {
        let place = path.field("validation");
        let check = if has_status { check_schema_with_status } else { check_schema };
        check(schema, &place.field("openAPIV3Schema"), causes);
    }
    if let Some(subresources) = shared(spec, "subresources") {
        check_scale(subresources.get("scale"), &path.field("subresources"), causes);
    }
    let columns = path.field("additionalPrinterColumns");
    let shared_columns = shared(spec, "additionalPrinterColumns").and_then(Value::as_array);
    for (at, column) in shared_columns.into_iter().flatten().enumerate() {
        check_column(column, &columns.index(at), causes);
    }
    let at_fields = path.field("selectableFields");
    match (shared(spec, "selectableFields").and_then(Value::as_array), schema) {
        (Some(fields), Some(schema)) => check_selectable(fields, schema, &at_fields, causes),
        (Some(_), None) => {
            let why = "may only be set when validations.schema is included";
            causes.push(FieldError::invalid(at_fields.to_string(), "", why));
        }
        (None, _) => {}
    }
}

pub(super) fn check_version(
    version: &Value,
    spec: &Value,
    path: &Path<'_>,
    causes: &mut FieldErrors,
) {
    let own = |member: &str| shared(spec, member).is_none();
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        let place = path.field("deprecationWarning").to_string();
        for why in wrong_warning(flag(version, "deprecated"), warning) {
            causes.push(FieldError::invalid(place.clone(), warning, &why));
        }
    }
    let subresources = version.get("subresources").unwrap_or(&Value::Null);
    let at_schema = path.field("schema");
    if let Some(schema) = schema_of(version).filter(|_| own("schema")) {
        let has_status = subresources.get("status").is_some_and(Value::is_object);
        let check = if has_status { check_schema_with_status } else { check_schema };
        check(schema, &at_schema.field("openAPIV3Schema"), causes);
    }
    if own("subresources") {
        check_scale(subresources.get("scale"), &path.field("subresources"), causes);
    }
    let columns = path.field("additionalPrinterColumns");
    let own_columns = own("additionalPrinterColumns");
    for (at, column) in
        list(version, "additionalPrinterColumns").iter().enumerate().filter(|_| own_columns)
    {
        check_column(column, &columns.index(at), causes);
    }
    let fields = list(version, "selectableFields");
    if let Some(schema) =
        schema_of(version).filter(|_| own("selectableFields") && !fields.is_empty())
    {
        let at_fields = path.field("selectableFields");
        if own("schema") {
            check_selectable(fields, schema, &at_fields, causes);
        } else {
            let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
            causes.push(FieldError::invalid(at_fields.to_string(), "", why));
        }
    }
}

fn wrong_warning(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut wrong = Vec::new();
    if warning.len() > 256 {
        wrong.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        wrong.push("must not be an empty string".to_owned());
    }
    // The only printable white space is the space.
    let unprintable = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| unprintable(*c)) {
        wrong.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at \
             index {at}"
        ));
    }
    wrong
}
