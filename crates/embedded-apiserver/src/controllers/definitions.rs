//! The controllers of CustomResourceDefinitions, which run at once after each write to one. They
//! accept names, serve or withdraw kinds, and delete the objects of a deleted definition.
//!
//! A step is one write under the store's lock, based on the stored state. Concurrent and repeated
//! steps are harmless.

mod put;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde_json::Value;

use crate::api::clock;
use crate::api::metadata::{self, Object};
use crate::rest::ApiState;
use crate::rest::route::Target;
use crate::rest::{delete_all, of_controllers};
use crate::store::state::{Place, State};
use crate::store::stored::{Key, Stored};
use crate::strategy::crd::{
    self, Ended, TABLE,
    members::{is_true, text},
    status,
};
use crate::strategy::resource::ServedResource;

pub(crate) use put::register;

/// The result of a step.
enum Step {
    /// The definition is reconciled.
    Done,
    /// The step wrote, or the next one may.
    Again,
    /// The objects of this kind must be deleted first.
    Clean(Arc<ServedResource>),
}

/// A step and the registration that it ended. Drop it without any lock: it wakes watches.
struct Stepped {
    step: Step,
    ended: Option<Ended>,
    /// The names of the definition changed, so others of the group may now be accepted.
    names_changed: bool,
}

/// Reconciles a definition, and those of its group when its names change.
pub(crate) fn reconcile_crd(api: &ApiState, name: &str) {
    let mut waiting = BTreeSet::from([name.to_owned()]);
    while let Some(name) = waiting.pop_first() {
        let mut cleaned = false;
        loop {
            let now = api.clock.now();
            let stepped = api.store.write(|state| step(api, state, &name, now, cleaned));
            drop(stepped.ended);
            if stepped.names_changed {
                waiting.extend(beside(api, &name));
            }
            match stepped.step {
                Step::Done => break,
                Step::Again => {}
                Step::Clean(kind) => {
                    delete_all(api, &kind);
                    cleaned = true;
                }
            }
        }
    }
}

/// Reconciles every definition.
pub(crate) fn reconcile_all(api: &ApiState) {
    let place = Place { table: TABLE, namespace: None, from: None };
    let snapshot = api.store.look(|state| state.snapshot(&place, None)).unwrap_or_default();
    let served = api.registry.read().definitions();
    let names: BTreeSet<String> =
        snapshot.iter().map(|stored| stored.key.name().to_owned()).chain(served).collect();
    names.iter().for_each(|name| reconcile_crd(api, name));
}

/// The other definitions of the group.
fn beside(api: &ApiState, name: &str) -> Vec<String> {
    let group = name.split_once('.').map_or("", |(_, group)| group);
    let place = Place { table: TABLE, namespace: None, from: None };
    let snapshot = api.store.look(|state| state.snapshot(&place, None)).unwrap_or_default();
    let names = snapshot.iter().map(|stored| stored.key.name());
    let of_group = names
        .filter(|other| *other != name && other.split_once('.').is_some_and(|(_, of)| of == group));
    of_group.map(str::to_owned).collect()
}

/// Reconciles the definition of a kind, if it waits for the delete of its last object.
pub(crate) fn reconcile_crd_of(api: &ApiState, kind: &ServedResource) {
    if kind.is_built_in() || kind.definition().is_none() {
        return;
    }
    let now = api.registry.read().find(kind.group(), kind.version(), kind.plural());
    if now.is_some_and(|now| now.definition().is_some_and(|served| served.terminating)) {
        reconcile_crd(api, &crd::name_of(kind));
    }
}

/// Reconciles the definitions that a request may have affected.
pub(crate) fn written(api: &ApiState, target: &Target, request: &Request<Bytes>) {
    let kind = &target.kind;
    if *kind.storage != *TABLE {
        return reconcile_crd_of(api, kind);
    }
    match &target.name {
        Some(name) => reconcile_crd(api, name),
        None if request.method() == http::Method::POST => {
            let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            if let Some(name) = body.pointer("/metadata/name").and_then(Value::as_str) {
                reconcile_crd(api, name);
            }
        }
        None => reconcile_all(api),
    }
}

