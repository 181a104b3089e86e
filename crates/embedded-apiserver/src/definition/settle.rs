//! Settling: after a write to a definition, what Kubernetes' controllers would do about it is done
//! at once: names are accepted or not, kinds are served or withdrawn, the objects of a deleted
//! definition are deleted. Each step is one write under the store's lock, and looks at what is
//! there: it does not matter who begins it, or how often.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::clock;
use crate::definition::registered::Ended;
use crate::definition::structural::text;
use crate::definition::{self, TABLE, status};
use crate::kind::{InvalidKind, Kind};
use crate::metadata::{self, Object};
use crate::rest;
use crate::server::Core;
use crate::store::Inner;
use crate::store::state::Place;
use crate::stored::{Key, Stored};

/// What a step found.
enum Step {
    /// There is nothing to do.
    Done,
    /// Something was written, or may be written next.
    Again,
    /// Its objects must go first.
    Clean(Arc<Kind>),
}

/// A step, and what it ended: dropped when no lock is held, for it wakes watches.
struct Stepped {
    step: Step,
    ended: Option<Ended>,
    /// Other definitions of the group may get the names that this one wanted.
    names_changed: bool,
}

/// Settles a definition, and those beside it that its names concern.
pub(crate) fn settle(core: &Core, name: &str) {
    let mut waiting = BTreeSet::from([name.to_owned()]);
    while let Some(name) = waiting.pop_first() {
        let mut cleaned = false;
        loop {
            let now = core.clock.now();
            let stepped = core.store.write(|inner| step(core, inner, &name, now, cleaned));
            drop(stepped.ended);
            if stepped.names_changed {
                waiting.extend(beside(core, &name));
            }
            match stepped.step {
                Step::Done => break,
                Step::Again => {}
                Step::Clean(kind) => {
                    rest::delete_all(core, &kind);
                    cleaned = true;
                }
            }
        }
    }
}

/// Settles every definition.
pub(crate) fn settle_all(core: &Core) {
    let place = Place { table: TABLE, namespace: None, from: None };
    let snapshot = core.store.write(|inner| inner.state.snapshot(&place, None)).unwrap_or_default();
    let served = core.registry.read().definitions();
    let names: BTreeSet<String> =
        snapshot.iter().map(|stored| stored.key.name().to_owned()).chain(served).collect();
    names.iter().for_each(|name| settle(core, name));
}

/// The other definitions of the group.
fn beside(core: &Core, name: &str) -> Vec<String> {
    let group = name.split_once('.').map_or("", |(_, group)| group);
    let place = Place { table: TABLE, namespace: None, from: None };
    let snapshot = core.store.write(|inner| inner.state.snapshot(&place, None)).unwrap_or_default();
    let names = snapshot.iter().map(|stored| stored.key.name());
    let of_group = names
        .filter(|other| *other != name && other.split_once('.').is_some_and(|(_, of)| of == group));
    of_group.map(str::to_owned).collect()
}

/// Settles the definition of a kind if it waits for its last object to go.
pub(crate) fn settle_of(core: &Core, kind: &Kind) {
    if kind.builtin.is_some() || kind.definition().is_none() {
        return;
    }
    let now = core.registry.read().find(kind.group(), kind.version(), kind.plural());
    if now.is_some_and(|now| now.definition().is_some_and(|served| served.terminating)) {
        settle(core, &definition::name_of(kind));
    }
}

