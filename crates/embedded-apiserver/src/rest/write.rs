//! Create, update and patch: an object from outside meets the one that is stored, under the store's lock.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde_json::Value;

use crate::admission::{Turn, Writer, gated};
use crate::builtin::services::allocation;
use crate::builtin::{Builtin, event, rules, storage};
use crate::clock;
use crate::fields::{Managed, Sent};
use crate::identity::User;
use crate::kind::Kind;
use crate::media;
use crate::metadata::{self, Object};
use crate::names;
use crate::patch::Patch;
use crate::query::{FieldValidation, Query};
use crate::rest::apply;
use crate::rest::decode::{self, Decoded};
use crate::rest::definitions;
use crate::rest::duplicates;
use crate::rest::ownership::{Author, Owners};
use crate::rest::{Written, check_path_name, key_of, parse_version};
use crate::route::Target;
use crate::server::Core;
use crate::status::{Cause, Causes, Status};
use crate::store::Inner;
use crate::store::state::Place;
use crate::stored::{Key, Stored};

/// The largest object that etcd takes, by its default.
const MAX_OBJECT: usize = 3 * 512 * 1024;
/// Where the real server finds owner references twice in what a patch has made.
const AFTER_HOOKS: &str = " after mutating admission happens";
const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

pub(super) fn create(
    core: &Core,
    user: &User,
    target: &Target,
    query: &Query,
    request: &Request<Bytes>,
) -> Result<Written, Status> {
    let kind = &target.kind;
    media::require_json(request.headers())?;
    let dry_run = query.dry_run("CreateOptions")?;
    query.check_field_manager("CreateOptions")?;
    let validation = query.field_validation("CreateOptions")?;
    let author = Author::of(query, request, None);
    let mut decoded = decode::object(kind, request.body(), validation)?;
    decoded.remove_equal_owners("");
    let Decoded { object, mut warnings, sent } = decoded;
    let (namespace, now) = (target.namespace.as_deref(), core.clock.now());
    let writer = Writer { user, kind, namespace, name: "", subresource: None, dry_run };
    let turn = Turn::of(core, &writer);
    let mut taken = Taken::new((object, sent), turn.is_some());
    let object = gated(core, kind, turn, |inner| {
        let (object, sent) = taken.take()?;
        insert(core, inner, kind, namespace, object, Owners::Changes(&author, sent), now, dry_run)
    })?;
    warnings.extend(warned(kind, &object, None));
    Ok(Written { object, created: true, warnings })
}

/// Creates an object of the server's own, whose types are right.
pub(crate) fn create_object(
    core: &Core,
    kind: &Kind,
    namespace: Option<&str>,
    object: Value,
) -> Result<Arc<Stored>, Status> {
    let Value::Object(object) = object else {
        return Err(Status::bad_request("an object is no JSON object"));
    };
    let (author, now) = (Author::server(), core.clock.now());
    core.store.write(|inner| {
        insert(core, inner, kind, namespace, object, Owners::Changes(&author, Sent::Nothing), now, false)
    })
}

/// What a write takes: cloned if the write may begin anew.
struct Taken<T> {
    value: Option<T>,
    again: bool,
}

impl<T: Clone> Taken<T> {
    const fn new(value: T, again: bool) -> Self {
        Self { value: Some(value), again }
    }

    fn take(&mut self) -> Result<T, Status> {
        let value = if self.again { self.value.clone() } else { self.value.take() };
        value.ok_or_else(|| Status::internal("a write began anew"))
    }
}

