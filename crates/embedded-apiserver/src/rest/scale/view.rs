//! `autoscaling/v1` Scale, computed from the paths that a kind declares.

use api_front::Body;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::api::kind::ScalePaths;
use crate::api::media::Form;
use crate::api::metadata::{self, Object};
use crate::api::status::{Status, json_response};
use crate::strategy::scale_paths::{accessor, at, integer};

/// The response with a Scale.
pub(super) fn response(scale: &Value, form: Form) -> Response<Body> {
    let shown = match form {
        Form::Full | Form::Table => scale.to_string(),
        Form::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": scale.get("metadata"),
        })
        .to_string(),
    };
    json_response(StatusCode::OK, shown)
}

/// The Scale of an object, and whether the object sets its replicas.
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
    // The member is `omitempty`, so Go omits zero.
    if let Some(wanted) = wanted.filter(|wanted| *wanted != 0) {
        scale["spec"]["replicas"] = wanted.into();
    }
    if let Some(selector) = selector {
        scale["status"]["selector"] = selector.into();
    }
    Ok((scale, wanted.is_some()))
}

/// Formats a `LabelSelector`, or the map of labels of a ReplicationController, sorted by key, as
/// `FormatLabelSelector` of k8s.io/apimachinery.
fn selector_text(selector: &Map<String, Value>) -> String {
    let text = |value: &'_ Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut parts: Vec<(String, String)> = Vec::new();
    let labels = selector.get("matchLabels").and_then(Value::as_object).unwrap_or(selector);
    parts.extend(
        labels
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), format!("{key}={}", value.as_str()?)))),
    );
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
