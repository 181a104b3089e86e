//! Writes: an object from outside is created, or meets the one that is stored.

mod update;

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use serde_json::Value;

use crate::access::CreateRight;
use crate::builtin::services::allocation;
use crate::builtin::{Builtin, jobs, rules, storage};
use crate::clock;
use crate::media;
use crate::metadata::{self, Object};
use crate::patch::Patch;
use crate::query::{FieldValidation, Query};
use crate::resource::ServedResource;
use crate::rest::admission_chain::AdmissionChain;
use crate::rest::apply;
use crate::rest::call::Call;
use crate::rest::decode::{self, Decoded, Hidden, Origin};
use crate::rest::definitions;
use crate::rest::delete;
use crate::rest::duplicates::{self, Shape};
use crate::rest::get::{check_path_name, key_of};
use crate::rest::guaranteed_update::{Answer, guaranteed_update};
use crate::rest::odd_places;
use crate::rest::ownership::{Author, Owners};
use crate::rest::state::ApiState;
use crate::rest::version::parse_version;
use crate::rest::written::Written;
use crate::route::Target;
use crate::status::{FieldError, FieldErrors, Status};
use crate::store::transaction::Transaction;
use crate::stored::{Key, NEXT, Stored};
use k8s_merge::managed_fields::{ManagedFields, RequestedFields};
use k8s_value::names;

pub(super) use update::{
    Edited, check_number, check_said_name, duplicates_of, forbidden_force, other_uid, unmet,
};
pub(crate) use update::{patch, replace};

/// The table of the namespaces.
static NAMESPACES: LazyLock<Arc<str>> = LazyLock::new(|| "/namespaces".into());
/// What names are made up from.
const BASE: &str = "metadata.generateName";
/// The largest object that etcd takes, by its default.
const MAX_OBJECT: usize = 3 * 512 * 1024;
/// Where the real server finds owner references twice in what a patch has made.
pub(super) const AFTER_HOOKS: &str = " after mutating admission happens";
const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

pub(crate) fn create(call: Call<'_>) -> Result<Written, Status> {
    let Call { api, target, query, request, .. } = call;
    let kind = call.kind();
    media::require_json(request.headers())?;
    let (dry_run, validation) = query.write_options("CreateOptions", Vec::new())?;
    let author = call.author();
    let read = || {
        let mut decoded = decode::body(kind, request, validation)?;
        decoded.remove_equal_owners("");
        Ok(decoded)
    };
    let mut first = read()?;
    let (mut warnings, hidden) = (std::mem::take(&mut first.warnings), first.hidden);
    let mut first = Some(first);
    let admission = AdmissionChain::of(api, call.writer(dry_run));
    let new = New::at(target, &admission, api.clock.now(), dry_run).hiding(hidden);
    let written = guaranteed_update(api, |transaction| {
        // A write that begins anew reads its body again.
        let Decoded { object, sent, .. } = first.take().map_or_else(read, Ok)?;
        insert(api, transaction, &new, object, Owners::Changes(&author, sent))
    });
    let (written, answer) = written.map_err(|status| status.warned(&warnings))?;
    let object = answer.resolve(&written)?;
    warnings.extend(warned(kind, &object, None));
    Ok(Written { object, created: true, warnings })
}

/// Creates an object of the server's own, whose types are right.
pub(crate) fn create_object(
    api: &ApiState,
    kind: &ServedResource,
    namespace: Option<&str>,
    object: Value,
) -> Result<Arc<Stored>, Status> {
    let Value::Object(object) = object else {
        return Err(Status::bad_request("an object is no JSON object"));
    };
    let author = Author::server();
    let now = api.clock.now();
    let new = New {
        kind,
        namespace,
        now,
        dry_run: false,
        by_update: None,
        subresource: None,
        hidden: Hidden::default(),
        admission: None,
    };
    let (written, answer) = guaranteed_update(api, |transaction| {
        let owners = Owners::Changes(&author, RequestedFields::Unset);
        insert(api, transaction, &new, object.clone(), owners)
    })?;
    answer.resolve(&written)
}

/// Where and how an object is created.
#[derive(Debug, Clone, Copy)]
pub(super) struct New<'a> {
    kind: &'a ServedResource,
    namespace: Option<&'a str>,
    now: Timestamp,
    dry_run: bool,
    /// By a PUT or an apply, with the right to: what only a create cleans up is stored as it was
    /// sent.
    by_update: Option<&'a CreateRight<'a>>,
    subresource: Option<&'a str>,
    hidden: Hidden,
    /// Who has a say in it: none in what the server makes for itself.
    admission: Option<&'a AdmissionChain<'a>>,
}