#[expect(clippy::too_many_arguments, reason = "what a create is made of; nothing of it belongs together")]
pub(super) fn insert(
    core: &Core,
    inner: &mut Inner,
    kind: &Kind,
    namespace: Option<&str>,
    mut object: Object,
    owners: Owners<'_>,
    now: Timestamp,
    dry_run: bool,
) -> Result<Arc<Stored>, Status> {
    if !matches!(metadata::text(&object, "resourceVersion"), "" | "0") {
        return Err(Status::unknown("resourceVersion should not be set on objects to be created"));
    }
    set_namespace(&mut object, namespace)?;
    for member in [
        "uid",
        "resourceVersion",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "creationTimestamp",
    ] {
        metadata::of(&mut object).remove(member);
    }
    let unmutated = inner.asks().then(|| object.clone());
    let mut object = inner.mutated(object, None)?;
    let table = Arc::clone(&kind.storage);
    let place = namespace.unwrap_or_default();
    let base = metadata::text(&object, "generateName").to_owned();
    if metadata::text(&object, "name").is_empty() && !base.is_empty() {
        // As the real server: some tries to find a free name before the client is told.
        let taken = |inner: &Inner, name: &str| inner.state.get(&table, &Key::new(place, name)).is_some();
        let mut name = metadata::generate_name(&base, &mut inner.rng);
        for _ in 0..7 {
            if !taken(inner, &name) {
                break;
            }
            name = metadata::generate_name(&base, &mut inner.rng);
        }
        metadata::set(&mut object, "name", name);
    }
    let name = metadata::text(&object, "name").to_owned();
    if let Some(namespace) = namespace {
        check_namespace(core, inner, kind, namespace, &name)?;
    }
    metadata::set(&mut object, "uid", metadata::new_uid(&mut inner.rng));
    metadata::set(&mut object, "creationTimestamp", clock::seconds(now));
    if kind.builtin.is_none_or(Builtin::has_generation) {
        metadata::set(&mut object, "generation", 1);
    }
    // A kubelet says all of its node at once.
    if kind.has_status() && kind.builtin != Some(Builtin::Node) {
        object.remove("status");
    }
    definitions::may_be_created(core, kind, &object, &name)?;
    if let Some(builtin) = kind.builtin {
        rules::default(builtin, &mut object);
    }
    // Defaults are the client's; what comes later, and what a hook has changed, is nobody's.
    let unmutated = unmutated.map(|object| defaulted(kind, object));
    let managed = owners.of(core, kind, None, unmutated.as_ref().unwrap_or(&object), now);
    if let Some(builtin) = kind.builtin {
        rules::admit(builtin, &mut object).map_err(|why| Status::forbidden(kind, &name, &why))?;
        rules::prepare_create(builtin, &mut object, now, core.options.protect_volumes);
        allocate(inner, kind, &name, &mut object, None, dry_run)?;
    }
    let mut causes = Causes::default();
    if !base.is_empty()
        && let Some(why) = rules::wrong_name(kind, &names::without_dash(&base))
    {
        causes.push(Cause::invalid("metadata.generateName", &base, why));
    }
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if let Some(why) = rules::wrong_name(kind, &name) {
        causes.push(Cause::invalid("metadata.name", &name, why));
    }
    managed.check(&mut causes);
    check(kind, &object, None, None, &mut causes);
    if !causes.is_empty() {
        return Err(Status::invalid(kind, &name, &causes));
    }
    let key = Key::new(place, &name);
    if let Some(found) = inner.state.get(&table, &key) {
        return Err(if metadata::is_being_deleted(&found.object()) {
            Status::exists_and_is_being_deleted(kind, &name)
        } else {
            Status::already_exists(kind, &name)
        });
    }
    inner.validated(&object)?;
    put(inner, kind, key, object, &managed, 0, dry_run)
}

/// An object as it was sent, with its defaults.
fn defaulted(kind: &Kind, mut object: Object) -> Object {
    if let Some(builtin) = kind.builtin {
        rules::default(builtin, &mut object);
    }
    metadata::normalize(&mut object);
    object
}

/// The namespace in the object is the one in the path, or is filled in from there.
fn set_namespace(object: &mut Object, namespace: Option<&str>) -> Result<(), Status> {
    let Some(namespace) = namespace else {
        metadata::of(object).remove("namespace");
        return Ok(());
    };
    let said = metadata::text(object, "namespace");
    if !said.is_empty() && said != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata::set(object, "namespace", namespace);
    Ok(())
}

