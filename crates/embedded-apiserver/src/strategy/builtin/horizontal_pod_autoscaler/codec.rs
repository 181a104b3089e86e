//! The conversion of autoscaling/v1, whose objects are stored as autoscaling/v2. Annotations hold
//! the members that only v2 has. Pure.

mod annotations;
mod fields;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::api::kind::Codec;
use crate::api::metadata::Object;
use crate::strategy::builtin::go_struct::{shown, shown_list};
use crate::strategy::builtin::horizontal_pod_autoscaler::behavior;
use crate::strategy::builtin::horizontal_pod_autoscaler::codec::annotations::{
    Annotations, BEHAVIOR, CONDITIONS, CURRENT_METRICS, METRICS,
};
use crate::strategy::builtin::members::{part, said};

pub(super) use annotations::{
    drop_annotations, drop_current_metrics, drop_status_annotations, restore_spec_annotations,
    restore_status_annotations,
};

/// The metric of an autoscaler that has none.
pub(super) const DEFAULT_PERCENT: i64 = 80;

/// HorizontalPodAutoscalers of autoscaling/v1.
#[derive(Debug)]
pub(super) struct ScalerV1;

impl Codec for ScalerV1 {
    fn converts(&self, _revision: u64) -> bool {
        true
    }

    fn to_version(&self, object: Object, _revision: u64) -> Object {
        to_v1(object)
    }

    /// As upstream, a read of the stored form completes the behavior.
    fn to_storage(&self, object: Object) -> Object {
        let mut object = to_v2(object);
        if let Some(Value::Object(behavior)) = behavior_of(&mut object) {
            behavior::default(behavior);
        }
        object
    }

    fn is_lossy(&self) -> bool {
        true
    }
}

pub(super) fn behavior_of(object: &mut Object) -> Option<&mut Value> {
    object.get_mut("spec").and_then(|spec| spec.get_mut("behavior"))
}

/// The metric of the processor's utilization.
pub(super) fn cpu(percent: impl Into<Value>) -> Value {
    let target = json!({ "type": "Utilization", "averageUtilization": percent.into() });
    json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } })
}

/// Converts an object of autoscaling/v2 to autoscaling/v1.
#[doc(alias = "Convert_autoscaling_HorizontalPodAutoscaler_To_v1_HorizontalPodAutoscaler")]
pub(super) fn to_v1(mut object: Object) -> Object {
    drop_annotations(&mut object);
    let mut notes = Vec::new();
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        let mut others = list(spec.remove("metrics"));
        let percent = others.iter().find_map(|metric| utilization(metric, "target")).cloned();
        others.retain(|metric| utilization(metric, "target").is_none());
        if let Some(percent) = percent {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent);
        }
        if !others.is_empty() {
            notes.push((METRICS, shown_list(&others, fields::METRIC)));
        }
        let behavior = spec.remove("behavior").filter(|behavior| !behavior.is_null());
        notes.extend(behavior.map(|behavior| (BEHAVIOR, shown(&behavior, fields::BEHAVIOR))));
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        let current = list(status.remove("currentMetrics"));
        let percent = current.iter().rev().find_map(|metric| utilization(metric, "current"));
        if let Some(percent) = percent {
            status.insert("currentCPUUtilizationPercentage".to_owned(), percent.clone());
        }
        if !current.is_empty() {
            notes.push((CURRENT_METRICS, shown_list(&current, fields::CURRENT_METRIC)));
        }
        let conditions = list(status.remove("conditions"));
        if !conditions.is_empty() {
            notes.push((CONDITIONS, shown_list(&conditions, fields::CONDITION)));
        }
        status.entry("currentReplicas").or_insert_with(|| 0.into());
    }
    annotations::add(&mut object, notes);
    object
}

/// Converts an object of autoscaling/v1 to autoscaling/v2. The behavior stays incomplete.
#[doc(alias = "Convert_v1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler")]
pub(super) fn to_v2(mut object: Object) -> Object {
    let mut read = Annotations::take(&mut object);
    if let Value::Object(spec) = member(&mut object, "spec") {
        let mut metrics = read.metrics.take().unwrap_or_default();
        metrics.extend(number(spec, "targetCPUUtilizationPercentage").map(cpu));
        if metrics.is_empty() {
            metrics.push(cpu(DEFAULT_PERCENT));
        }
        spec.insert("metrics".to_owned(), metrics.into());
        if let Some(behavior) = read.behavior.take() {
            spec.insert("behavior".to_owned(), behavior);
        }
    }
    if (object.contains_key("status") || read.is_about_status())
        && let Value::Object(status) = member(&mut object, "status")
    {
        status_to_v2(status, read);
    }
    object
}

fn status_to_v2(status: &mut Map<String, Value>, read: Annotations) {
    let percent = number(status, "currentCPUUtilizationPercentage");
    let of_percent = percent.map(|percent| {
        let current = json!({ "averageUtilization": percent });
        json!({ "type": "Resource", "resource": { "name": "cpu", "current": current } })
    });
    // The annotation says more.
    let current = read.current_metrics.unwrap_or_else(|| of_percent.into_iter().collect());
    let current = if current.is_empty() { Value::Null } else { current.into() };
    status.insert("currentMetrics".to_owned(), current);
    if let Some(conditions) = read.conditions.filter(|conditions| !conditions.is_empty()) {
        status.insert("conditions".to_owned(), conditions.into());
    }
    status.entry("desiredReplicas").or_insert_with(|| 0.into());
    // Only autoscaling/v1 writes a zero.
    if status.get("currentReplicas").and_then(Value::as_i64) == Some(0) {
        status.remove("currentReplicas");
    }
}

/// A member, empty if it is absent or null.
fn member<'a>(object: &'a mut Object, name: &str) -> &'a mut Value {
    let value = object.entry(name).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value
}

/// The utilization of the processor that a metric wants or has: `side` is `target` or `current`.
fn utilization<'a>(metric: &'a Value, side: &str) -> Option<&'a Value> {
    let resource = part(metric, "resource").filter(|_| said(metric, "type") == "Resource")?;
    let side = part(resource, side).filter(|_| said(resource, "name") == "cpu")?;
    part(side, "averageUtilization")
}

fn number(members: &mut Map<String, Value>, name: &str) -> Option<Value> {
    members.remove(name).filter(|value| !value.is_null())
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}
