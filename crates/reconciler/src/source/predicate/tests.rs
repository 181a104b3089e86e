//! The predicates as a table.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use super::*;

type Predicate = fn(&Change<Deployment>) -> bool;

fn deployment(metadata: serde_json::Value) -> Arc<Deployment> {
    Arc::new(serde_json::from_value(json!({ "metadata": metadata })).unwrap())
}

/// A change from generation 1 to an object with this metadata.
fn change(metadata: serde_json::Value) -> Change<Deployment> {
    Change::changed(deployment(json!({"name": "a", "generation": 1})), deployment(metadata))
}

const ALL: [(&str, Predicate); 4] = [
    ("generation", generation_changed),
    ("spec or deletion", spec_or_deletion),
    ("labels", labels_changed),
    ("annotations", annotations_changed),
];

fn passing(change: &Change<Deployment>) -> Vec<&'static str> {
    let passing = ALL.iter().filter(|(_, predicate)| predicate(change));
    passing.map(|(name, _)| *name).collect()
}

#[test]
fn the_table() {
    let time = "2026-01-01T00:00:00Z";
    for (metadata, expected) in [
        (json!({"name": "a", "generation": 1, "resourceVersion": "9"}), &[][..]),
        (json!({"name": "a", "generation": 2}), &["generation", "spec or deletion"]),
        (json!({"name": "a"}), &["generation", "spec or deletion"]),
        (json!({"name": "a", "generation": 1, "labels": {"a": "b"}}), &["labels"]),
        (json!({"name": "a", "generation": 1, "annotations": {"a": "b"}}), &["annotations"]),
        (json!({"name": "a", "generation": 1, "deletionTimestamp": time}), &["spec or deletion"]),
        (json!({"name": "a", "generation": 1, "finalizers": ["a/b"]}), &["spec or deletion"]),
    ] {
        assert_eq!(passing(&change(metadata.clone())), expected, "{metadata}");
    }
}

#[test]
fn what_appears_and_what_vanishes_passes() {
    let object = deployment(json!({"name": "a", "generation": 1}));
    for change in [Change::appeared(Arc::clone(&object)), Change::vanished(object)] {
        assert_eq!(passing(&change).len(), ALL.len(), "{}", change.kind());
    }
}

#[test]
fn a_kind_without_a_generation_passes_all_its_changes() {
    let metadata = |version: &str| deployment(json!({"name": "a", "resourceVersion": version}));
    let change = Change::changed(metadata("1"), metadata("2"));
    assert_eq!(passing(&change), ["generation", "spec or deletion"]);
}

#[test]
fn a_pause_ends_with_its_annotation() {
    let paused = |value: &str| deployment(json!({"name": "a", "annotations": {"a/paused": value}}));
    let (free, other) = (deployment(json!({"name": "a"})), not_paused("a/other"));
    let predicate = not_paused::<Deployment>("a/paused");
    for (change, expected) in [
        (Change::appeared(paused("")), false),
        (Change::appeared(paused("false")), true),
        (Change::changed(Arc::clone(&free), paused("true")), false),
        (Change::changed(paused("true"), Arc::clone(&free)), true),
        (Change::vanished(paused("true")), true),
        (Change::appeared(free), true),
    ] {
        assert_eq!(predicate(&change), expected, "{change:?}");
        assert!(other(&change), "{change:?}");
    }
}