/// The admission plugin NamespaceLifecycle: nothing new in a namespace that is not there, or going away.
fn check_namespace(
    core: &Core,
    inner: &Inner,
    kind: &Kind,
    namespace: &str,
    name: &str,
) -> Result<(), Status> {
    let Some(namespaces) = core.registry.read().find("", "v1", "namespaces") else { return Ok(()) };
    let Some(found) = inner.state.get(&namespaces.storage, &Key::new("", namespace)) else {
        return if core.options.check_namespaces {
            Err(Status::not_found(&namespaces, namespace))
        } else {
            Ok(())
        };
    };
    if metadata::is_being_deleted(&found.object()) {
        return Err(Status::namespace_terminating(kind, name, namespace));
    }
    Ok(())
}

fn check(kind: &Kind, object: &Object, old: Option<&Object>, subresource: Option<&str>, causes: &mut Causes) {
    metadata::check(object, causes);
    definitions::check(kind, object, old, subresource, causes);
    if let Some(builtin) = kind.builtin {
        rules::check(builtin, object, old, causes);
        if let Some(old) = old {
            rules::check_update(builtin, object, old, causes);
        }
    }
}

/// Writes an object down at the next revision; in a dry run, at the one it has.
fn put(
    inner: &mut Inner,
    kind: &Kind,
    key: Key,
    object: Object,
    managed: &Managed,
    old_revision: u64,
    dry_run: bool,
) -> Result<Arc<Stored>, Status> {
    let mut object = to_stored(kind, object);
    let revision = if dry_run { old_revision } else { inner.state.next_revision() };
    let mut stored = Stored::new(kind, key.clone(), revision, &mut object, &managed.encode());
    if stored.size() > MAX_OBJECT {
        // As the real server: what it can do without is left out first.
        stored = Stored::new(kind, key, revision, &mut object, "");
    }
    let stored = Arc::new(stored);
    if stored.size() > MAX_OBJECT {
        return Err(Status::unknown("etcdserver: request is too large"));
    }
    if !dry_run {
        inner.state.put(&kind.storage, Arc::clone(&stored));
    }
    Ok(stored)
}

/// The stored object in the form that `kind` shows.
pub(super) fn shown(kind: &Kind, stored: &Stored) -> Object {
    if event::is_events_v1(kind) {
        return event::to_events_v1(stored.object());
    }
    let mut object = stored.object();
    if let Some(definition) = kind.definition() {
        definition.shown(&mut object, stored.revision);
    }
    object
}

pub(super) fn replace(
    core: &Core,
    user: &User,
    target: &Target,
    name: &str,
    query: &Query,
    request: &Request<Bytes>,
) -> Result<Written, Status> {
    let kind = &target.kind;
    check_path_name(name)?;
    media::require_json(request.headers())?;
    let validation = query.field_validation("UpdateOptions")?;
    let dry_run = query.dry_run("UpdateOptions")?;
    query.check_field_manager("UpdateOptions")?;
    let author = Author::of(query, request, target.subresource.as_deref());
    let mut decoded = decode::object(kind, request.body(), validation)?;
    decoded.remove_equal_owners("");
    check_said_name(&decoded.object, name)?;
    // Said here, before the object is looked for.
    let version = metadata::text(&decoded.object, "resourceVersion");
    parse_version(version).map_err(|why| Status::unknown(why.plain()))?;
    update(core, user, target, name, &author, Edit::Replace(decoded), dry_run)
}

