//! The table of kinds, and the rules of deletes.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::api::recorded::types::TYPES;
use crate::strategy::builtin::KINDS;
use crate::strategy::builtin::row::{CLUSTER, NAMESPACED, Row};
use crate::strategy::{Deletion, Dependents, Generation, Propagation, Strategy};

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("no object: {value}") };
    object
}

fn strategy(group: &str, plural: &str) -> &'static dyn Strategy {
    let row = KINDS.iter().find(|row| row.group == group && row.plural == plural);
    row.expect("the table has the kind").strategy
}

#[test]
fn every_kind_has_a_name_of_its_own_and_a_recorded_shape() {
    let mut seen = HashSet::new();
    for row in KINDS {
        let kind = row.to_kind();
        assert!(seen.insert((row.group, row.version, row.plural)), "{} is there twice", row.kind);
        let is_recorded = TYPES.kind(&kind.api_version(), row.kind).is_some();
        assert!(is_recorded, "{}: record it: cargo xtask record-openapi", row.kind);
    }
}

#[test]
fn a_kind_without_rules_is_one_row() {
    static ALLOWANCES: Row = Row {
        kind: "Allowance",
        plural: "allowances",
        status: true,
        short_names: &["al"],
        ..NAMESPACED
    };
    let (kind, strategy) = (ALLOWANCES.to_kind(), ALLOWANCES.strategy);
    assert_eq!(kind.api_version(), "v1");
    assert!(kind.is_namespaced() && kind.has_status());
    assert!(strategy.updates_unconditionally() && !strategy.creates_on_update());
    assert_eq!(strategy.validate_name("a..b"), strategy.validate_name("A"));
    assert_eq!(strategy.generation(), Generation::None);
    assert_eq!(strategy.storage_prefix(&kind), "allowances");
    assert!(!CLUSTER.to_kind().is_namespaced());
}

#[test]
fn prefixes_in_etcd_are_the_real_servers() {
    let prefixes = KINDS.iter().map(|row| row.strategy.storage_prefix(&row.to_kind()));
    let odd: Vec<String> =
        prefixes.zip(KINDS).filter(|(prefix, row)| prefix != row.plural).map(|of| of.0).collect();
    assert_eq!(
        odd,
        [
            "apiextensions.k8s.io/customresourcedefinitions",
            "minions",
            "services/specs",
            "services/endpoints",
            "controllers",
            "ingress",
            "apiregistration.k8s.io/apiservices",
        ]
    );
}

#[test]
fn a_namespace_is_marked_first_and_held_by_the_finalizers_in_its_spec() {
    let namespaces = strategy("", "namespaces");
    assert_eq!(namespaces.deletion(), Deletion::Mark);
    assert!(namespaces.why_undeletable("default").is_some());
    assert!(namespaces.why_undeletable("a").is_none());
    let of = |policy, orphans| Propagation { policy, orphans };
    for (propagation, finalizers) in [
        (of(None, None), json!(["a", "orphan"])),
        (of(Some("Background"), None), json!(["a"])),
        (of(Some("Foreground"), None), json!(["a", "foregroundDeletion"])),
        (of(None, Some(true)), json!(["a", "orphan"])),
        (of(None, Some(false)), json!(["a", "foregroundDeletion"])),
    ] {
        let mut new = object(json!({
            "metadata": { "name": "n", "finalizers": ["a", "orphan"] },
            "spec": { "finalizers": ["kubernetes"] },
        }));
        assert!(namespaces.is_held(&new));
        namespaces.mark_deleted(&mut new, propagation, Timestamp::UNIX_EPOCH);
        assert_eq!(new["metadata"]["finalizers"], finalizers, "{propagation:?}");
        assert_eq!(new["metadata"]["deletionTimestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(new["status"]["phase"], "Terminating");
    }
}

#[test]
fn a_pod_gets_grace_on_a_node_and_a_second_delete_only_shortens_it() {
    let pods = strategy("", "pods");
    let pod = |phase: &str, node: &str, metadata: Value| {
        object(json!({
            "metadata": metadata,
            "spec": { "nodeName": node, "terminationGracePeriodSeconds": 20 },
            "status": { "phase": phase },
        }))
    };
    let running = pod("Running", "n", json!({}));
    assert_eq!(pods.grace_period(&running, None), 20);
    assert_eq!(pods.grace_period(&running, Some(50)), 50);
    assert_eq!(pods.grace_period(&pod("Failed", "n", json!({})), Some(5)), 0);
    assert_eq!(pods.grace_period(&pod("Pending", "", json!({})), Some(5)), 0);
    let given = json!({ "deletionTimestamp": "now", "deletionGracePeriodSeconds": 10 });
    let ending = pod("Running", "n", given);
    assert_eq!(pods.grace_period(&ending, Some(50)), 10);
    assert_eq!(pods.grace_period(&ending, Some(1)), 1);
    assert!(pods.deletes_gracefully());
}

#[test]
fn dependents_of_jobs_stay_and_events_have_none() {
    assert!(matches!(strategy("batch", "jobs").dependents(), Dependents::Orphan(_)));
    assert_eq!(strategy("", "events").dependents(), Dependents::Unsupported);
    assert_eq!(strategy("events.k8s.io", "events").dependents(), Dependents::Unsupported);
    assert_eq!(strategy("apps", "deployments").dependents(), Dependents::Delete);
    let removed = strategy("", "services").removed_with();
    assert_eq!(removed, Some(("", "v1", "endpoints")));
}

#[test]
fn a_claim_that_grows_needs_its_class_to_allow_it() {
    let claims = strategy("", "persistentvolumeclaims");
    let claim = |size: &str| {
        let resources = json!({ "requests": { "storage": size } });
        object(json!({ "spec": { "storageClassName": "c", "resources": resources } }))
    };
    assert_eq!(claims.class_to_expand(&claim("2Gi"), &claim("1Gi")), Some("c"));
    assert_eq!(claims.class_to_expand(&claim("1Gi"), &claim("1024Mi")), None);
}

#[test]
fn what_counts_a_generation() {
    let old = object(json!({
        "metadata": { "labels": { "a": "b" }, "annotations": { "a": "b" } },
        "spec": 1, "status": 1, "data": 1,
    }));
    let changed = |pointer: &str| {
        let mut new = Value::Object(old.clone());
        *new.pointer_mut(pointer).expect("it is there") = 2.into();
        object(new)
    };
    for (generation, counted) in [
        (Generation::None, &[][..]),
        (Generation::Constant, &[]),
        (Generation::Spec, &["/spec"]),
        (Generation::SpecAndAnnotations, &["/spec", "/metadata/annotations"]),
        (Generation::MembersAndLabels, &["/spec", "/status", "/data", "/metadata/labels"]),
        (Generation::Members, &["/spec", "/status", "/data"]),
        (Generation::MembersButStatus, &["/spec", "/data"]),
    ] {
        for pointer in ["/spec", "/status", "/data", "/metadata/labels", "/metadata/annotations"] {
            let is_counted = generation.is_counted(&changed(pointer), &old);
            assert_eq!(is_counted, counted.contains(&pointer), "{generation:?} {pointer}");
        }
    }
}