impl<'a> New<'a> {
    pub(super) fn at(
        target: &'a Target,
        admission: &'a AdmissionChain<'a>,
        now: Timestamp,
        dry_run: bool,
    ) -> Self {
        let (namespace, subresource) = (target.namespace.as_deref(), target.subresource.as_deref());
        Self {
            kind: &target.kind,
            namespace,
            now,
            dry_run,
            by_update: None,
            subresource,
            hidden: Hidden::default(),
            admission: Some(admission),
        }
    }

    pub(super) fn by_update(
        target: &'a Target,
        admission: &'a AdmissionChain<'a>,
        right: &'a CreateRight<'a>,
        now: Timestamp,
        dry_run: bool,
    ) -> Self {
        Self { by_update: Some(right), ..Self::at(target, admission, now, dry_run) }
    }

    pub(super) fn hiding(self, hidden: Hidden) -> Self {
        Self { hidden, ..self }
    }
}

/// Whether a write to the status of an object that is not there creates it: the real server forgets
/// to forbid it for Services (`StatusREST` of pkg/registry/core/service).
pub(super) fn creates_by_status(kind: &ServedResource) -> bool {
    kind.builtin == Some(Builtin::Service)
}

pub(super) fn insert(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    new: &New<'_>,
    mut object: Object,
    owners: Owners<'_>,
) -> Result<Answer, Status> {
    let New { kind, namespace, now, dry_run, by_update, subresource, hidden, admission } = *new;
    // What is no version is none.
    let said_version = metadata::text(&object, "resourceVersion").to_owned();
    let version = parse_version(&said_version).unwrap_or(0);
    set_namespace(&mut object, namespace)?;
    for member in ["uid", "resourceVersion", "creationTimestamp"] {
        metadata::of(&mut object).remove(member);
    }
    if by_update.is_none() {
        for member in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            metadata::of(&mut object).remove(member);
        }
    }
    if let Some(namespace) = namespace {
        check_namespace(api, transaction, kind, namespace, &object)?;
    }
    let unmutated = admission.filter(|chain| chain.mutates()).map(|_| object.clone());
    let mut object = match admission {
        Some(chain) => chain.mutate(object, None)?,
        None => object,
    };
    set_namespace(&mut object, namespace)?;
    let table = Arc::clone(&kind.storage);
    let place = namespace.unwrap_or_default();
    let base = metadata::text(&object, "generateName").to_owned();
    if metadata::text(&object, "name").is_empty() && !base.is_empty() {
        // As the real server: some tries to find a free name before the client is told.
        let generate = || api.store.draw(|rng| metadata::generate_name(&base, rng));
        let mut name = generate();
        for _ in 0..7 {
            if api.store.get(&table, &Key::new(place, &name)).is_none() {
                break;
            }
            name = generate();
        }
        metadata::set(&mut object, "name", name);
    }
    let name = metadata::text(&object, "name").to_owned();
    let uid = api.store.draw(metadata::new_uid);
    metadata::set(&mut object, "uid", uid);
    metadata::set(&mut object, "creationTimestamp", clock::seconds(now));
    if kind.builtin.is_none_or(Builtin::has_generation) {
        metadata::set(&mut object, "generation", 1);
    }
    // A kubelet says all of its node at once; and who writes to the status owns it, though it is
    // not stored.
    let by_status = subresource.is_some();
    let has_status = kind.has_status() && kind.builtin != Some(Builtin::Node) && !by_status;
    // Of a custom object it is looked at before it goes: one that does not fit its schema leaves it
    // without owners.
    let goes_later = kind.builtin.is_none();
    if has_status && !goes_later {
        object.remove("status");
    }
    definitions::may_be_created(api, kind, &object, &name)?;
    definitions::require_served(api, transaction, kind);
    if let Some(builtin) = kind.builtin {
        rules::default(builtin, &mut object);
    }
    let unsaid = kind.builtin.is_some_and(|builtin| rules::leaves_unsaid(builtin, &object));
    // The first write of a claim is one, whatever it says: the real server stores a new one in
    // another form.
    let unsaid = unsaid
        || hidden.pruned
        || hidden.emptied
        || hidden.sign
        || (hidden.sign_in_status && !kind.has_status())
        || kind.builtin == Some(Builtin::Claim);
    // Defaults are the client's; what comes later, and what a hook has changed, is nobody's.
    let unmutated = unmutated.map(|object| defaulted(kind, object));
    let managed = owners.of(api, kind, None, unmutated.as_ref().unwrap_or(&object), now);
    if has_status && goes_later {
        object.remove("status");
    }
    if let Some(builtin) = kind.builtin {
        rules::admit(builtin, &mut object).map_err(|why| Status::forbidden(kind, &name, &why))?;
        if by_status {
            // Nothing is handed out that way.
            rules::reset_status(builtin, &mut object);
        } else {
            rules::prepare_create(builtin, &mut object, now, api.options.protect_volumes);
            allocate(api, transaction, kind, &name, &mut object, None, dry_run)?;
        }
    }
    decode::check_own_type(kind, &object, None, subresource)?;
    let mut causes = FieldErrors::default();
    for why in rules::wrongs_of_base(kind, &base).into_iter().filter(|_| !base.is_empty()) {
        causes.push(FieldError::invalid(BASE, &base, why));
    }
    if name.is_empty() {
        causes.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else if let Some(why) = rules::wrong_name(kind, &name) {
        causes.push(FieldError::invalid("metadata.name", &name, why));
    }
    managed.validate(&mut causes);
    metadata::check(&object, &mut causes);
    check(kind, &object, None, None, &mut causes);
    if !causes.is_empty() {
        return Err(Status::invalid(kind, &name, &causes));
    }
    // Only the store looks at it, and a dry run does not get there.
    if version != 0 && !dry_run {
        return Err(Status::unknown("resourceVersion should not be set on objects to be created"));
    }
    let key = Key::new(place, &name);
    if let Some(found) = transaction.get(&table, &key) {
        // A name that was made up is spoken of in the words of the group that has the rules.
        let older = !base.is_empty() && (kind.builtin == Some(Builtin::EventV1));
        let older = older.then(|| api.registry.read().find("", "v1", "events")).flatten();
        let mut status = Status::already_exists(older.as_deref().unwrap_or(kind), &name)
            .warned(&warned_of(kind, &object, None));
        if !base.is_empty() {
            status = status.no_unique_name();
        }
        let goes = found.is_being_deleted() || metadata::ends_at_zero(&found.object());
        return Err(if goes { status.and_is_being_deleted() } else { status });
    }
    by_update.map_or(Ok(()), CreateRight::check)?;
    if hidden.ends_at_zero && by_update.is_some() && kind.builtin.is_some() {
        metadata::set(&mut object, "deletionTimestamp", Value::Null);
    }
    if let Some(chain) = admission {
        chain.validate(&object, None)?;
    }
    if dry_run && !said_version.is_empty() {
        // What is tried keeps what it says, be it a version or not.
        metadata::set(&mut object, "resourceVersion", said_version);
    }
    put(transaction, kind, Version { key, object, managed: &managed, unsaid }, 0, dry_run)
}

