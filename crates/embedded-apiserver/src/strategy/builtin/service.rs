//! Services.

pub(crate) mod allocation;
mod defaults;
mod exposure;
mod validation;

use k8s_value::{FieldErrors, names};
use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::{NONE, joined, list, text_at};
use crate::strategy::builtin::members::said;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::service::exposure::is_headless;
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{AllocationCounts, Creation, Strategy, Write};

pub(super) static SERVICE: Row = Row {
    kind: "Service",
    plural: "services",
    status: true,
    short_names: &["svc"],
    categories: &["all"],
    selectable: &["spec.clusterIP", "spec.type"],
    strategy: &Service,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Type", Member("/spec/type", "ClusterIP")),
    column("Cluster-IP", Member("/spec/clusterIP", NONE)),
    column("External-IP", Made(external_ip)),
    column("Port(s)", Made(ports)),
    AGE,
    wide("Selector", Made(selector)),
];

#[derive(Debug)]
struct Service;

impl Strategy for Service {
    fn default(&self, object: &mut Object) {
        defaults::default(object);
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        defaults::prepare_create(object);
        self.reset_status(object);
    }

    fn reset_status(&self, object: &mut Object) {
        object.insert("status".to_owned(), json!({ "loadBalancer": {} }));
    }

    fn prepare_update(&self, object: &mut Object, old: &Object) {
        defaults::prepare_update(object, old);
    }

    fn needs_allocation(&self, object: &Object, old: Option<&Object>) -> bool {
        allocation::concerns(object, old)
    }

    fn allocate(
        &self,
        object: &mut Object,
        old: Option<&Object>,
        others: &mut dyn Iterator<Item = Object>,
        counts: &mut AllocationCounts,
        dry_run: bool,
    ) -> Result<(), FieldErrors> {
        let mut taken = allocation::Taken::default();
        others.for_each(|service| taken.add(&service));
        allocation::allocate(object, old, &taken, counts, dry_run)
    }

    fn validate_name(&self, name: &str) -> Option<&'static str> {
        names::wrong_label(name)
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validation::validate(object, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validation::validate_change(object, old, causes);
    }

    fn validate_status_update(&self, object: &Object, _old: &Object, causes: &mut FieldErrors) {
        validation::validate_status(object, causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, _old: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        add_warnings(object, &mut warnings);
        warnings
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    /// Upstream does not forbid it (`StatusREST` of pkg/registry/core/service).
    fn creates_on_status_update(&self) -> bool {
        true
    }

    fn storage_prefix(&self, _kind: &Kind) -> String {
        "services/specs".to_owned()
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn removed_with(&self) -> Option<(&'static str, &'static str, &'static str)> {
        Some(("", "v1", "endpoints"))
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "GetWarningsForService")]
fn add_warnings(object: &Object, warnings: &mut Vec<String>) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let annotations = metadata::get(object, "annotations").unwrap_or(&Value::Null);
    let hints = "service.kubernetes.io/topology-aware-hints";
    if annotations.get(hints).is_some() {
        let mode = "service.kubernetes.io/topology-mode";
        warnings.push(format!("annotation {hints} is deprecated, please use {mode} instead"));
    }
    let says = |member: &str| {
        spec.get(member)
            .is_some_and(|value| *value != "" && *value != json!([]) && !value.is_null())
    };
    if is_headless(object) {
        for member in ["loadBalancerIP", "externalIPs"] {
            if says(member) {
                warnings.push(format!("spec.{member} is ignored for headless services"));
            }
        }
        if said(spec, "sessionAffinity") != "None" {
            warnings.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    } else if says("externalIPs") && said(spec, "type") != "ExternalName" {
        warnings.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .to_owned(),
        );
    }
    if said(spec, "type") == "ExternalName" {
        if says("externalIPs") {
            warnings
                .push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
        }
    } else if says("externalName") {
        warnings
            .push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if said(spec, "trafficDistribution") == "PreferClose" {
        warnings.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .to_owned(),
        );
    }
}

fn external_ip(service: &Value) -> Value {
    let ips =
        list(service, "/spec/externalIPs").iter().filter_map(Value::as_str).map(str::to_owned);
    match text_at(service, "/spec/type") {
        "ExternalName" => text_at(service, "/spec/externalName").into(),
        "LoadBalancer" => {
            let of_balancer = list(service, "/status/loadBalancer/ingress").iter().map(|ingress| {
                let ip = text_at(ingress, "/ip");
                if ip.is_empty() { text_at(ingress, "/hostname").to_owned() } else { ip.to_owned() }
            });
            let all = of_balancer.chain(ips).collect::<Vec<_>>().join(",");
            if all.is_empty() { "<pending>".into() } else { all.into() }
        }
        _ => joined(ips),
    }
}

fn ports(service: &Value) -> Value {
    joined(list(service, "/spec/ports").iter().map(|port| {
        let protocol = port["protocol"].as_str().unwrap_or("TCP");
        match port["nodePort"].as_i64() {
            Some(node) if node > 0 => format!("{}:{node}/{protocol}", port["port"]),
            _ => format!("{}/{protocol}", port["port"]),
        }
    }))
}

fn selector(service: &Value) -> Value {
    let labels = service["spec"]["selector"].as_object().into_iter().flatten();
    joined(labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())))
}