pub(super) fn patch(
    core: &Core,
    user: &User,
    target: &Target,
    name: &str,
    query: &Query,
    request: &Request<Bytes>,
) -> Result<Written, Status> {
    let kind = &target.kind;
    check_path_name(name)?;
    let patch_type = media::patch_type(request.headers(), kind.builtin.is_some())?;
    if patch_type == media::PatchType::Apply {
        return apply::apply(core, user, target, name, query, request);
    }
    let validation = query.field_validation("PatchOptions")?;
    let dry_run = query.dry_run("PatchOptions")?;
    query.check_field_manager("PatchOptions")?;
    if query.get("force").is_some() {
        let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
        return Err(Status::invalid_options("PatchOptions", &cause));
    }
    let patch = Patch::parse(patch_type, request.body(), kind).map_err(|status| {
        // The object is looked for first, and the patch read only then.
        let is_there = core.store.get(&kind.storage, &key_of(target, name)).is_some();
        if is_there || status.code() != 400 { status } else { Status::not_found(kind, name) }
    })?;
    let duplicates = match patch {
        Patch::Json(_) => {
            duplicates::find(request.body()).into_iter().map(|why| format!("json patch {why}")).collect()
        }
        Patch::Merge(_) | Patch::Strategic(..) => duplicates::find(request.body()),
    };
    let author = Author::of(query, request, target.subresource.as_deref());
    update(core, user, target, name, &author, Edit::Patch { patch, duplicates, validation }, dry_run)
}

/// What is to become of an object.
#[derive(Clone)]
enum Edit {
    Replace(Decoded),
    Patch { patch: Patch, duplicates: Vec<String>, validation: FieldValidation },
}

fn update(
    core: &Core,
    user: &User,
    target: &Target,
    name: &str,
    author: &Author,
    edit: Edit,
    dry_run: bool,
) -> Result<Written, Status> {
    let kind = &target.kind;
    let key = key_of(target, name);
    let now = core.clock.now();
    // A patch may take its time: it is tried outside of the lock, and again inside only if somebody was faster.
    let tried = match &edit {
        Edit::Patch { patch, duplicates, validation } => core.store.get(&kind.storage, &key).map(|seen| {
            let new =
                patched(kind, name, patch, duplicates, *validation, &shown(kind, &seen), seen.managed());
            (seen.revision, new)
        }),
        Edit::Replace(_) => None,
    };
    let (namespace, subresource) = (target.namespace.as_deref(), target.subresource.as_deref());
    let writer = Writer { user, kind, namespace, name, subresource, dry_run };
    let turn = Turn::of(core, &writer);
    let mut taken = Taken::new((edit, tried), turn.is_some());
    gated(core, kind, turn, |inner| {
        let (edit, tried) = taken.take()?;
        let Some(current) = inner.state.get(&kind.storage, &key).cloned() else {
            let creates =
                kind.builtin.is_some_and(Builtin::creates_on_update) && target.subresource.is_none();
            let Edit::Replace(Decoded { mut object, mut warnings, sent }) = edit else {
                return Err(Status::not_found(kind, name));
            };
            if !creates {
                return Err(Status::not_found(kind, name));
            }
            let uid = metadata::text(&object, "uid");
            if !uid.is_empty() {
                let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: ");
                return Err(Status::conflict(kind, name, &why));
            }
            metadata::of(&mut object).remove("resourceVersion");
            let namespace = target.namespace.as_deref();
            let owners = Owners::Changes(author, sent);
            let object = insert(core, inner, kind, namespace, object, owners, now, dry_run)?;
            warnings.extend(warned(kind, &object, None));
            return Ok(Written { object, created: true, warnings });
        };
        let old = shown(kind, &current);
        let decoded = match (edit, tried) {
            (Edit::Patch { .. }, Some((revision, new))) if revision == current.revision => new?,
            (edit, _) => edited(kind, name, edit, &old, current.managed())?,
        };
        let Decoded { object: new, mut warnings, sent } = decoded;
        let owned = Managed::parse(current.managed());
        let edited = Edited { core, kind, target, name, current: &current, old: &old, owned: &owned, now };
        let object = edited.store(inner, new, Owners::Changes(author, sent), dry_run)?;
        warnings.extend(warned(kind, &object, Some(&old)));
        Ok(Written { object, created: false, warnings })
    })
}

/// An update carries the name of the path it goes to.
pub(super) fn check_said_name(object: &Object, name: &str) -> Result<(), Status> {
    match metadata::text(object, "name") {
        said if said == name => Ok(()),
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        said => Err(Status::bad_request(format!(
            "the name of the object ({said}) does not match the name on the URL ({name})"
        ))),
    }
}

