//! StatefulSets.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Map, Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::number;
use crate::strategy::builtin::members::{at, fill, items, members, said, text};
use crate::strategy::builtin::persistent_volume_claim::default_claim;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{
    at_most_100_percent, int_or_percent, label, not_negative, percent,
};
use crate::strategy::builtin::volume_values::{validate_claim_spec, warn_of_claim};
use crate::strategy::builtin::{label_selector, pod_spec, workload};
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static STATEFUL_SET: Row = Row {
    group: "apps",
    kind: "StatefulSet",
    plural: "statefulsets",
    status: true,
    scale: true,
    short_names: &["sts"],
    categories: &["all"],
    strategy: &StatefulSet,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Ready", Made(ready)),
    AGE,
    wide("Containers", Made(workload::containers)),
    wide("Images", Made(workload::images)),
];

/// The members of the spec that may change.
const MUTABLE: [&str; 7] = [
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
];

#[derive(Debug)]
struct StatefulSet;

impl Strategy for StatefulSet {
    #[doc(alias = "SetDefaults_StatefulSet")]
    fn default(&self, object: &mut Object) {
        let defaults = [
            ("podManagementPolicy", json!("OrderedReady")),
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
            ("persistentVolumeClaimRetentionPolicy", json!({})),
        ];
        fill(object, "spec", &defaults);
        let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
        default_strategy(spec);
        if let Some(Value::Object(policy)) = spec.get_mut("persistentVolumeClaimRetentionPolicy") {
            for member in ["whenDeleted", "whenScaled"] {
                policy.entry(member).or_insert_with(|| "Retain".into());
            }
        }
        let claims = spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
        for claim in claims.into_iter().flatten().filter_map(Value::as_object_mut) {
            claim.insert("apiVersion".to_owned(), "v1".into());
            claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
            default_claim(claim);
        }
        pod_spec::default_template(object);
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        object.insert("status".to_owned(), json!({ "replicas": 0, "availableReplicas": 0 }));
        drop_unavailable(object);
    }

    fn prepare_update(&self, object: &mut Object, old: &Object) {
        if at(old, UNAVAILABLE).is_none() {
            drop_unavailable(object);
        }
    }

    fn validate_name(&self, name: &str) -> Option<&'static str> {
        names::wrong_label(name)
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    #[doc(alias = "ValidateStatefulSetSpec")]
    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            return;
        }
        validate_policies(object, causes);
        validate_strategy(object, causes);
        let spec = object.get("spec").unwrap_or(&Value::Null);
        not_negative(spec, "spec", &["replicas", "minReadySeconds"], causes);
        if let Some(ordinals) = at(object, "spec.ordinals") {
            not_negative(ordinals, "spec.ordinals", &["start"], causes);
        }
        if write.old.is_none() {
            validate_claims(object, causes);
            let service = text(object, "spec.serviceName");
            if !service.is_empty() {
                label(service, "spec.serviceName", causes);
            }
        }
        validate_selector(object, causes);
        workload::validate_running(object, "StatefulSet", causes);
    }

    #[doc(alias = "ValidateStatefulSetUpdate")]
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let fixed = |object: &Object| {
            let mut spec = members(object.get("spec"));
            spec.retain(|member, _| !MUTABLE.contains(&member.as_str()));
            spec
        };
        if fixed(object) != fixed(old) {
            let why = "updates to statefulset spec for fields other than 'replicas', \
                       'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', \
                       'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
            causes.push(FieldError::forbidden("spec", why));
        }
    }

    #[doc(alias = "ValidateStatefulSetStatusUpdate")]
    fn validate_status_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let status = object.get("status").unwrap_or(&Value::Null);
        let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
        not_negative(status, "status", &parts, causes);
        let counts = ["replicas", "observedGeneration", "collisionCount"];
        not_negative(status, "status", &counts, causes);
        for part in parts {
            let why = "cannot be greater than status.replicas";
            workload::at_most(status, (part, "replicas"), why, causes);
        }
        let why = "cannot be greater than status.readyReplicas";
        workload::at_most(status, ("availableReplicas", "readyReplicas"), why, causes);
        workload::validate_collisions(object, old, causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        workload::warn_of_template(object, old, "spec.template", &mut warnings);
        let path = "spec.volumeClaimTemplates";
        for (path, claim) in items(at(object, path), path) {
            // As upstream spells it on an update.
            let path = if old.is_some() { format!("{path}.Spec") } else { path };
            warn_of_claim(claim, &path, &mut warnings);
        }
        let limit = at(object, "spec.revisionHistoryLimit").and_then(Value::as_i64);
        if limit.is_some_and(|limit| limit < 0) {
            warnings.push(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a \
                 value >= 0 is recommended"
                    .to_owned(),
            );
        }
        warnings
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn fill_empty(&self, object: &mut Object) {
        fill(object, "spec", &[("replicas", json!(0))]);
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

const UNAVAILABLE: &str = "spec.updateStrategy.rollingUpdate.maxUnavailable";

/// Removes what the feature gate MaxUnavailableStatefulSet, off by default, guards.
#[doc(alias = "dropStatefulSetDisabledFields")]
fn drop_unavailable(object: &mut Object) {
    let strategy = object.get_mut("spec").and_then(|spec| spec.get_mut("updateStrategy"));
    let rolling = strategy.and_then(|strategy| strategy.get_mut("rollingUpdate"));
    if let Some(Value::Object(rolling)) = rolling {
        rolling.remove("maxUnavailable");
    }
}

fn default_strategy(spec: &mut Map<String, Value>) {
    let strategy = spec.entry("updateStrategy").or_insert_with(|| json!({}));
    let Value::Object(strategy) = strategy else { return };
    if said_in(strategy, "type").is_empty() {
        strategy.insert("type".to_owned(), "RollingUpdate".into());
        strategy.entry("rollingUpdate").or_insert_with(|| json!({}));
    }
    let rolls = said_in(strategy, "type") == "RollingUpdate";
    if let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate").filter(|_| rolls) {
        rolling.entry("partition").or_insert_with(|| json!(0));
    }
}

fn said_in<'a>(members: &'a Map<String, Value>, member: &str) -> &'a str {
    members.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn validate_policies(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.podManagementPolicy";
    match text(object, path) {
        "" => causes.push(FieldError::required(path, "")),
        "OrderedReady" | "Parallel" => {}
        other => {
            let why = "must be 'OrderedReady' or 'Parallel'";
            causes.push(FieldError::invalid(path, other, why));
        }
    }
    for member in ["whenDeleted", "whenScaled"] {
        let path = format!("spec.persistentVolumeClaimRetentionPolicy.{member}");
        let policy = text(object, &path);
        if !matches!(policy, "Retain" | "Delete") {
            causes.push(FieldError::unsupported(path.as_str(), policy, &["Retain", "Delete"]));
        }
    }
}

