//! HorizontalPodAutoscalers of autoscaling/v1: the rules of autoscaling/v2, which is stored.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_value::FieldErrors;
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::horizontal_pod_autoscaler::codec::{
    ScalerV1, behavior_of, drop_current_metrics, drop_status_annotations, restore_spec_annotations,
    restore_status_annotations, to_v1, to_v2,
};
use crate::strategy::builtin::horizontal_pod_autoscaler::{
    HORIZONTAL_POD_AUTOSCALER, HorizontalPodAutoscaler, behavior,
};
use crate::strategy::builtin::members::fill;
use crate::strategy::builtin::row::Row;
use crate::strategy::columns::Column;
use crate::strategy::{Creation, Strategy, Write};

pub(crate) static HORIZONTAL_POD_AUTOSCALER_V1: Row = Row {
    version: "v1",
    stored_version: Some("v2"),
    codec: Some(|| Arc::new(ScalerV1)),
    strategy: &ScalerV1,
    ..HORIZONTAL_POD_AUTOSCALER
};

impl Strategy for ScalerV1 {
    /// As upstream, the conversion and not the default sets the metric of the processor. The round
    /// trip through v2 writes the annotations in the server's form.
    fn default(&self, object: &mut Object) {
        fill(object, "spec", &[("minReplicas", json!(1))]);
        let new = to_v2(std::mem::take(object));
        let says_percent = has_percent_alone(&new);
        *object = to_v1(new);
        if says_percent {
            // The annotation would add a value that was not sent.
            drop_current_metrics(object);
        }
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        drop_status_annotations(object);
        let status = json!({ "currentReplicas": 0, "desiredReplicas": 0 });
        object.insert("status".to_owned(), status);
    }

    fn prepare_update(&self, object: &mut Object, old: &Object) {
        restore_status_annotations(object, old);
    }

    fn prepare_status_update(&self, object: &mut Object, old: &Object, _now: Timestamp) {
        restore_spec_annotations(object, old);
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        HorizontalPodAutoscaler.validates_generate_name_of_updates()
    }

    /// Errors name the members of autoscaling/v2.
    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        let old = write.old.map(|old| to_v2(old.clone()));
        let write = Write { old: old.as_ref(), ..write };
        HorizontalPodAutoscaler.validate(&to_v2(object.clone()), write, causes);
    }

    fn validate_status_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let (object, old) = (to_v2(object.clone()), to_v2(old.clone()));
        HorizontalPodAutoscaler.validate_status_update(&object, &old, causes);
    }

    /// Upstream stores a behavior as it was sent, and a read completes it.
    fn leaves_unsaid(&self, object: &Object, _old: Option<&Object>) -> bool {
        let mut object = to_v2(object.clone());
        let Some(Value::Object(sent)) = behavior_of(&mut object) else { return false };
        let mut whole = sent.clone();
        behavior::default(&mut whole);
        whole != *sent
    }

    /// Of the object as it is stored.
    fn columns(&self) -> &'static [Column] {
        HorizontalPodAutoscaler.columns()
    }
}

/// Whether the status of an object of autoscaling/v2 was written as a percentage alone. A metric of
/// the annotation has a value.
fn has_percent_alone(object: &Object) -> bool {
    let status = object.get("status").unwrap_or(&Value::Null);
    let current = status.pointer("/currentMetrics/0/resource/current");
    current.is_some_and(|current| current.get("averageValue").is_none())
}
