//! ResourceClaims and ResourceClaimTemplates: their requests. Selectors, constraints,
//! configurations and allocations are not checked.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Map, Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::list;
use crate::strategy::builtin::members::{at, items, objects, part, said};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{IMMUTABLE, label, subdomain};
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Strategy, Write};

pub(super) static RESOURCE_CLAIM: Row = Row {
    group: "resource.k8s.io",
    kind: "ResourceClaim",
    plural: "resourceclaims",
    status: true,
    strategy: &ResourceClaim { requests: "spec.devices.requests", is_template: false },
    ..NAMESPACED
};

pub(super) static RESOURCE_CLAIM_TEMPLATE: Row = Row {
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    status: false,
    strategy: &ResourceClaim { requests: "spec.spec.devices.requests", is_template: true },
    ..RESOURCE_CLAIM
};

const COLUMNS: &[Column] = &[NAME, column("State", Made(state)), AGE];
const MOST_REQUESTS: usize = 32;

#[derive(Debug)]
struct ResourceClaim {
    /// Where the requests are.
    requests: &'static str,
    is_template: bool,
}

impl Strategy for ResourceClaim {
    fn default(&self, object: &mut Object) {
        let mut path = self.requests.split('.');
        let spec = path.next().and_then(|first| object.get_mut(first));
        let requests = spec.and_then(|spec| path.try_fold(spec, |value, part| value.get_mut(part)));
        for request in objects(requests) {
            if let Some(Value::Object(exactly)) = request.get_mut("exactly") {
                default_count(exactly);
            }
            objects(request.get_mut("firstAvailable")).for_each(default_count);
        }
    }

    fn prepare_create(&self, object: &mut Object, _: Creation) {
        if !self.is_template {
            object.insert("status".to_owned(), json!({}));
        }
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            validate_status(object, causes);
        } else if write.old.is_none() || self.is_template {
            validate_requests(at(object, self.requests), self.requests, causes);
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        if object.get("spec") != old.get("spec") {
            let spec = object.get("spec").unwrap_or(&Value::Null);
            causes.push(FieldError::invalid_json("spec", spec, IMMUTABLE));
        }
    }

    fn changes_metadata_by_status(&self) -> bool {
        false
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        if self.is_template { const { &[NAME, AGE] } } else { COLUMNS }
    }
}

#[doc(alias("SetDefaults_ExactDeviceRequest", "SetDefaults_DeviceSubRequest"))]
fn default_count(request: &mut Map<String, Value>) {
    let mode = request.entry("allocationMode").or_insert_with(|| "ExactCount".into());
    if *mode == "" {
        *mode = "ExactCount".into();
    }
    if *mode == "ExactCount" {
        let count = request.entry("count").or_insert_with(|| 1.into());
        if *count == 0 {
            *count = 1.into();
        }
    }
}

#[doc(alias = "validateDeviceClaim")]
fn validate_requests(requests: Option<&Value>, path: &str, causes: &mut FieldErrors) {
    let count = requests.and_then(Value::as_array).map_or(0, Vec::len);
    if count > MOST_REQUESTS {
        causes.push(FieldError::too_many(path, count, MOST_REQUESTS));
        return;
    }
    let mut seen = Vec::new();
    for (path, request) in items(requests, path) {
        let name = said(request, "name");
        validate_name(name, &format!("{path}.name"), causes);
        let exactly = part(request, "exactly");
        let available = items(request.get("firstAvailable"), &format!("{path}.firstAvailable"));
        let available: Vec<_> = available.collect();
        let why = "exactly one of `exactly` or `firstAvailable` is required";
        match (exactly, available.as_slice()) {
            (None, []) => causes.push(FieldError::required(path.clone(), why)),
            (Some(_), [_, ..]) => {
                let why = format!("{why}, but multiple fields are set");
                causes.push(FieldError::invalid_json(path.clone(), &Value::Null, &why));
            }
            (Some(exactly), []) => validate_request(exactly, &format!("{path}.exactly"), causes),
            (None, available) => {
                for (path, request) in available {
                    validate_name(said(request, "name"), &format!("{path}.name"), causes);
                    validate_request(request, path, causes);
                }
            }
        }
        if seen.contains(&name) {
            causes.push(FieldError::duplicate(path, &name.into()));
        }
        seen.push(name);
    }
}

fn validate_name(name: &str, path: &str, causes: &mut FieldErrors) {
    if name.is_empty() {
        causes.push(FieldError::required(path, ""));
    } else {
        label(name, path, causes);
    }
}

#[doc(alias = "validateExactDeviceRequest")]
fn validate_request(request: &Value, path: &str, causes: &mut FieldErrors) {
    let field = format!("{path}.deviceClassName");
    match said(request, "deviceClassName") {
        "" => causes.push(FieldError::required(field, "")),
        class => subdomain(class, &field, causes),
    }
    let count = request.get("count").and_then(Value::as_i64).unwrap_or_default();
    let field = format!("{path}.count");
    match said(request, "allocationMode") {
        "All" if count != 0 => {
            let why = "must not be specified when allocationMode is 'All'";
            causes.push(FieldError::invalid_json(field, &count.into(), why));
        }
        "ExactCount" if count <= 0 => {
            causes.push(FieldError::invalid_json(
                field,
                &count.into(),
                "must be greater than zero",
            ));
        }
        "All" | "ExactCount" => {}
        other => {
            let field = format!("{path}.allocationMode");
            causes.push(FieldError::unsupported(field, other, &["All", "ExactCount"]));
        }
    }
}

/// Whoever uses a claim is named, and the claim is allocated.
#[doc(alias = "validateResourceClaimStatusUpdate")]
fn validate_status(object: &Object, causes: &mut FieldErrors) {
    let path = "status.reservedFor";
    let mut count: usize = 0;
    for (path, user) in items(at(object, path), path) {
        count += 1;
        for member in ["resource", "name", "uid"] {
            if said(user, member).is_empty() {
                causes.push(FieldError::required(format!("{path}.{member}"), ""));
            }
        }
    }
    if count > 0 && at(object, "status.allocation").is_none() {
        let why = "may not be specified when `allocated` is not set";
        causes.push(FieldError::forbidden(path, why));
    }
}

#[doc(alias = "resourceClaimState")]
fn state(claim: &Value) -> Value {
    let is_ending = claim["metadata"]["deletionTimestamp"].is_string();
    let is_allocated = claim["status"]["allocation"].is_object();
    let mut states = Vec::new();
    if is_ending {
        states.push("deleted");
    }
    if is_allocated {
        states.push("allocated");
        if !list(claim, "/status/reservedFor").is_empty() {
            states.push("reserved");
        }
    } else if !is_ending {
        states.push("pending");
    }
    states.join(",").into()
}