/// An object as it was sent, with its defaults.
fn defaulted(kind: &ServedResource, mut object: Object) -> Object {
    if let Some(builtin) = kind.builtin {
        rules::default(builtin, &mut object);
    }
    metadata::normalize(&mut object);
    object
}

/// The namespace in the object is the one in the path, or is filled in from there.
pub(super) fn set_namespace(object: &mut Object, namespace: Option<&str>) -> Result<(), Status> {
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

/// The admission plugin NamespaceLifecycle: nothing new in a namespace that is not there, or going
/// away. It is the first: no hook hears of such an object, and what it would grant matters to
/// nobody.
fn check_namespace(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    namespace: &str,
    object: &Object,
) -> Result<(), Status> {
    odd_places::may_hold_objects(namespace)?;
    match transaction.get(&NAMESPACES, &Key::new("", namespace)) {
        Some(found) if found.is_being_deleted() => {
            // It has no name yet if that is to be made up (`extractResourceName` of
            // k8s.io/apiserver/pkg/admission).
            let texts = ["name", "generateName"].map(|member| metadata::text(object, member));
            let name = texts.into_iter().find(|text| !text.is_empty()).unwrap_or("Unknown");
            Err(Status::namespace_terminating(kind, name, namespace))
        }
        Some(_) => Ok(()),
        None => missing(api, namespace),
    }
}

/// The same of an object that is there already: its namespace may be going away, but not be gone.
pub(in crate::rest) fn check_namespace_of_update(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    namespace: &str,
) -> Result<(), Status> {
    let there = transaction.get(&NAMESPACES, &Key::new("", namespace)).is_some();
    if there { Ok(()) } else { missing(api, namespace) }
}

fn missing(api: &ApiState, namespace: &str) -> Result<(), Status> {
    let namespaces =
        api.options.check_namespaces.then(|| api.registry.read().find("", "v1", "namespaces"));
    match namespaces.flatten() {
        Some(namespaces) => Err(Status::not_found(&namespaces, namespace)),
        None => Ok(()),
    }
}

/// Checks what the name of an object that is updated was made up from.
fn check_base(
    kind: &ServedResource,
    object: &Object,
    subresource: Option<&str>,
    causes: &mut FieldErrors,
) {
    let base = metadata::text(object, "generateName");
    if !base.is_empty() {
        for why in rules::wrongs_of_new_base(kind, base, subresource) {
            causes.push(FieldError::invalid(BASE, base, why));
        }
    }
}

/// Checks what comes after the metadata.
fn check(
    kind: &ServedResource,
    object: &Object,
    old: Option<&Object>,
    subresource: Option<&str>,
    causes: &mut FieldErrors,
) {
    if kind.builtin.is_some_and(Builtin::has_old_finalizers) {
        metadata::check_old_finalizers(object, causes);
    }
    definitions::check(kind, object, old, subresource, causes);
    if let Some(builtin) = kind.builtin {
        if builtin == Builtin::Job && subresource.is_none() {
            jobs::check_generated(object, causes);
        }
        rules::check(builtin, object, old, causes);
        if builtin == Builtin::Event && old.is_none() {
            causes.metadata_last();
        }
        if let Some(old) = old {
            rules::check_update(builtin, object, old, causes);
        }
    }
}

/// A version to be written down.
struct Version<'a> {
    key: Key,
    object: Object,
    managed: &'a ManagedFields,
    /// Something of it goes without saying.
    unsaid: bool,
}

