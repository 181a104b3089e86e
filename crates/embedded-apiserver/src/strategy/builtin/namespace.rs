//! Namespaces.

use jiff::Timestamp;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::clock;
use crate::api::metadata::{self, Object};
use crate::strategy::builtin::members::at;
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::columns::Cell::Member;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Deletion, Propagation, Strategy, Write};

pub(super) static NAMESPACE: Row = Row {
    kind: "Namespace",
    plural: "namespaces",
    status: true,
    short_names: &["ns"],
    selectable: &["status.phase"],
    strategy: &Namespace,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[NAME, column("Status", Member("/status/phase", "")), AGE];

#[derive(Debug)]
struct Namespace;

impl Strategy for Namespace {
    fn default(&self, object: &mut Object) {
        let name = metadata::text(object, "name").to_owned();
        let labels = metadata::of(object).entry("labels").or_insert_with(|| json!({}));
        labels["kubernetes.io/metadata.name"] = name.into();
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        object.insert("status".to_owned(), json!({ "phase": "Active" }));
        object.insert("spec".to_owned(), json!({ "finalizers": ["kubernetes"] }));
    }

    fn validate_name(&self, name: &str) -> Option<&'static str> {
        names::wrong_label(name)
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        // Upstream also checks the label that it makes of the name.
        let name = metadata::text(object, "name");
        if name.len() > 63 {
            let why = "must be no more than 63 bytes";
            causes.push(FieldError::invalid("metadata.labels", name, why));
        }
    }

    fn has_finalize(&self) -> bool {
        true
    }

    fn deletes_collections(&self) -> bool {
        false
    }

    /// The first delete only marks the namespace. The next one removes it.
    fn deletion(&self) -> Deletion {
        Deletion::Mark
    }

    /// The admission plugin NamespaceLifecycle.
    fn why_undeletable(&self, name: &str) -> Option<&'static str> {
        let is_protected = matches!(name, "default" | "kube-public" | "kube-system");
        is_protected.then_some("this namespace may not be deleted")
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn mark_deleted(&self, object: &mut Object, propagation: Propagation<'_>, now: Timestamp) {
        metadata::set(object, "deletionTimestamp", clock::seconds(now));
        let status = object.entry("status").or_insert_with(|| json!({}));
        if let Value::Object(status) = status {
            status.insert("phase".to_owned(), "Terminating".into());
        }
        set_finalizers(object, propagation);
    }

    /// The finalizers of the spec hold a namespace until it is empty.
    fn is_held(&self, object: &Object) -> bool {
        let finalizers = at(object, "spec.finalizers").and_then(Value::as_array);
        finalizers.is_some_and(|finalizers| !finalizers.is_empty())
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Sets the garbage collector's finalizers by the options. Only for namespaces, `orphanDependents:
/// false` means foreground.
fn set_finalizers(namespace: &mut Object, propagation: Propagation<'_>) {
    let finalizers = metadata::finalizers(namespace);
    let wants = |finalizer: &str, of_policy: &str, of_orphans: bool| match propagation {
        Propagation { orphans: Some(orphans), .. } => orphans == of_orphans,
        Propagation { policy: Some(policy), .. } => policy == of_policy,
        Propagation { policy: None, orphans: None } => finalizers.contains(&finalizer),
    };
    let wanted = [
        ("orphan", wants("orphan", "Orphan", true)),
        ("foregroundDeletion", wants("foregroundDeletion", "Foreground", false)),
    ];
    if wanted.iter().all(|(finalizer, wanted)| finalizers.contains(finalizer) == *wanted) {
        return;
    }
    let mut new: Vec<&str> = Vec::new();
    let kept = finalizers.iter().filter(|finalizer| wanted.iter().all(|(of, _)| of != *finalizer));
    let added = wanted.iter().filter(|(_, wanted)| *wanted).map(|(of, _)| *of);
    for finalizer in kept.copied().chain(added) {
        if !new.contains(&finalizer) {
            new.push(finalizer);
        }
    }
    let new = Value::from(new);
    metadata::set(namespace, "finalizers", new);
    metadata::normalize(namespace);
}