fn step(api: &ApiState, state: &mut State, name: &str, now: Timestamp, cleaned: bool) -> Stepped {
    let key = Key::new("", name);
    let kind = api.registry.read().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let found = state.get(TABLE, &key).cloned();
    let (Some(kind), Some(current)) = (kind, found) else {
        let ended = api.registry.write().withdraw(name);
        return Stepped { step: Step::Done, names_changed: ended.is_some(), ended };
    };
    let object = current.object();
    let time = clock::seconds(now);
    let again = |ended| Stepped { step: Step::Again, ended, names_changed: false };
    if status::is_cleaning_up(&object) {
        let mut new = object.clone();
        status::begin_clean_up(&mut new, &time);
        if new != object && !cleaned {
            write(api, state, &kind, &current, &object, new, now);
            let ended = serve(api, state, name);
            return again(ended);
        }
        if is_true(&object, "Established")
            && let Some(stored_as) = api.registry.read().stored_as(name)
            && has_objects(state, &stored_as)
        {
            let step = if cleaned { Step::Done } else { Step::Clean(stored_as) };
            return Stepped { step, ended: None, names_changed: false };
        }
        status::end_clean_up(&mut new, &time);
        if metadata::finalizers(&new).is_empty() {
            let last = current.at_revision(&kind, state.next_revision());
            state.remove(&kind.storage, Arc::new(last));
        } else {
            write(api, state, &kind, &current, &object, new, now);
        }
        return again(None);
    }
    let group = object.get("spec").map_or("", |spec| text(spec, "group")).to_owned();
    let others: Vec<Object> = of_group(state, &group);
    let names = |object: &Object| {
        object.get("status").and_then(|status| status.get("acceptedNames")).cloned()
    };
    if let Some(new) = status::next(&object, &others, &time) {
        let names_changed = names(&new) != names(&object);
        write(api, state, &kind, &current, &object, new, now);
        return Stepped { step: Step::Again, ended: None, names_changed };
    }
    let ended = serve(api, state, name);
    Stepped { step: Step::Done, ended, names_changed: false }
}

/// All definitions of a group. Their names end in it.
fn of_group(state: &State, group: &str) -> Vec<Object> {
    let place = Place { table: TABLE, namespace: None, from: None };
    let is_of =
        |stored: &Stored| stored.key.name().split_once('.').is_some_and(|(_, of)| of == group);
    let visited = state.visit(&place, None, |objects| {
        objects.filter(|stored| is_of(stored)).map(|stored| stored.object()).collect::<Vec<_>>()
    });
    visited.map(|visited| visited.found).unwrap_or_default()
}

fn has_objects(state: &State, kind: &ServedResource) -> bool {
    let place = Place { table: &kind.storage, namespace: None, from: None };
    state.visit(&place, None, |objects| objects.next().is_some()).is_ok_and(|visited| visited.found)
}

fn write(
    api: &ApiState,
    state: &mut State,
    kind: &ServedResource,
    current: &Stored,
    old: &Object,
    mut new: Object,
    now: Timestamp,
) {
    let revision = state.next_revision();
    let managed = of_controllers(api, kind, old, current.managed(), &new, now);
    let stored = Stored::new(kind, current.key.clone(), revision, &mut new, &managed.encode());
    state.put(&kind.storage, Arc::new(stored));
}

/// Serves or withdraws the kinds of the definition.
fn serve(api: &ApiState, state: &State, name: &str) -> Option<Ended> {
    let stored = state.get(TABLE, &Key::new("", name))?;
    let object = stored.object();
    let mut registry = api.registry.write();
    if is_true(&object, "NamesAccepted") || is_true(&object, "Established") {
        registry.serve(name, &object, state.revision())
    } else {
        registry.withdraw(name)
    }
}
