//! Spec: the record inside a Lease object, field by field as in client-go's `leaselock.go`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::DynamicObject;
use serde_json::{Map, Value};

use super::{fields, mark};
use crate::record::Record;

/// Reads the record. It trusts nothing and never fails.
pub(super) fn read(object: &DynamicObject) -> Record {
    let spec = object.data.get("spec");
    let record = match spec {
        None | Some(Value::Null) => Record::default(),
        Some(Value::Object(spec)) => {
            let fields = spec.iter().map(|(name, value)| (name.as_str(), value));
            fields::read(fields, "leaseTransitions", |found, wanted| found == wanted)
        }
        Some(_) => Record::unreadable("the spec is no object"),
    };
    match spec {
        Some(spec) if record.is_unreadable() => {
            Record { write_id: Some(fields::raw_id(&spec.to_string())), ..record }
        }
        _ => mark::read(object, record),
    }
}

/// Writes the record and leaves all else in the object alone.
pub(super) fn write(object: &mut DynamicObject, record: &Record) {
    if !object.data.is_object() {
        object.data = Value::Object(Map::new());
    }
    if let Some(data) = object.data.as_object_mut() {
        let spec = data.entry("spec").or_insert_with(|| Value::Object(Map::new()));
        if !spec.is_object() {
            *spec = Value::Object(Map::new());
        }
        if let Some(spec) = spec.as_object_mut() {
            spec.insert("holderIdentity".into(), record.holder.clone().into());
            spec.insert("leaseDurationSeconds".into(), record.lease_duration_seconds.into());
            spec.insert("acquireTime".into(), time(record.acquire_time));
            spec.insert("renewTime".into(), time(record.renew_time));
            spec.insert("leaseTransitions".into(), record.leader_transitions.into());
            for (name, value) in
                [("strategy", &record.strategy), ("preferredHolder", &record.preferred_holder)]
            {
                if value.is_empty() {
                    spec.remove(name);
                } else {
                    spec.insert(name.into(), value.clone().into());
                }
            }
        }
    }
    mark::write(object, record);
}

/// Exactly six fraction digits: the server refuses a MicroTime with any other number.
fn time(time: Option<Timestamp>) -> Value {
    time.and_then(|time| serde_json::to_value(MicroTime(time)).ok()).unwrap_or(Value::Null)
}
