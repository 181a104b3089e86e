//! The selector and the labels that the server generates for a Job.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Map, Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::label_selector;
use crate::strategy::builtin::members::{at, members};

const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

/// Sets the labels of a Job without labels to those of its template.
pub(super) fn default_labels(object: &mut Object) {
    let labels = members(at(object, "spec.template.metadata.labels"));
    if !labels.is_empty() && members(metadata::get(object, "labels")).is_empty() {
        metadata::set(object, "labels", labels);
    }
}

/// Whether a Job has no labels. Each read sets its template's, and the next write stores them.
pub(super) fn has_no_labels(object: &Object) -> bool {
    metadata::get(object, "labels").and_then(Value::as_object).is_none_or(Map::is_empty)
}

/// Makes a new Job select its pods by its own uid, unless it has a selector of its own.
#[doc(alias = "generateSelector")]
pub(super) fn generate(object: &mut Object) {
    if at(object, "spec.manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let (name, uid) =
        (metadata::text(object, "name").to_owned(), metadata::text(object, "uid").to_owned());
    let inherits = metadata::get(object, "labels") == at(object, "spec.template.metadata.labels")
        || members(metadata::get(object, "labels")).is_empty();
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let template = spec.entry("template").or_insert_with(|| json!({}));
    let labels = NAME_LABELS
        .iter()
        .map(|label| (*label, &name))
        .chain(UID_LABELS.iter().map(|label| (*label, &uid)));
    for (label, value) in labels {
        insert_new(template, "metadata", "labels", label, value);
    }
    insert_new_into(
        spec.entry("selector").or_insert_with(|| json!({})),
        "matchLabels",
        UID_LABELS[1],
        &uid,
    );
    if inherits {
        metadata::of(object).remove("labels");
        default_labels(object);
    }
}

fn insert_new(value: &mut Value, member: &str, map: &str, key: &str, text: &str) {
    if let Value::Object(members) = value {
        insert_new_into(members.entry(member).or_insert_with(|| json!({})), map, key, text);
    }
}

fn insert_new_into(value: &mut Value, map: &str, key: &str, text: &str) {
    let Value::Object(members) = value else { return };
    if let Value::Object(map) = members.entry(map).or_insert_with(|| json!({})) {
        map.entry(key).or_insert_with(|| text.into());
    }
}

/// Checks that a Job selects its pods by its own uid.
#[doc(alias = "ValidateGeneratedSelector")]
pub(crate) fn validate_generated(object: &Object, causes: &mut FieldErrors) {
    if at(object, "spec.manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let Some(selector) = at(object, "spec.selector") else { return };
    let (name, uid) = (metadata::text(object, "name"), metadata::text(object, "uid"));
    let labels = members(at(object, "spec.template.metadata.labels"));
    let expected = [
        (UID_LABELS[0], uid),
        (NAME_LABELS[0], name),
        (UID_LABELS[1], uid),
        (NAME_LABELS[1], name),
    ];
    for (label, value) in expected {
        let (field, why) =
            (format!("spec.template.metadata.labels[{label}]"), format!("must be '{value}'"));
        match labels.get(label).and_then(Value::as_str) {
            None => causes.push(FieldError::required(field, &why)),
            Some(said) if said == value => {}
            Some(_) => {
                causes.push(FieldError::invalid_json(field, &Value::Object(labels.clone()), &why))
            }
        }
    }
    let expected =
        expected.into_iter().map(|(label, value)| (label.to_owned(), value.into())).collect();
    if !label_selector::matches(selector, &expected) {
        let shown = label_selector::shown(selector);
        causes.push(FieldError::invalid_shown(
            "spec.selector",
            &shown,
            "`selector` not auto-generated",
        ));
    }
}
