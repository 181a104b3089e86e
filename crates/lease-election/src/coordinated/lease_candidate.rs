//! LeaseCandidate: its fields, and how they are read from the object and written to it.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::DynamicObject;
use serde_json::{Map, Value};

/// The fields that the LeaseCandidate is to have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Wanted {
    pub(crate) lease: String,
    pub(crate) binary_version: String,
    pub(crate) emulation_version: String,
    pub(crate) strategy: String,
}

/// The LeaseCandidate on the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) says: Wanted,
    /// When the server asked whether the candidate is alive.
    pub(crate) ping: Option<Timestamp>,
    /// When the candidate last renewed or answered.
    pub(crate) renew: Option<Timestamp>,
}

impl Seen {
    /// Whether the server waits for an answer: it accepts one whose time is not before its ping.
    pub(super) fn is_asked(&self) -> bool {
        self.ping.is_some_and(|ping| self.renew.is_none_or(|renew| renew < ping))
    }
}

/// Reads the object; `None` without uid or version. A field of a wrong type counts as absent.
pub(super) fn seen(object: &DynamicObject) -> Option<Seen> {
    let spec = object.data.get("spec").and_then(Value::as_object);
    let text = |name: &str| {
        spec.and_then(|spec| spec.get(name)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let time = |name: &str| text(name).parse::<Timestamp>().ok();
    Some(Seen {
        uid: object.metadata.uid.clone().filter(|uid| !uid.is_empty())?,
        resource_version: object
            .metadata
            .resource_version
            .clone()
            .filter(|version| !version.is_empty())?,
        says: Wanted {
            lease: text("leaseName"),
            binary_version: text("binaryVersion"),
            emulation_version: text("emulationVersion"),
            strategy: text("strategy"),
        },
        ping: time("pingTime"),
        renew: time("renewTime"),
    })
}

/// Writes the wanted fields and the renewal time, and keeps the rest.
pub(super) fn write(object: &mut DynamicObject, wanted: &Wanted, renew: Timestamp) {
    object.metadata.managed_fields = None;
    if !object.data.is_object() {
        object.data = Value::Object(Map::new());
    }
    let Some(data) = object.data.as_object_mut() else { return };
    let spec = data.entry("spec").or_insert_with(|| Value::Object(Map::new()));
    if !spec.is_object() {
        *spec = Value::Object(Map::new());
    }
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("leaseName".into(), wanted.lease.clone().into());
        spec.insert("binaryVersion".into(), wanted.binary_version.clone().into());
        spec.insert("emulationVersion".into(), wanted.emulation_version.clone().into());
        spec.insert("strategy".into(), wanted.strategy.clone().into());
        let renew = serde_json::to_value(MicroTime(renew)).unwrap_or(Value::Null);
        spec.insert("renewTime".into(), renew);
    }
}