fn step(core: &Core, inner: &mut Inner, name: &str, now: Timestamp, cleaned: bool) -> Stepped {
    let key = Key::new("", name);
    let kind = core.registry.read().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let found = inner.state.get(TABLE, &key).cloned();
    let (Some(kind), Some(current)) = (kind, found) else {
        let ended = core.registry.write().withdraw(name);
        return Stepped { step: Step::Done, names_changed: ended.is_some(), ended };
    };
    let object = current.object();
    let time = clock::seconds(now);
    let again = |ended| Stepped { step: Step::Again, ended, names_changed: false };
    if status::is_cleaning_up(&object) {
        let mut new = object.clone();
        status::begin_clean_up(&mut new, &time);
        if new != object && !cleaned {
            write(core, inner, &kind, &current, &object, new, now);
            let ended = serve(core, inner, name);
            return again(ended);
        }
        if status::is_true(&object, "Established")
            && let Some(stored_as) = core.registry.read().stored_as(name)
            && has_objects(inner, &stored_as)
        {
            let step = if cleaned { Step::Done } else { Step::Clean(stored_as) };
            return Stepped { step, ended: None, names_changed: false };
        }
        status::end_clean_up(&mut new, &time);
        if metadata::finalizers(&new).is_empty() {
            let last = current.at_revision(&kind, inner.state.next_revision());
            inner.state.remove(&kind.storage, Arc::new(last));
        } else {
            write(core, inner, &kind, &current, &object, new, now);
        }
        return again(None);
    }
    let group = object.get("spec").map_or("", |spec| text(spec, "group")).to_owned();
    let others: Vec<Object> = of_group(inner, &group);
    let names = |object: &Object| {
        object.get("status").and_then(|status| status.get("acceptedNames")).cloned()
    };
    if let Some(new) = status::next(&object, &others, &time) {
        let names_changed = names(&new) != names(&object);
        write(core, inner, &kind, &current, &object, new, now);
        return Stepped { step: Step::Again, ended: None, names_changed };
    }
    let ended = serve(core, inner, name);
    Stepped { step: Step::Done, ended, names_changed: false }
}

/// All definitions of a group: their names end in it.
fn of_group(inner: &Inner, group: &str) -> Vec<Object> {
    let place = Place { table: TABLE, namespace: None, from: None };
    let is_of =
        |stored: &Stored| stored.key.name().split_once('.').is_some_and(|(_, of)| of == group);
    let visited = inner.state.visit(&place, None, |objects| {
        objects.filter(|stored| is_of(stored)).map(|stored| stored.object()).collect::<Vec<_>>()
    });
    visited.map(|visited| visited.found).unwrap_or_default()
}

fn has_objects(inner: &Inner, kind: &Kind) -> bool {
    let place = Place { table: &kind.storage, namespace: None, from: None };
    inner
        .state
        .visit(&place, None, |objects| objects.next().is_some())
        .is_ok_and(|visited| visited.found)
}

fn write(
    core: &Core,
    inner: &mut Inner,
    kind: &Kind,
    current: &Stored,
    old: &Object,
    mut new: Object,
    now: Timestamp,
) {
    let revision = inner.state.next_revision();
    let managed = rest::of_controllers(core, kind, old, current.managed(), &new, now);
    let stored = Stored::new(kind, current.key.clone(), revision, &mut new, &managed.encode());
    inner.state.put(&kind.storage, Arc::new(stored));
}

/// Serves the kinds as the definition has them now, or withdraws them.
fn serve(core: &Core, inner: &Inner, name: &str) -> Option<Ended> {
    let stored = inner.state.get(TABLE, &Key::new("", name))?;
    let object = stored.object();
    let mut registry = core.registry.write();
    if status::is_true(&object, "NamesAccepted") || status::is_true(&object, "Established") {
        registry.serve(name, &object, inner.state.revision())
    } else {
        registry.withdraw(name)
    }
}

/// Creates a definition, or replaces the one of its name, as a client would.
///
/// # Errors
///
/// [`InvalidKind`] with what the API would have answered.
pub(crate) fn register(
    core: &Core,
    definition: &CustomResourceDefinition,
) -> Result<(), InvalidKind> {
    let refused = |name: &str, why: &str| InvalidKind::refused(name, why);
    let mut said = definition.metadata.name.clone().unwrap_or_default();
    let object =
        serde_json::to_value(definition).map_err(|error| refused(&said, &error.to_string()))?;
    let Value::Object(mut object) = object else { return Ok(()) };
    if said.is_empty() {
        said = format!("{}.{}", definition.spec.names.plural, definition.spec.group);
        metadata::set(&mut object, "name", said.as_str());
    }
    for member in ["apiVersion", "kind", "status"] {
        object.remove(member);
    }
    for member in ["resourceVersion", "uid"] {
        metadata::of(&mut object).remove(member);
    }
    let Some(kind) =
        core.registry.read().find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    else {
        return Ok(());
    };
    rest::put(core, &kind, None, object).map_err(|status| refused(&said, status.message()))?;
    settle(core, &said);
    Ok(())
}
