//! Validation of the paths of scale, columns and selectable fields.

use serde_json::Value;

use crate::api::status::{FieldError, FieldErrors};
use crate::strategy::crd::members::text;
use k8s_schema::{Path, Step, find_field};

const MAX_SELECTABLE: usize = 8;

pub(super) fn check_scale(scale: Option<&Value>, path: &Path<'_>, causes: &mut FieldErrors) {
    let Some(scale) = scale.filter(|scale| scale.is_object()) else { return };
    for (name, below) in [("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")] {
        let place = format!("{path}.scale.{name}");
        let root = below.trim_end_matches('.');
        match text(scale, name) {
            "" => causes.push(FieldError::required(place, "")),
            said if !said.starts_with('.') => causes.push(FieldError::invalid(place, said, SIMPLE)),
            said if !said.starts_with(below) => {
                causes.push(FieldError::invalid(
                    place,
                    said,
                    &format!("should be a json path under {root}"),
                ));
            }
            _ => {}
        }
    }
    let said = text(scale, "labelSelectorPath");
    let place = format!("{path}.scale.labelSelectorPath");
    if said.is_empty() {
    } else if !said.starts_with('.') {
        causes.push(FieldError::invalid(place, said, SIMPLE));
    } else if !said.starts_with(".spec.") && !said.starts_with(".status.") {
        causes.push(FieldError::invalid(
            place,
            said,
            "should be a json path under either .spec or .status",
        ));
    }
}

const SIMPLE: &str = "must be a simple json path starting with .";

pub(super) fn check_column(column: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] =
        ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let field = |name: &str| path.field(name).to_string();
    if text(column, "name").is_empty() {
        causes.push(FieldError::required(field("name"), ""));
    }
    let types = format!("must be one of {}", TYPES.join(","));
    match text(column, "type") {
        "" => causes.push(FieldError::required(field("type"), &types)),
        known if TYPES.contains(&known) => {}
        other => causes.push(FieldError::invalid(field("type"), other, &types)),
    }
    let format = text(column, "format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let why = format!("must be one of {}", FORMATS.join(","));
        causes.push(FieldError::invalid(field("format"), format, &why));
    }
    match text(column, "jsonPath") {
        "" => causes.push(FieldError::required(field("JSONPath"), "")),
        said if !said.starts_with('.') => {
            causes.push(FieldError::invalid(field("JSONPath"), said, SIMPLE))
        }
        _ => {}
    }
}

pub(super) fn check_selectable(
    fields: &[Value],
    schema: &Value,
    path: &Path<'_>,
    causes: &mut FieldErrors,
) {
    let mut seen = Vec::new();
    for (at, selectable) in fields.iter().enumerate() {
        let place = path.index(at);
        let place = place.field("jsonPath").to_string();
        let said = text(selectable, "jsonPath");
        if said.is_empty() {
            causes.push(FieldError::required(place, ""));
            continue;
        }
        let (steps, found) = match find_field(said, schema, false) {
            Ok(found) => found,
            Err(why) => {
                causes.push(FieldError::invalid(
                    place,
                    said,
                    &format!("is an invalid path: {why}"),
                ));
                continue;
            }
        };
        if steps.first() == Some(&Step::Member("metadata".to_owned())) {
            causes.push(FieldError::invalid(
                place.clone(),
                said,
                "must not point to fields in metadata",
            ));
        }
        if !matches!(text(found, "type"), "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string \
                       fields and strings with formats are allowed.";
            causes.push(FieldError::invalid(place.clone(), said, why));
        }
        if seen.contains(&steps) {
            causes.push(FieldError::duplicate(place, &Value::from(said)));
        } else {
            seen.push(steps);
        }
    }
    if seen.len() > MAX_SELECTABLE {
        let size = i64::try_from(seen.len()).unwrap_or(i64::MAX);
        causes.push(FieldError::too_many(path.to_string(), size, 8));
    }
}
