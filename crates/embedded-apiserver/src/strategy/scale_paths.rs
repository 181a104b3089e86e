//! Reads the members of an object that its Scale shows.

use serde_json::Value;

use crate::api::kind::ScalePaths;
use crate::api::metadata::Object;
use crate::api::status::{FieldError, FieldErrors};
use k8s_value::go_value::shown;

/// The integer at a path.
pub(crate) fn integer(object: &Object, path: &str) -> Result<Option<i64>, String> {
    match at(object, path)? {
        None => Ok(None),
        Some(Value::Number(number)) if number.is_i64() => Ok(number.as_i64()),
        Some(other) => Err(accessor(path, other, "int64")),
    }
}

/// The value at a path (`NestedFieldNoCopy` of k8s.io/apimachinery).
pub(crate) fn at<'a>(object: &'a Object, path: &str) -> Result<Option<&'a Value>, String> {
    let mut members = object;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let Some(value) = members.get(part) else { return Ok(None) };
        if parts.peek().is_none() {
            return Ok(Some(value));
        }
        match value {
            Value::Object(inner) => members = inner,
            Value::Null => return Ok(None),
            other => {
                let parents: Vec<&str> =
                    path.split('.').take_while(|step| *step != part).chain([part]).collect();
                return Err(accessor(&parents.join("."), other, "map[string]interface {}"));
            }
        }
    }
    Ok(None)
}

pub(crate) fn accessor(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, is) = match value {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(flag) => (flag.to_string(), "bool"),
        Value::Number(number) if number.is_i64() => (shown(value), "int64"),
        Value::Number(_) => (shown(value), "float64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Array(_) => (value.to_string(), "[]interface {}"),
        Value::Object(_) => (value.to_string(), "map[string]interface {}"),
    };
    format!(".{path} accessor error: {shown} is of the type {is}, expected {wanted}")
}

/// Validates the members that a Scale shows (`ValidateScaleSpec`, `ValidateScaleStatus` of
/// k8s.io/apiextensions-apiserver).
pub(crate) fn validate(
    paths: &ScalePaths,
    object: &Object,
    of_status: bool,
    causes: &mut FieldErrors,
) {
    let mut number = |path: &str| {
        let field = format!(".{path}");
        let found = match integer(object, path) {
            Ok(found) => found.unwrap_or(0),
            Err(why) => return causes.push(FieldError::invalid_shown(field, "0", &why)),
        };
        if found < 0 {
            causes.push(FieldError::invalid_shown(
                field,
                &found.to_string(),
                "should be a non-negative integer",
            ));
        } else if found > i64::from(i32::MAX) {
            let why = format!("should be less than or equal to {}", i32::MAX);
            causes.push(FieldError::invalid_shown(field, &found.to_string(), &why));
        }
    };
    if !of_status {
        number(&paths.spec_replicas);
    }
    number(&paths.status_replicas);
    if let Some(path) = &paths.selector {
        let why = match at(object, path) {
            Ok(None | Some(Value::String(_))) => return,
            Ok(Some(other)) => accessor(path, other, "string"),
            Err(why) => why,
        };
        causes.push(FieldError::invalid_shown(format!(".{path}"), "\"\"", &why));
    }
}