/// The new object as the client wants it.
fn edited(kind: &Kind, name: &str, edit: Edit, old: &Object, managed: &str) -> Result<Decoded, Status> {
    match edit {
        Edit::Replace(decoded) => {
            let uid = metadata::text(&decoded.object, "uid");
            let existing = metadata::text(old, "uid");
            if !uid.is_empty() && uid != existing {
                let why = format!(
                    "Precondition failed: UID in precondition: {uid}, UID in object meta: {existing}"
                );
                return Err(Status::conflict(kind, name, &why));
            }
            Ok(decoded)
        }
        Edit::Patch { patch, duplicates, validation } => {
            patched(kind, name, &patch, &duplicates, validation, old, managed)
        }
    }
}

/// What a patch makes of an object, who owns it included.
fn patched(
    kind: &Kind,
    name: &str,
    patch: &Patch,
    duplicates: &[String],
    validation: FieldValidation,
    old: &Object,
    managed: &str,
) -> Result<Decoded, Status> {
    let mut document = old.clone();
    if let Ok(managed @ Value::Array(_)) = serde_json::from_str(managed) {
        metadata::set(&mut document, "managedFields", managed);
    }
    document.insert("apiVersion".to_owned(), kind.api_version().into());
    document.insert("kind".to_owned(), kind.kind().into());
    let mut document = Value::Object(document);
    patch.apply(&mut document)?;
    let mut decoded = decode::patched(kind, document, duplicates, validation)?;
    decoded.remove_equal_owners(AFTER_HOOKS);
    check_said_name(&decoded.object, name)?;
    Ok(decoded)
}

/// An update between its two versions.
#[derive(Debug)]
pub(super) struct Edited<'a> {
    pub(super) core: &'a Core,
    pub(super) kind: &'a Kind,
    pub(super) target: &'a Target,
    pub(super) name: &'a str,
    pub(super) current: &'a Stored,
    pub(super) old: &'a Object,
    /// Whose its fields are.
    pub(super) owned: &'a Managed,
    pub(super) now: Timestamp,
}