/// Writes a version down for the next revision; in a dry run, at the one that the object has.
fn put(
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    version: Version<'_>,
    old_revision: u64,
    dry_run: bool,
) -> Result<Answer, Status> {
    let Version { key, object, managed, unsaid } = version;
    let mut object = kind.to_storage(object);
    let revision = if dry_run { old_revision } else { NEXT };
    let mut stored = Stored::new(kind, key.clone(), revision, &mut object, &managed.encode());
    if stored.size() > MAX_OBJECT {
        // As the real server: what it can do without is left out first.
        stored = Stored::new(kind, key, revision, &mut object, "");
    }
    let stored = stored.unsaid(unsaid);
    if stored.size() > MAX_OBJECT {
        return Err(Status::unknown("etcdserver: request is too large"));
    }
    Ok(match dry_run {
        true => Answer::Known(Arc::new(stored)),
        false => Answer::Change(transaction.put(&kind.storage, stored)),
    })
}

/// The stored object in the form that `kind` shows.
pub(super) fn shown(kind: &ServedResource, stored: &Stored) -> Object {
    kind.to_version(stored.object(), stored.revision)
}

/// What the answer to a write warns of, by the kind's own rules.
pub(super) fn warned(kind: &ServedResource, stored: &Stored, old: Option<&Object>) -> Vec<String> {
    match kind.builtin {
        Some(builtin) if !rules::warns(builtin) => Vec::new(),
        _ => warned_of(kind, &stored.object(), old),
    }
}

fn warned_of(kind: &ServedResource, object: &Object, old: Option<&Object>) -> Vec<String> {
    match kind.builtin {
        Some(builtin) => rules::warnings(builtin, object, old),
        None => {
            let broken = kind.definition().map(|definition| definition.warnings(kind, object, old));
            broken.into_iter().flatten().chain(new_finalizers(object, old)).collect()
        }
    }
}

/// What custom objects are warned of for the finalizers that are new (`validateKubeFinalizerName`
/// of k8s.io/apiextensions-apiserver/pkg/registry/customresource).
fn new_finalizers(object: &Object, old: Option<&Object>) -> Vec<String> {
    let before = old.map(metadata::finalizers).unwrap_or_default();
    let mut added = metadata::finalizers(object);
    added.retain(|finalizer| {
        names::wrong_finalizer(finalizer).is_some() && !before.contains(finalizer)
    });
    added.sort_unstable();
    added.dedup();
    let warning = |finalizer: &str| {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        )
    };
    added.into_iter().map(warning).collect()
}

/// Gives a Service what is handed out to Services.
fn allocate(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    name: &str,
    object: &mut Object,
    old: Option<&Object>,
    dry_run: bool,
) -> Result<(), Status> {
    if kind.builtin != Some(Builtin::Service) || !allocation::concerns(object, old) {
        return Ok(());
    }
    let mut taken = allocation::Taken::default();
    transaction.list(&kind.storage).iter().for_each(|service| taken.add(&service.object()));
    let given = &mut api.allocated.lock();
    let allocated = allocation::allocate(object, old, &taken, given, dry_run);
    allocated.map_err(|causes| Status::invalid(kind, name, &causes))
}

/// Whether an object that was being deleted has nothing left that holds it
/// (`ShouldDeleteDuringUpdate` of k8s.io/apiserver/pkg/registry/generic/registry).
pub(super) fn is_released(kind: &ServedResource, object: &Object, old: &Object) -> bool {
    let waits =
        metadata::get(old, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) > 0;
    (metadata::is_being_deleted(old) || metadata::ends_at_zero(old))
        && metadata::finalizers(object).is_empty()
        && !waits
        && !holds_content(kind, object)
}

/// A namespace is held by the finalizers in its spec until it is empty.
pub(super) fn holds_content(kind: &ServedResource, object: &Object) -> bool {
    kind.builtin == Some(Builtin::Namespace)
        && rules::at(object, "spec.finalizers")
            .and_then(Value::as_array)
            .is_some_and(|f| !f.is_empty())
}
