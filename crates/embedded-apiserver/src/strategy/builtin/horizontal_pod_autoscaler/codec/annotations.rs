//! The annotations that hold, in autoscaling/v1, what it has no members for.

use std::sync::LazyLock;

use k8s_value::go_json;
use serde_json::{Map, Value, json};

use crate::api::metadata::{self, Object};
use crate::api::recorded::types::TYPES;
use crate::strategy::builtin::go_struct::{Field, read};
use crate::strategy::builtin::horizontal_pod_autoscaler::codec::fields;
use crate::strategy::builtin::members::part;
use crate::strategy::builtin::resource_names::quantity;
use crate::strategy::shape::{Source, canonical};

#[doc(alias = "MetricSpecsAnnotation")]
pub(super) const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
#[doc(alias = "BehaviorSpecsAnnotation")]
pub(super) const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
#[doc(alias = "MetricStatusesAnnotation")]
pub(super) const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
#[doc(alias = "HorizontalPodAutoscalerConditionsAnnotation")]
pub(super) const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const OF_SPEC: [&str; 2] = [METRICS, BEHAVIOR];
const OF_STATUS: [&str; 2] = [CURRENT_METRICS, CONDITIONS];
const ALL: [&str; 6] = [
    METRICS,
    BEHAVIOR,
    CURRENT_METRICS,
    CONDITIONS,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// The contents of the annotations, as members of autoscaling/v2. Unreadable ones count as absent.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) metrics: Option<Vec<Value>>,
    pub(super) behavior: Option<Value>,
    pub(super) current_metrics: Option<Vec<Value>>,
    pub(super) conditions: Option<Vec<Value>>,
}

impl Annotations {
    /// Removes the annotations and reads them.
    pub(super) fn take(object: &mut Object) -> Self {
        let text = |name: &str| {
            let text = metadata::get(object, "annotations")?.get(name)?.as_str()?;
            go_json::read(text.as_bytes()).ok()
        };
        let metrics = text(METRICS).and_then(|sent| {
            let metrics = structs(&sent, fields::METRIC)?;
            let metrics = metrics.into_iter().map(with_target).collect();
            checked("spec", "metrics", Value::Array(metrics)).map(list)
        });
        let current_metrics = text(CURRENT_METRICS).and_then(|sent| {
            let metrics = structs(&sent, fields::CURRENT_METRIC)?;
            let metrics = metrics.into_iter().map(with_current).collect();
            checked("status", "currentMetrics", Value::Array(metrics)).map(list)
        });
        let conditions = text(CONDITIONS).and_then(|sent| {
            let conditions = structs(&sent, fields::CONDITION)?;
            checked("status", "conditions", Value::Array(conditions)).map(list)
        });
        let behavior = text(BEHAVIOR).and_then(|sent| {
            let behavior = read(&sent, fields::BEHAVIOR);
            checked("spec", "behavior", behavior).filter(|behavior| *behavior != json!({}))
        });
        drop_annotations(object);
        let behavior = behavior.filter(|behavior| !behavior.is_null());
        Self { metrics, behavior, current_metrics, conditions }
    }

    /// Whether they say something about the status.
    pub(super) const fn is_about_status(&self) -> bool {
        self.current_metrics.is_some() || self.conditions.is_some()
    }
}

/// Removes the annotations: autoscaling/v2 has none of them.
#[doc(alias = "DropRoundTripHorizontalPodAutoscalerAnnotations")]
pub(crate) fn drop_annotations(object: &mut Object) {
    remove(object, &ALL);
}

/// Removes the annotations about the status.
pub(crate) fn drop_status_annotations(object: &mut Object) {
    remove(object, &OF_STATUS);
}

/// Removes the annotation of the current metrics.
pub(crate) fn drop_current_metrics(object: &mut Object) {
    remove(object, &[CURRENT_METRICS]);
}

/// Replaces the annotations about the status by those of the old object.
pub(crate) fn restore_status_annotations(object: &mut Object, old: &Object) {
    restore(object, old, &OF_STATUS);
}