impl Edited<'_> {
    pub(super) fn store(
        &self,
        inner: &mut Inner,
        new: Object,
        owners: Owners<'_>,
        dry_run: bool,
    ) -> Result<Arc<Stored>, Status> {
        let Self { kind, old, current, owned, .. } = *self;
        let unmutated = inner.asks().then(|| new.clone());
        let mut new = inner.mutated(new, Some(old))?;
        self.check_version(&new)?;
        set_namespace(&mut new, self.target.namespace.as_deref())?;
        if let Some(builtin) = kind.builtin {
            rules::default(builtin, &mut new);
        }
        metadata::normalize(&mut new);
        // Compared as the client wants it, defaults included; what such a write cannot change is left out there.
        // What a hook has changed is nobody's, as on the real server.
        let unmutated = unmutated.map(|object| defaulted(kind, object));
        let wanted = unmutated.as_ref().unwrap_or(&new);
        let managed = owners.of(self.core, kind, Some((old, owned)), wanted, self.now);
        self.keep_system_metadata(&mut new);
        self.split_status(&mut new);
        if let Some(builtin) = kind.builtin {
            rules::default(builtin, &mut new);
            if self.target.subresource.is_none() {
                rules::prepare_update(builtin, &mut new, old);
                allocate(inner, kind, self.name, &mut new, Some(old), dry_run)?;
            }
        }
        definitions::prepare_update(kind, &mut new, self.target.subresource.as_deref())?;
        metadata::normalize(&mut new);
        let mut causes = Causes::default();
        managed.check(&mut causes);
        self.check_metadata(&new, &mut causes);
        check(kind, &new, Some(old), self.target.subresource.as_deref(), &mut causes);
        if let Some(builtin) = kind.builtin.filter(|_| self.target.subresource.as_deref() == Some("status")) {
            rules::check_status(builtin, &new, old, &mut causes);
        }
        if !causes.is_empty() {
            return Err(Status::invalid(kind, self.name, &causes));
        }
        metadata::copy(old, &mut new, "resourceVersion");
        // A write that moves nothing but times in the managedFields is none.
        if new == *old && managed.says_the_same_as(owned) {
            inner.validated(&new)?;
            return inner.state.get(&kind.storage, &current.key).cloned().ok_or_else(|| {
                // Cannot happen: the lock is held since it was found.
                Status::not_found(kind, self.name)
            });
        }
        if kind.builtin == Some(Builtin::Claim) && self.target.subresource.is_none() {
            check_resize(inner, kind, self.name, old, &new)?;
        }
        if self.bumps_generation(&new) {
            metadata::set(&mut new, "generation", metadata::generation(old).saturating_add(1));
        }
        inner.validated(&new)?;
        if is_released(kind, &new) {
            let mut last = to_stored(kind, new);
            let managed = managed.encode();
            let answer = Stored::new(kind, current.key.clone(), current.revision, &mut last, &managed);
            if !dry_run {
                // As etcd's event: what was there before, at the revision of the removal.
                let last = current.at_revision(kind, inner.state.next_revision());
                inner.state.remove(&kind.storage, Arc::new(last));
            }
            return Ok(Arc::new(answer));
        }
        put(inner, kind, current.key.clone(), new, &managed, current.revision, dry_run)
    }

    fn check_version(&self, new: &Object) -> Result<(), Status> {
        let (kind, name) = (self.kind, self.name);
        let version = metadata::text(new, "resourceVersion");
        match parse_version(version).map_err(|why| Status::unknown(why.plain()))? {
            0 if kind.builtin.is_some_and(Builtin::updates_unconditionally) => Ok(()),
            0 => Err(Status::version_required(kind, name)),
            seen if seen == self.current.revision => Ok(()),
            _ => Err(Status::conflict(kind, name, STALE)),
        }
    }

    /// What no client can change is put back, as `rest.BeforeUpdate` does.
    fn keep_system_metadata(&self, new: &mut Object) {
        let old = self.old;
        metadata::copy(old, new, "creationTimestamp");
        metadata::copy(old, new, "generation");
        for member in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            let absent = metadata::get(new, member).is_none();
            if absent || (member == "deletionTimestamp" && metadata::is_being_deleted(old)) {
                metadata::copy(old, new, member);
            }
        }
    }

    /// A write to the object leaves its status alone; a write to a subresource, everything else.
    fn split_status(&self, new: &mut Object) {
        let (kind, old) = (self.kind, self.old);
        let keep = |new: &mut Object, member: &str| match old.get(member) {
            Some(value) => drop(new.insert(member.to_owned(), value.clone())),
            None => drop(new.remove(member)),
        };
        match self.target.subresource.as_deref() {
            None => {
                if kind.has_status() {
                    keep(new, "status");
                }
                if kind.builtin == Some(Builtin::Namespace) {
                    // Its finalizers are the only spec, and have a subresource of their own.
                    keep(new, "spec");
                }
            }
            Some(subresource) => {
                let own = if subresource == "finalize" { "spec" } else { "status" };
                let kept: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
                for member in kept {
                    // Built-in kinds take changes of metadata along, custom kinds do not.
                    let open = member == "metadata" && kind.builtin.is_some();
                    if member != own && !open {
                        keep(new, &member);
                    }
                }
                match kind.builtin {
                    Some(Builtin::Pod) => metadata::copy(old, new, "ownerReferences"),
                    Some(builtin) => rules::prepare_status(builtin, new, old, self.now),
                    None => {}
                }
            }
        }
    }

    fn check_metadata(&self, new: &Object, causes: &mut Causes) {
        let old = self.old;
        for member in ["name", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            if metadata::get(new, member) != metadata::get(old, member) {
                let value = metadata::get(new, member).map(Value::to_string).unwrap_or_default();
                let field = format!("metadata.{member}");
                causes.push(Cause::invalid(field, value.trim_matches('"'), "field is immutable"));
            }
        }
        if metadata::is_being_deleted(old) {
            let before: HashSet<_> = metadata::finalizers(old).into_iter().collect();
            let added: Vec<_> =
                metadata::finalizers(new).into_iter().filter(|f| !before.contains(f)).collect();
            if !added.is_empty() {
                let added = added.iter().map(|f| format!("{f:?}")).collect::<Vec<_>>().join(", ");
                let why = format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers \
                     []string{{{added}}}"
                );
                causes.push(Cause::forbidden("metadata.finalizers", &why));
            }
        }
    }

    fn bumps_generation(&self, new: &Object) -> bool {
        let differs = |member: &str| new.get(member) != self.old.get(member);
        match self.kind.builtin {
            Some(builtin) => builtin.bumps_generation(new, self.old),
            None => {
                let names = new.keys().chain(self.old.keys());
                names
                    .filter(|name| *name != "metadata" && !(self.kind.has_status() && *name == "status"))
                    .any(|name| differs(name))
            }
        }
    }
}

