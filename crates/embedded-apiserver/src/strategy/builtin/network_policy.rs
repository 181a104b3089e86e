//! NetworkPolicies.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cidr::{self, Cidr};
use crate::strategy::builtin::label_selector;
use crate::strategy::builtin::members::{at, items, objects, part, said, texts};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{one_of_texts, port_or_name};
use crate::strategy::builtin::workload::selector_cell;
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy, Write};

pub(super) static NETWORK_POLICY: Row = Row {
    group: "networking.k8s.io",
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    short_names: &["netpol"],
    strategy: &NetworkPolicy,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Pod-Selector", Made(|policy| selector_cell(&policy["spec"]["podSelector"]))),
    AGE,
];
/// A direction, and the member of its rules that lists peers.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];
const TYPES: &[&str] = &["Ingress", "Egress"];

#[derive(Debug)]
struct NetworkPolicy;

impl Strategy for NetworkPolicy {
    #[doc(alias("SetDefaults_NetworkPolicy", "SetDefaults_NetworkPolicyPort"))]
    fn default(&self, object: &mut Object) {
        let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
        for (direction, _) in DIRECTIONS {
            for rule in objects(spec.get_mut(direction)) {
                for port in objects(rule.get_mut("ports")) {
                    port.entry("protocol").or_insert_with(|| "TCP".into());
                }
            }
        }
        if texts(spec.get("policyTypes")).is_empty() {
            let has_egress = items(spec.get("egress"), "").next().is_some();
            let count = if has_egress { 2 } else { 1 };
            spec.insert("policyTypes".to_owned(), json!(TYPES.get(..count)));
        }
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        if let Some(selector) = at(object, "spec.podSelector") {
            label_selector::validate(selector, "spec.podSelector", causes);
        }
        for (direction, peers) in DIRECTIONS {
            let path = format!("spec.{direction}");
            for (path, rule) in items(at(object, &path), &path) {
                for (path, port) in items(rule.get("ports"), &format!("{path}.ports")) {
                    validate_port(port, &path, causes);
                }
                for (path, peer) in items(rule.get(peers), &format!("{path}.{peers}")) {
                    validate_peer(peer, &path, causes);
                }
            }
        }
        let types = texts(at(object, "spec.policyTypes"));
        if types.len() > TYPES.len() {
            let why = "may not specify more than two policyTypes";
            causes.push(FieldError::invalid_json("spec.policyTypes", &json!(types), why));
            return;
        }
        for (path, of) in items(at(object, "spec.policyTypes"), "spec.policyTypes") {
            one_of_texts(of, &path, TYPES, causes);
        }
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        for (direction, peers) in DIRECTIONS {
            let path = format!("spec.{direction}");
            for (path, rule) in items(at(object, &path), &path) {
                for (path, peer) in items(rule.get(peers), &format!("{path}.{peers}")) {
                    let Some(block) = part(peer, "ipBlock") else { continue };
                    let path = format!("{path}.ipBlock");
                    warnings.extend(cidr::warning(said(block, "cidr"), &format!("{path}.cidr")));
                    let except = items(block.get("except"), &format!("{path}.except"));
                    warnings.extend(except.filter_map(|(path, range)| {
                        cidr::warning(range.as_str().unwrap_or_default(), &path)
                    }));
                }
            }
        }
        warnings
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "ValidateNetworkPolicyPort")]
fn validate_port(of: &Value, path: &str, causes: &mut FieldErrors) {
    let protocol = part(of, "protocol").unwrap_or(&Value::Null);
    one_of_texts(protocol, &format!("{path}.protocol"), &["TCP", "UDP", "SCTP"], causes);
    let (port, end) = (part(of, "port"), part(of, "endPort"));
    let end_path = format!("{path}.endPort");
    if let (Some(end), None | Some(Value::String(_))) = (end, port) {
        let how = if port.is_some() { "non-numeric" } else { "not specified" };
        let why = format!("may not be specified when `port` is {how}");
        causes.push(FieldError::invalid_json(end_path.clone(), end, &why));
    }
    let Some(port) = port else { return };
    port_or_name(port, &format!("{path}.port"), causes);
    if let (Some(number), Some(end)) = (port.as_i64(), end) {
        if end.as_i64().is_none_or(|end| end < number) {
            let why = "must be greater than or equal to `port`";
            causes.push(FieldError::invalid_json(end_path.clone(), port, why));
        }
        port_or_name(end, &end_path, causes);
    }
}

#[doc(alias = "ValidateNetworkPolicyPeer")]
fn validate_peer(peer: &Value, path: &str, causes: &mut FieldErrors) {
    let mut selectors = false;
    for member in ["podSelector", "namespaceSelector"] {
        if let Some(selector) = part(peer, member) {
            selectors = true;
            label_selector::validate(selector, &format!("{path}.{member}"), causes);
        }
    }
    match part(peer, "ipBlock") {
        Some(block) => {
            validate_block(block, &format!("{path}.ipBlock"), causes);
            if selectors {
                let why = "may not specify both ipBlock and another peer";
                causes.push(FieldError::forbidden(path, why));
            }
        }
        None if selectors => {}
        None => causes.push(FieldError::required(path, "must specify a peer")),
    }
}

#[doc(alias = "ValidateIPBlock")]
fn validate_block(block: &Value, path: &str, causes: &mut FieldErrors) {
    let cidr_path = format!("{path}.cidr");
    let text = said(block, "cidr");
    if text.is_empty() {
        causes.push(FieldError::required(cidr_path, ""));
        return;
    }
    cidr::validate(text, &cidr_path, causes);
    let Some(range) = Cidr::parse(text) else { return };
    for (path, except) in items(block.get("except"), &format!("{path}.except")) {
        let except = except.as_str().unwrap_or_default();
        cidr::validate(except, &path, causes);
        if Cidr::parse(except).is_some_and(|except| !range.is_wider_than(&except)) {
            let why = "must be a strict subset of `cidr`";
            causes.push(FieldError::invalid(path, except, why));
        }
    }
}