/// Replaces the annotations about the spec by those of the old object.
pub(crate) fn restore_spec_annotations(object: &mut Object, old: &Object) {
    restore(object, old, &OF_SPEC);
}

fn remove(object: &mut Object, names: &[&str]) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else { return };
    annotations.retain(|name, _| !names.contains(&name.as_str()));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn restore(object: &mut Object, old: &Object, names: &[&'static str]) {
    remove(object, names);
    let text = |name: &'static str| {
        let text = metadata::get(old, "annotations")?.get(name)?.as_str()?;
        Some((name, text.to_owned()))
    };
    add(object, names.iter().filter_map(|name| text(name)).collect());
}

pub(super) fn add(object: &mut Object, notes: Vec<(&str, String)>) {
    if notes.is_empty() {
        return;
    }
    let annotations = metadata::of(object).entry("annotations").or_insert(Value::Null);
    if !annotations.is_object() {
        *annotations = json!({});
    }
    if let Value::Object(annotations) = annotations {
        annotations.extend(notes.into_iter().map(|(name, text)| (name.to_owned(), text.into())));
    }
}

/// The structs of a list; `None` if `sent` is no list. As in Go, null is an empty list or struct.
fn structs(sent: &Value, of: &[Field]) -> Option<Vec<Value>> {
    match sent {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => {
            let read = |item: &Value| if item.is_null() { json!({}) } else { read(item, of) };
            Some(items.iter().map(read).collect())
        }
        _ => None,
    }
}

/// The canonical form of a member of autoscaling/v2. `None` if a type is wrong.
fn checked(part: &str, member: &str, value: Value) -> Option<Value> {
    static MESSAGE: LazyLock<Option<usize>> =
        LazyLock::new(|| TYPES.kind("autoscaling/v2", "HorizontalPodAutoscaler"));
    let object = Map::from_iter([(part.to_owned(), json!({ member: value }))]);
    let mut object = canonical((*MESSAGE)?, object, Source::Json, &mut Vec::new()).ok()?;
    Some(object.get_mut(part)?.get_mut(member).map_or(Value::Null, Value::take))
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// The sources of a metric that are there, by their names.
fn sources(metric: &mut Value) -> impl Iterator<Item = (&str, &mut Map<String, Value>)> {
    let members = metric.as_object_mut().into_iter().flatten();
    members.filter_map(|(name, source)| Some((name.as_str(), source.as_object_mut()?)))
}

/// A metric whose targets have their types.
fn with_target(mut metric: Value) -> Value {
    for (name, source) in sources(&mut metric) {
        let target = source.entry("target").or_insert_with(|| json!({}));
        let has = |member: &str| part(target, member).is_some();
        let is_zero = |value: &Value| quantity(value).is_some_and(|value| value.nanos() == 0);
        let (of, zero) = match name {
            "object" if has("averageValue") => ("AverageValue", None),
            "object" => ("Value", Some("value")),
            "external" if has("value") => ("Value", None),
            "pods" => ("AverageValue", Some("averageValue")),
            "resource" | "containerResource" if has("averageUtilization") => ("Utilization", None),
            _ => ("AverageValue", None),
        };
        let drops_zero = name == "object" && of == "AverageValue";
        let Some(target) = target.as_object_mut() else { continue };
        target.insert("type".to_owned(), of.into());
        if drops_zero && target.get("value").is_some_and(is_zero) {
            target.remove("value");
        }
        if let Some(zero) = zero {
            target.entry(zero).or_insert_with(|| "0".into());
        }
    }
    metric
}

/// A current metric with the values that autoscaling/v1 never leaves out.
fn with_current(mut metric: Value) -> Value {
    for (name, source) in sources(&mut metric) {
        let zero = if matches!(name, "object" | "external") { "value" } else { "averageValue" };
        let current = source.entry("current").or_insert_with(|| json!({}));
        if let Value::Object(current) = current {
            current.entry(zero).or_insert_with(|| "0".into());
        }
    }
    metric
}
