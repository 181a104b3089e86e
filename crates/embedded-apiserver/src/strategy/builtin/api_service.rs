//! APIServices.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::clock;
use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::{list, text_at};
use crate::strategy::builtin::members::{at, items, part, said, set_missing, text};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{port_number, subdomain};
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Strategy, Write};

pub(super) static API_SERVICE: Row = Row {
    group: "apiregistration.k8s.io",
    kind: "APIService",
    plural: "apiservices",
    status: true,
    categories: &["api-extensions"],
    strategy: &ApiService,
    ..CLUSTER
};

const COLUMNS: &[Column] =
    &[NAME, column("Service", Made(service)), column("Available", Made(available)), AGE];
const STATES: &[&str] = &["True", "False", "Unknown"];

#[derive(Debug)]
struct ApiService;

impl Strategy for ApiService {
    fn default(&self, object: &mut Object) {
        let service = object.get_mut("spec").and_then(|spec| spec.get_mut("service"));
        if let Some(Value::Object(service)) = service {
            set_missing(service, &[("port", 443.into())]);
        }
    }

    fn prepare_create(&self, object: &mut Object, creation: Creation) {
        let status = if at(object, "spec.service").is_some() {
            json!({})
        } else {
            json!({ "conditions": [{
                "type": "Available", "status": "True", "reason": "Local",
                "lastTransitionTime": clock::seconds(creation.now),
                "message": "Local APIServices are always available",
            }] })
        };
        object.insert("status".to_owned(), status);
    }

    /// The name is checked by [`validate`](Strategy::validate): its error names the right one.
    fn validate_name(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            let path = "status.conditions";
            for (path, condition) in items(at(object, path), path) {
                let state = said(condition, "status");
                if !STATES.contains(&state) {
                    let path = format!("{path}.status");
                    causes.push(FieldError::unsupported(path, state, STATES));
                }
            }
            return;
        }
        validate_names(object, causes);
        validate_priorities(object, causes);
        validate_service(object, causes);
    }

    fn storage_prefix(&self, kind: &Kind) -> String {
        format!("{}/{}", kind.group(), kind.plural())
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn changes_metadata_by_status(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

fn validate_names(object: &Object, causes: &mut FieldErrors) {
    let (group, version) = (text(object, "spec.group"), text(object, "spec.version"));
    let (name, right) = (metadata::text(object, "name"), format!("{version}.{group}"));
    if let Some(why) = names::wrong_path_segment(name) {
        causes.push(FieldError::invalid("metadata.name", name, why));
    } else if name.contains('/') {
        causes.push(FieldError::invalid("metadata.name", name, "may not contain '/'"));
    } else if name != right {
        let why = format!("must be `spec.version+\".\"+spec.group`: {right:?}");
        causes.push(FieldError::invalid("metadata.name", name, &why));
    }
    if !group.is_empty() {
        subdomain(group, "spec.group", causes);
    } else if version != "v1" {
        let why = "only v1 may have an empty group and it better be legacy kube";
        causes.push(FieldError::required("spec.group", why));
    }
    if let Some(why) = names::wrong_dns_1035_label(version) {
        causes.push(FieldError::invalid("spec.version", version, why));
    }
}

fn validate_priorities(object: &Object, causes: &mut FieldErrors) {
    for (path, most) in [("spec.groupPriorityMinimum", 20_000), ("spec.versionPriority", 1000)] {
        let value = at(object, path).and_then(Value::as_i64).unwrap_or_default();
        if value <= 0 || value > most {
            let why = format!("must be positive and less than {most}");
            causes.push(FieldError::invalid_json(path, &value.into(), &why));
        }
    }
}

fn validate_service(object: &Object, causes: &mut FieldErrors) {
    let bundle = STANDARD.decode(text(object, "spec.caBundle")).map_or(0, |bytes| bytes.len());
    let path = "spec.insecureSkipTLSVerify";
    let insecure = at(object, path).filter(|insecure| **insecure == true);
    let Some(service) = at(object, "spec.service") else {
        if bundle > 0 {
            let why = "local APIServices may not have a caBundle";
            causes.push(FieldError::invalid("spec.caBundle", &format!("{bundle} bytes"), why));
        }
        if let Some(insecure) = insecure {
            let why = "local APIServices may not have insecureSkipTLSVerify";
            causes.push(FieldError::invalid_json(path, insecure, why));
        }
        return;
    };
    for member in ["namespace", "name"] {
        if said(service, member).is_empty() {
            causes.push(FieldError::required(format!("spec.service.{member}"), ""));
        }
    }
    let port = part(service, "port").unwrap_or(&Value::Null);
    let mut wrong = FieldErrors::default();
    port_number(port, "", &mut wrong);
    if !wrong.is_empty() {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(FieldError::invalid_json("spec.service.port", port, why));
    }
    if let Some(insecure) = insecure.filter(|_| bundle > 0) {
        let why = "may not be true if caBundle is present";
        causes.push(FieldError::invalid_json(path, insecure, why));
    }
}

fn service(of: &Value) -> Value {
    if of["spec"]["service"].is_null() {
        return "Local".into();
    }
    let (namespace, name) =
        (text_at(of, "/spec/service/namespace"), text_at(of, "/spec/service/name"));
    format!("{namespace}/{name}").into()
}

fn available(of: &Value) -> Value {
    let mut conditions = list(of, "/status/conditions").iter();
    let Some(found) = conditions.find(|it| said(it, "type") == "Available") else {
        return "Unknown".into();
    };
    match (said(found, "status"), said(found, "reason")) {
        ("True", _) => "True".into(),
        (state, "") => state.into(),
        (state, reason) => format!("{state} ({reason})").into(),
    }
}