/// What the answer to a write warns of, by the kind's own rules.
pub(super) fn warned(kind: &Kind, stored: &Stored, old: Option<&Object>) -> Vec<String> {
    match kind.builtin.filter(|builtin| rules::warns(*builtin)) {
        Some(builtin) => rules::warnings(builtin, &stored.object(), old),
        None => Vec::new(),
    }
}

/// Gives a Service what is handed out to Services.
fn allocate(
    inner: &mut Inner,
    kind: &Kind,
    name: &str,
    object: &mut Object,
    old: Option<&Object>,
    dry_run: bool,
) -> Result<(), Status> {
    if kind.builtin != Some(Builtin::Service) || !allocation::concerns(object, old) {
        return Ok(());
    }
    let place = Place { table: &kind.storage, namespace: None, from: None };
    let taken = inner.state.visit(&place, None, |services| {
        let mut taken = allocation::Taken::default();
        services.for_each(|service| taken.add(&service.object()));
        taken
    });
    let taken = taken.map_err(|_| Status::internal("the newest revision is gone"))?.found;
    allocation::allocate(object, old, &taken, &mut inner.rng, dry_run)
        .map_err(|causes| Status::invalid(kind, name, &causes))
}

/// The admission plugin PersistentVolumeClaimResize: a claim grows only where its class says so.
fn check_resize(inner: &Inner, kind: &Kind, name: &str, old: &Object, new: &Object) -> Result<(), Status> {
    if !storage::grows(old, new) {
        return Ok(());
    }
    let class = rules::at(new, "spec.storageClassName").and_then(Value::as_str).unwrap_or_default();
    let class = inner.state.get("storage.k8s.io/storageclasses", &Key::new("", class));
    if class.is_some_and(|class| class.object().get("allowVolumeExpansion") == Some(&Value::Bool(true))) {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
               support resize";
    Err(Status::forbidden(kind, name, why))
}

fn to_stored(kind: &Kind, object: Object) -> Object {
    if event::is_events_v1(kind) {
        return event::from_events_v1(object);
    }
    let mut object = object;
    if let Some(definition) = kind.definition() {
        definition.to_stored(&mut object);
    }
    object
}

/// Whether an object that is being deleted has nothing left that holds it.
pub(super) fn is_released(kind: &Kind, object: &Object) -> bool {
    let waits = metadata::get(object, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) > 0;
    metadata::is_being_deleted(object)
        && metadata::finalizers(object).is_empty()
        && !waits
        && !holds_content(kind, object)
}

/// A namespace is held by the finalizers in its spec until it is empty.
pub(super) fn holds_content(kind: &Kind, object: &Object) -> bool {
    kind.builtin == Some(Builtin::Namespace)
        && rules::at(object, "spec.finalizers").and_then(Value::as_array).is_some_and(|f| !f.is_empty())
}
