//! From what files say to objects in the store: created on a server of their own first, so that
//! nothing has happened if one of them is wrong, then put in place with what their files say about
//! them.

use std::sync::Arc;

use k8s_merge::managed_fields::ManagedFields;
use parking_lot::RwLock;
use serde_json::Value;

use crate::builtin::Builtin;
use crate::controllers::definitions::settle_all;
use crate::definition;
use crate::metadata::{self, Object};
use crate::query::FieldValidation;
use crate::registry::Registry;
use crate::resource::ServedResource;
use crate::rest::ApiState;
use crate::rest::{self, create_object};
use crate::snapshot::folder::{Found, FoundObject};
use crate::snapshot::services::{self, Replaced};
use crate::snapshot::{MAX_REVISION, SnapshotError, kind_of, named};
use crate::status::{FieldErrors, Status};
use crate::store::state::{Place, State};
use crate::stored::{Key, Stored};

/// Where a file may say something else than a create would make of it.
enum Member {
    Metadata(&'static str),
    Top(&'static str),
}

/// When what the file says stands.
enum Stands {
    /// If it says something.
    Said,
    /// If it says something that is not empty: members that Go always writes are in a manifest when
    /// nobody has said them. What was saved, and what is custom, was so.
    Filled,
    /// If it is as it was saved, and then also that it says nothing.
    Saved,
}

/// What a file and a create may differ in; of one kind, or of all.
const DIFFERENCES: &[(Option<Builtin>, Member, Stands)] = &[
    (None, Member::Metadata("creationTimestamp"), Stands::Said),
    (None, Member::Metadata("generation"), Stands::Said),
    (None, Member::Metadata("deletionTimestamp"), Stands::Said),
    (None, Member::Metadata("deletionGracePeriodSeconds"), Stands::Said),
    (None, Member::Metadata("selfLink"), Stands::Said),
    // Those that protect claims and volumes come with their creation.
    (None, Member::Metadata("finalizers"), Stands::Saved),
    (None, Member::Top("status"), Stands::Filled),
    // Its finalizers: what holds a namespace that is being deleted.
    (Some(Builtin::Namespace), Member::Top("spec"), Stands::Filled),
];

/// An object that has been checked.
struct Checked {
    kind: Arc<ServedResource>,
    key: Key,
    object: Object,
    /// The managedFields of its file, as JSON.
    managed: String,
    /// As its file says; 0: it has yet to get one.
    revision: u64,
    /// Something of it goes without saying until its next write.
    unsaid: bool,
}

/// Puts objects into a server; returns how many.
pub(super) fn restore(core: &ApiState, found: Found) -> Result<usize, SnapshotError> {
    let mut objects = found.objects;
    let services = Replaced::by(core, &objects);
    let scratch = scratch(core, services.as_ref());
    objects.sort_by_key(|found| phase(&found.object));
    let (mut checked, mut origins) = (Vec::new(), Vec::new());
    for FoundObject { file, object, as_saved } in objects {
        let name = named(&object);
        let wrong =
            |why: String| SnapshotError::Object { file: file.clone(), object: name.clone(), why };
        let mut object = match check(&scratch, &object, as_saved) {
            // The server that has saved it had it: it may be older than the rules that it breaks.
            Err(why) if as_saved => as_it_was(&scratch, object).ok_or_else(|| wrong(why))?,
            checked => checked.map_err(wrong)?,
        };
        object.unsaid |= found.unsaid.contains(&file);
        let defines = *object.kind.storage == *definition::TABLE;
        checked.push(object);
        origins.push((file, name));
        if defines {
            // What it defines is served from here on, for the objects that follow.
            settle_all(&scratch);
        }
    }
    let count = checked.len();
    core.store
        .write(|state| commit(state, found.revision.unwrap_or(0), checked, services.as_ref()))
        .map_err(|(at, why)| {
            let (file, object) = origins.swap_remove(at);
            SnapshotError::Object { file, object, why }
        })?;
    settle_all(core);
    Ok(count)
}

/// Definitions before their objects, namespaces before what is in them.
fn phase(object: &Value) -> u8 {
    match object.get("kind").and_then(Value::as_str) {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        _ => 2,
    }
}

/// A server that serves the same kinds, has the same namespaces, the Services that stay beside
/// those of the folder, and nothing else. Its uids come from the real one's
/// generator, so that they are as repeatable.
fn scratch(core: &ApiState, services: Option<&Replaced>) -> ApiState {
    let Some(kind) = core.registry.read().find("", "v1", "namespaces") else {
        unreachable!("namespaces are built in");
    };
    let (rng, tables) = core.store.write(|state| {
        let place = Place { table: &kind.storage, namespace: None, from: None };
        let namespaces = state.snapshot(&place, None).unwrap_or_default();
        let mut tables = vec![(Arc::clone(&kind.storage), namespaces)];
        tables.extend(
            services.map(|services| (Arc::clone(&services.kind.storage), services.kept(state))),
        );
        (core.store.draw(fastrand::Rng::fork), tables)
    });
    let mut registry = Registry::with_builtin_kinds();
    registry.adopt(&core.registry.read());
    let registry = Arc::new(RwLock::new(registry));
    let (clock, front) = (core.clock.clone(), core.front.clone());
    let scratch = ApiState::new(core.options.clone(), registry, clock, front, rng);
    scratch.store.write(|state| state.restore(tables, 0));
    scratch
}

/// The kind that an object is of, in the form that it is stored in or another one.
fn kind_in(scratch: &ApiState, object: &Value) -> Result<Arc<ServedResource>, String> {
    let registry = scratch.registry.read();
    // One that is stored and not served is rare.
    let stored = || kind_of(registry.stored().iter(), object).cloned();
    kind_of(registry.kinds(), object).cloned().or_else(stored).ok_or_else(|| {
        let text = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
        format!(
            "apiVersion, kind: no kind {:?} is served in {:?}; register it before, or put its definition into the folder",
            text("kind"),
            text("apiVersion")
        )
    })
}

/// The revision that an object says to have; 0 if it says none.
fn revision_of(object: &Object) -> Result<u64, String> {
    let text = metadata::text(object, "resourceVersion");
    match text.parse() {
        _ if text.is_empty() => Ok(0),
        Ok(revision) if revision <= MAX_REVISION => Ok(revision),
        Ok(revision) => {
            Err(format!("metadata.resourceVersion: {revision} is more than {MAX_REVISION}"))
        }
        Err(_) => Err(format!("metadata.resourceVersion: {text:?} is no number")),
    }
}

/// The managedFields that an object says to have, as JSON.
fn managed_of(kind: &ServedResource, object: &Value, as_saved: bool) -> Result<String, String> {
    let wrong = |why: &str| format!("metadata.managedFields: {why}");
    let entries = match object.pointer("/metadata/managedFields") {
        None | Some(Value::Null) => return Ok(String::new()),
        Some(said @ Value::Array(_)) if as_saved => return Ok(said.to_string()),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err(wrong("expected a list")),
    };
    let managed = ManagedFields::decode(entries).map_err(|why| wrong(&why))?;
    let mut causes = FieldErrors::default();
    managed.validate(&mut causes);
    if !causes.is_empty() {
        return Err(Status::invalid(kind, "", &causes).message().to_owned());
    }
    Ok(managed.encode())
}

/// An object as its file says it, unchecked: only for files that are as they were saved, and of
/// what is not there yet.
fn as_it_was(scratch: &ApiState, object: Value) -> Option<Checked> {
    let kind = kind_in(scratch, &object).ok()?;
    let managed = managed_of(&kind, &object, true).ok()?;
    let Value::Object(mut object) = object else { return None };
    let revision = revision_of(&object).ok()?;
    object.remove("apiVersion");
    object.remove("kind");
    metadata::of(&mut object).remove("managedFields");
    let namespace = if kind.is_namespaced() { metadata::text(&object, "namespace") } else { "" };
    let key = Key::new(namespace, metadata::text(&object, "name"));
    let is_whole = !key.name().is_empty() && kind.is_namespaced() != namespace.is_empty();
    if !is_whole || scratch.store.get(&kind.storage, &key).is_some() {
        return None;
    }
    let stored = Stored::new(&kind, key.clone(), revision, &mut object.clone(), &managed);
    let tables = vec![(Arc::clone(&kind.storage), vec![Arc::new(stored)])];
    scratch.store.write(|state| state.restore(tables, 0));
    Some(Checked { kind, key, object, managed, revision, unsaid: false })
}

/// What becomes of an object: defaulted and checked as in a create, with what a create would not
/// have kept.
fn check(scratch: &ApiState, object: &Value, as_saved: bool) -> Result<Checked, String> {
    let kind = kind_in(scratch, object)?;
    let managed = managed_of(&kind, object, as_saved)?;
    let body = object.to_string();
    let decoded = rest::decode_object(&kind, body.as_bytes(), FieldValidation::Strict);
    let said = decoded.map_err(|status| status.message().to_owned())?.object;
    let revision = revision_of(&said)?;
    // What a kind makes of the uid is in the object already: the labels of a Job's pods.
    let uid = Some(metadata::text(&said, "uid")).filter(|uid| !uid.is_empty());
    let namespace = match (kind.is_namespaced(), metadata::text(&said, "namespace")) {
        (true, "") => Some("default".to_owned()),
        (true, namespace) => Some(namespace.to_owned()),
        (false, "") => None,
        (false, namespace) => {
            return Err(format!(
                "metadata.namespace: {namespace:?}, but the kind is of cluster scope"
            ));
        }
    };
    let mut created = said.clone();
    metadata::of(&mut created).remove("resourceVersion");
    if kind.builtin == Some(Builtin::Namespace) {
        make_way(scratch, &kind, metadata::text(&said, "name"));
    }
    let stored = create_object(scratch, &kind, namespace.as_deref(), Value::Object(created), uid)
        .map_err(|status| status.message().to_owned())?;
    let mut new = stored.object();
    put_back(&kind, object, &said, as_saved, &mut new);
    let unsaid = stored.leaves_unsaid();
    Ok(Checked { key: stored.key.clone(), kind, object: new, managed, revision, unsaid })
}

/// What the file says, over what a create has made of it. `said` is the file's object in the kind's
/// form.
fn put_back(kind: &ServedResource, file: &Value, said: &Object, as_saved: bool, new: &mut Object) {
    let is_exact = as_saved || kind.builtin.is_none();
    let rows = DIFFERENCES.iter().filter(|(of, ..)| of.is_none_or(|of| kind.builtin == Some(of)));
    for (_, place, stands) in rows {
        let value = match place {
            Member::Metadata(member) => metadata::get(said, member),
            Member::Top(member) => said.get(*member).filter(|_| file.get(member).is_some()),
        };
        let is_empty = || value.and_then(Value::as_object).is_none_or(|value| value.is_empty());
        let stands = match stands {
            Stands::Said => value.is_some(),
            Stands::Filled => value.is_some() && (is_exact || !is_empty()),
            Stands::Saved => as_saved,
        };
        if !stands {
            continue;
        }
        let (members, member) = match place {
            Member::Metadata(member) => (metadata::of(new), member),
            Member::Top(member) => (&mut *new, member),
        };
        match value {
            Some(value) => drop(members.insert((*member).to_owned(), value.clone())),
            None => drop(members.remove(*member)),
        }
    }
}

/// A namespace that the server has already is replaced by the folder's.
fn make_way(scratch: &ApiState, kind: &ServedResource, name: &str) {
    scratch.store.write(|state| {
        if let Some(there) = state.get(&kind.storage, &Key::new("", name)).cloned() {
            let last = there.at_revision(kind, state.next_revision());
            state.remove(&kind.storage, Arc::new(last));
        }
    });
}

/// Writes the objects down, in their own revisions and, those without, in the ones after all that
/// are known. Otherwise which of them cannot be, and why: one that others have made impossible
/// since it was checked.
fn commit(
    state: &mut State,
    revision: u64,
    checked: Vec<Checked>,
    services: Option<&Replaced>,
) -> Result<(), (usize, String)> {
    if let Some(services) = services {
        let mut taken = services.taken(state);
        let of_services = checked
            .iter()
            .enumerate()
            .filter(|(_, object)| object.kind.storage == services.kind.storage);
        for (at, service) in of_services {
            if let Some(why) = services::clash(&taken, &service.object) {
                return Err((at, why));
            }
            // One that was taken as it was saved was not compared with the others of the folder.
            taken.add(&service.object);
        }
    }
    // Under the lock: nobody else gets one of these revisions.
    let highest = checked.iter().map(|object| object.revision).max().unwrap_or(0);
    let mut next = highest.max(revision).max(state.revision());
    let mut tables: Vec<(Arc<str>, Vec<Arc<Stored>>)> = Vec::new();
    for Checked { kind, key, mut object, managed, revision, unsaid } in checked {
        let revision = if revision == 0 {
            next = next.saturating_add(1);
            next
        } else {
            revision
        };
        let stored = Stored::new(&kind, key, revision, &mut object, &managed);
        let stored = Arc::new(stored.unsaid(unsaid));
        match tables.iter_mut().find(|(table, _)| *table == kind.storage) {
            Some((_, objects)) => objects.push(stored),
            None => tables.push((Arc::clone(&kind.storage), vec![stored])),
        }
    }
    state.restore(tables, next);
    Ok(())
}
