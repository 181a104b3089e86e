//! The scale subresource: `autoscaling/v1` Scale as a view of the members that a kind names for it.

use api_front::Body;
use http::{Method, Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::kind::ScalePaths;
use crate::metadata::{self, Object};
use crate::rest::call::Call;
use crate::rest::get::{check_path_name, key_of};
use crate::rest::version::{parse_version, wait_for};
use crate::rest::{rescale, write};
use crate::status::{FieldError, FieldErrors, Status, json_response};
use crate::stored::Form;
use k8s_value::go_value::shown;

/// Answers a request to `.../NAME/scale`.
pub(crate) async fn serve(call: Call<'_>, form: Form) -> Result<Response<Body>, Status> {
    let Call { api, target, query, request, .. } = call;
    let (kind, name) = (call.kind(), call.name());
    let Some(paths) = kind.scale_paths() else { return Err(Status::no_such_resource()) };
    check_path_name(name)?;
    match *request.method() {
        Method::GET => {
            let version = query.get("resourceVersion").unwrap_or_default();
            let revision =
                parse_version(version).map_err(|why| Status::unknown(why.of_option()))?;
            wait_for(api, revision).await?;
            let found = api.store.get(&kind.storage, &key_of(target, name));
            let found = found.ok_or_else(|| Status::not_found(kind, name))?;
            let (scale, has_replicas) = read(paths, &write::shown(kind, &found))?;
            if !has_replicas {
                let why =
                    format!("the spec replicas field \".{}\" does not exist", paths.spec_replicas);
                return Err(Status::internal(&why));
            }
            Ok(response(&scale, form))
        }
        Method::PUT | Method::PATCH => rescale::write(call, paths, form),
        _ => Err(Status::method_not_allowed()),
    }
}

/// A Scale as it is sent.
pub(super) fn response(scale: &Value, form: Form) -> Response<Body> {
    let shown = match form {
        Form::Full => scale.to_string(),
        Form::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": scale.get("metadata"),
        })
        .to_string(),
    };
    json_response(StatusCode::OK, shown)
}

/// An integer at a path, if there is one.
fn integer(object: &Object, path: &str) -> Result<Option<i64>, String> {
    match at(object, path)? {
        None => Ok(None),
        Some(Value::Number(number)) if number.is_i64() => Ok(number.as_i64()),
        Some(other) => Err(accessor(path, other, "int64")),
    }
}

/// The value at a path, as `NestedFieldNoCopy` of k8s.io/apimachinery finds it.
fn at<'a>(object: &'a Object, path: &str) -> Result<Option<&'a Value>, String> {
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

fn accessor(path: &str, value: &Value, wanted: &str) -> String {
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

/// The Scale of an object, and whether it says how many replicas it wants.
pub(super) fn read(paths: &ScalePaths, object: &Object) -> Result<(Value, bool), Status> {
    let wanted = integer(object, &paths.spec_replicas).map_err(Status::unknown)?;
    let seen = integer(object, &paths.status_replicas).map_err(Status::unknown)?;
    let selector = match &paths.selector {
        None => None,
        Some(path) => match at(object, path).map_err(Status::unknown)? {
            None => None,
            Some(Value::String(selector)) => {
                Some(selector.clone()).filter(|selector| !selector.is_empty())
            }
            Some(Value::Object(selector)) => Some(selector_text(selector)),
            Some(other) => return Err(Status::unknown(accessor(path, other, "string"))),
        },
    };
    let mut kept = Map::new();
    for member in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata::get(object, member) {
            kept.insert(member.to_owned(), value.clone());
        }
    }
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": kept,
        "spec": {},
        "status": { "replicas": seen.unwrap_or(0) },
    });
    // Nothing is left out of Go's output as zero is of a member `omitempty`.
    if let Some(wanted) = wanted.filter(|wanted| *wanted != 0) {
        scale["spec"]["replicas"] = wanted.into();
    }
    if let Some(selector) = selector {
        scale["status"]["selector"] = selector.into();
    }
    Ok((scale, wanted.is_some()))
}

/// A `LabelSelector` as one text, as `FormatLabelSelector` of k8s.io/apimachinery: in the order of
/// its keys.
fn selector_text(selector: &Map<String, Value>) -> String {
    let text = |value: &'_ Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut parts: Vec<(String, String)> = Vec::new();
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    parts.extend(labels.map(|(key, value)| {
        (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default()))
    }));
    let expressions =
        selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    for expression in expressions {
        let key = text(expression, "key");
        let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
        let mut values: Vec<&str> = values.filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let said = match text(expression, "operator").as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.clone(),
            _ => format!("!{key}"),
        };
        parts.push((key, said));
    }
    parts.sort();
    parts.into_iter().map(|(_, said)| said).collect::<Vec<_>>().join(",")
}

/// What an object may not say where its scale is read (`ValidateScaleSpec`, `ValidateScaleStatus`
/// of k8s.io/apiextensions-apiserver).
pub(crate) fn check(
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