fn validate_strategy(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.updateStrategy.rollingUpdate";
    let strategy = at(object, "spec.updateStrategy").unwrap_or(&Value::Null);
    match (said(strategy, "type"), at(object, path)) {
        ("", _) => causes.push(FieldError::required("spec.updateStrategy", "")),
        ("OnDelete", Some(rolling)) => {
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            causes.push(FieldError::invalid_shown(path, &shown_rolling(rolling), why));
        }
        ("RollingUpdate", Some(rolling)) => {
            not_negative(rolling, path, &["partition"], causes);
            if let Some(unavailable) = rolling.get("maxUnavailable") {
                let path = format!("{path}.maxUnavailable");
                int_or_percent(unavailable, &path, causes);
                let amount = unavailable.as_i64().or_else(|| percent(unavailable.as_str()?));
                if amount.unwrap_or(0) == 0 {
                    causes.push(FieldError::invalid_json(
                        path.as_str(),
                        unavailable,
                        "cannot be 0",
                    ));
                }
                at_most_100_percent(unavailable, &path, causes);
            }
        }
        ("OnDelete" | "RollingUpdate", None) => {}
        (other, rolling) => {
            let rolling = rolling.map_or_else(|| "null".to_owned(), shown_rolling);
            let shown = format!("{{\"Type\":{other:?},\"RollingUpdate\":{rolling}}}");
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            causes.push(FieldError::invalid_shown("spec.updateStrategy", &shown, why));
        }
    }
}

/// In the order and format of Go's type.
fn shown_rolling(rolling: &Value) -> String {
    let partition = rolling.get("partition").and_then(Value::as_i64).unwrap_or(0);
    let unavailable = rolling.get("maxUnavailable").unwrap_or(&Value::Null);
    format!("{{\"Partition\":{partition},\"MaxUnavailable\":{unavailable}}}")
}

fn validate_claims(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.volumeClaimTemplates";
    for (path, claim) in items(at(object, path), path) {
        if let Value::Object(claim) = claim {
            validate_claim_spec(claim, &format!("{path}.spec"), causes);
        }
    }
}

fn validate_selector(object: &Object, causes: &mut FieldErrors) {
    let selector = at(object, "spec.selector");
    match selector {
        None => causes.push(FieldError::required("spec.selector", "")),
        Some(selector) => {
            label_selector::validate(selector, "spec.selector", causes);
            workload::refuse_empty_selector(selector, "statefulset", causes);
        }
    }
    if let Some(selector) = selector.filter(|selector| !label_selector::is_usable(selector)) {
        let message = format!("Invalid value: {}", label_selector::shown(selector));
        causes.push(FieldError::new("FieldValueInvalid", "spec.selector".to_owned(), message));
        return;
    }
    workload::validate_labels(object, selector, causes);
    pod_spec::validate_template(Some(&template_of_pods(object)), "spec.template", causes);
}

/// The template as the controller completes it: each claim is a volume, and the pods have hostnames
/// and a subdomain of their own.
fn template_of_pods(object: &Object) -> Value {
    let mut template = at(object, "spec.template").cloned().unwrap_or_default();
    let Some(Value::Object(spec)) = template.get_mut("spec") else { return template };
    spec.remove("hostname");
    spec.remove("subdomain");
    let claims = items(at(object, "spec.volumeClaimTemplates"), "");
    let names: Vec<String> = claims
        .map(|(_, claim)| {
            claim.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
        })
        .collect();
    if names.is_empty() {
        return template;
    }
    let mut volumes: Vec<Value> = Vec::new();
    for name in &names {
        let known = volumes.iter().any(|volume| said(volume, "name") == name);
        if !known {
            let source = json!({ "claimName": name });
            volumes.push(json!({ "name": name, "persistentVolumeClaim": source }));
        }
    }
    let own = spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let own = own.filter(|volume| !names.iter().any(|name| name == said(volume, "name")));
    volumes.extend(own.cloned());
    spec.insert("volumes".to_owned(), volumes.into());
    template
}

/// How many of how many pods are ready.
fn ready(object: &Value) -> Value {
    format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas"))
        .into()
}
