//! `ConversionReview`: the question to a webhook, and the object of its answer. Pure.
//!
//! The rules and the texts are those of webhook_converter.go of k8s.io/apiextensions-apiserver.

use std::fmt::Display;

use k8s_value::go_value::{json_type, quoted};
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::{self, Object};

/// The conversion of one object.
#[derive(Debug, Clone, Copy)]
#[doc(alias = "ConversionReview")]
pub(super) struct Review<'a> {
    pub(super) uid: &'a str,
    pub(super) kind: &'a str,
    /// The apiVersion that the object has.
    pub(super) from: &'a str,
    /// The apiVersion that it gets.
    pub(super) desired: &'a str,
}

impl Review<'_> {
    /// `version` is that of the review: `v1`, `v1beta1`.
    pub(super) fn request(&self, version: &str, object: &Object, managed: Value) -> Value {
        let mut sent = object.clone();
        let metadata = metadata::of(&mut sent);
        metadata.remove("resourceVersion");
        if !managed.is_null() {
            metadata.insert("managedFields".to_owned(), managed);
        }
        sent.insert("apiVersion".to_owned(), self.from.into());
        sent.insert("kind".to_owned(), self.kind.into());
        json!({
            "apiVersion": format!("apiextensions.k8s.io/{version}"), "kind": "ConversionReview",
            "request": {
                "uid": self.uid, "desiredAPIVersion": self.desired, "objects": [sent],
            },
            "response": { "uid": "", "convertedObjects": null, "result": { "metadata": {} } },
        })
    }

    /// The error of a call.
    pub(super) fn failed(&self, why: &dyn Display) -> String {
        format!("conversion webhook for {} failed: {why}", self.about())
    }

    fn about(&self) -> String {
        format!("{}, Kind={}", self.from, self.kind)
    }

    /// The converted object of an answer, without apiVersion and kind. Only its labels and
    /// annotations may differ from the metadata of `original`.
    ///
    /// # Errors
    ///
    /// The answer has no such object.
    pub(super) fn read(
        &self,
        version: &str,
        answer: Value,
        original: &Object,
    ) -> Result<Object, String> {
        let mut objects = self.objects(version, answer).map_err(|why| self.failed(&why))?;
        let (count, about) = (objects.len(), self.about());
        let Some(object) = objects.pop().filter(|_| count == 1) else {
            return Err(format!(
                "conversion webhook for {about} returned {count} objects, expected 1"
            ));
        };
        let mut object = read_object(object)?;
        let invalid = |why: &str, detail: &str| {
            format!("conversion webhook for {about} returned invalid {why}: {detail}")
        };
        let mut take = |name: &str| match object.remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (version, kind) = (take("apiVersion"), take("kind"));
        if version != self.desired {
            let why =
                format!("invalid groupVersion (expected {}, received {version})", self.desired);
            return Err(invalid("object at index 0", &why));
        }
        if kind != self.kind {
            let why = format!("invalid kind (expected {}, received {kind})", self.kind);
            return Err(invalid("object at index 0", &why));
        }
        for (member, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
            let (was, is) = (metadata::text(original, member), metadata::text(&object, member));
            if was != is {
                return Err(invalid(
                    "object",
                    &format!("must have the same {shown}: {was} != {is}"),
                ));
            }
        }
        restore_metadata(original, &mut object).map_err(|why| invalid("metadata", &why))?;
        Ok(object)
    }

    /// The objects of a successful answer.
    fn objects(&self, version: &str, mut answer: Value) -> Result<Vec<Value>, String> {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (said, kind) = (text(&answer, "apiVersion"), text(&answer, "kind"));
        let wanted = format!("apiextensions.k8s.io/{version}");
        // The client accepts a missing one, and upstream never checks the older version.
        let is_v1 = version == "v1";
        if is_v1 && (said != wanted || kind != "ConversionReview") {
            let said = if said.contains('/') { said } else { format!("/{said}") };
            return Err(format!(
                "expected webhook response of {wanted}, Kind=ConversionReview, got {said}, Kind={kind}"
            ));
        }
        let response = answer.get_mut("response").map(Value::take).unwrap_or_default();
        if !response.is_object() {
            return Err("no response provided".to_owned());
        }
        let uid = text(&response, "uid");
        if is_v1 && uid != self.uid {
            let (wanted, got) = (quoted(self.uid), quoted(&uid));
            return Err(format!("expected response.uid={wanted}, got {got}"));
        }
        let result = response.get("result").unwrap_or(&Value::Null);
        let (status, message) = (text(result, "status"), text(result, "message"));
        match response {
            _ if status != "Success" && !message.is_empty() => Err(message),
            _ if status != "Success" => {
                Err(format!("response.result.status was '{status}', not 'Success'"))
            }
            Value::Object(mut response) => match response.remove("convertedObjects") {
                Some(Value::Array(objects)) => Ok(objects),
                _ => Ok(Vec::new()),
            },
            _ => Ok(Vec::new()),
        }
    }
}

fn read_object(object: Value) -> Result<Object, String> {
    match object {
        Value::Object(object) => match object.get("kind").and_then(Value::as_str) {
            None | Some("") => {
                Err(format!("Object 'Kind' is missing in '{}'", Value::Object(object)))
            }
            Some(_) => Ok(object),
        },
        Value::Null => Err("unexpected end of JSON input".to_owned()),
        other => {
            let sort = json_type(&other);
            let into = "Go value of type map[string]interface {}";
            Err(format!("json: cannot unmarshal {sort} into {into}"))
        }
    }
}

/// Gives the object the metadata of the original, with its own labels and annotations.
#[doc(alias = "restoreObjectMeta")]
fn restore_metadata(original: &Object, object: &mut Object) -> Result<(), String> {
    let mut own = match object.remove("metadata") {
        Some(Value::Object(own)) => own,
        _ => Object::new(),
    };
    let mut restored = original.get("metadata").cloned().unwrap_or_default();
    let Value::Object(members) = &mut restored else {
        return Err("invalid metadata in input object".to_owned());
    };
    for name in ["labels", "annotations"] {
        let before = members.remove(name);
        let now = match own.remove(name) {
            None | Some(Value::Null) => continue,
            Some(Value::Object(now)) => now,
            Some(other) => {
                let sort = go_type(&other);
                return Err(format!("invalid metadata.{name} of type {sort} in converted object"));
            }
        };
        if let Some((key, value)) = now.iter().find(|(_, value)| !value.is_string()) {
            let sort = go_type(value);
            return Err(format!(
                "metadata.{name}[{key}] must be a string, but is {sort} in converted object"
            ));
        }
        if before.as_ref().and_then(Value::as_object) != Some(&now) {
            let mut causes = FieldErrors::default();
            match name {
                "labels" => metadata::check_labels(&now, &mut causes),
                // Upstream names it so.
                _ => metadata::check_annotations("metadata.annotation", &now, &mut causes),
            }
            if !causes.is_empty() {
                return Err(FieldError::message_of(causes.as_slice()));
            }
        }
        members.insert(name.to_owned(), now.into());
    }
    object.insert("metadata".to_owned(), restored);
    Ok(())
}

/// Go's type of a JSON value (`%T`).
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
