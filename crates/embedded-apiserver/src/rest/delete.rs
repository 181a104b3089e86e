//! Deletes: preconditions, finalizers, grace; one object or a collection.

mod namespaces;

use std::sync::Arc;

use api_front::Body;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::builtin::{self, Builtin, rules};
use crate::clock;
use crate::definition;
use crate::json_syntax;
use crate::media;
use crate::metadata::{self, Object};
use crate::query::{self, ListOptions, Query, dry_run_cause};
use crate::recorded::types::TYPES;
use crate::resource::ServedResource;
use crate::response::with_warnings;
use crate::rest::admission_chain::{AdmissionChain, Writer};
use crate::rest::call::Call;
use crate::rest::get::{check_path_name, key_of};
use crate::rest::guaranteed_update::{Answer, guaranteed_update};
use crate::rest::list;
use crate::rest::state::ApiState;
use crate::rest::write::{self, holds_content, shown};
use crate::selector::Selector;
use crate::status::{self, FieldError, Status, json_response};
use crate::store::state::Place;
use crate::store::transaction::Transaction;
use crate::stored::{Form, Key, NEXT, Stored};

/// `metav1.DeleteOptions`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeleteOptions {
    grace_period_seconds: Option<i64>,
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    dry_run: Option<Vec<Option<String>>>,
    preconditions: Option<Preconditions>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Preconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl Preconditions {
    /// As `Convert_url_Values_To_v1_DeleteOptions` of k8s.io/apimachinery reads them. Of a
    /// collection, too, where the same word says which list is meant.
    fn in_query(uid: Option<&str>, version: Option<&str>) -> Option<Self> {
        let said = uid.is_some() || version.is_some();
        said.then(|| Self {
            uid: uid.map(str::to_owned),
            resource_version: version.map(str::to_owned),
        })
    }
}

/// What a body says, its types checked.
fn sent(body: &[u8]) -> Result<Value, String> {
    let options = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    json_syntax::interpret(&options)?;
    check_type(&options)?;
    if let (Value::Object(members), Some(message)) = (&options, TYPES.kind("v1", "DeleteOptions")) {
        builtin::canonical_message(
            message,
            members.clone(),
            builtin::Source::Json,
            &mut Vec::new(),
        )?;
    }
    Ok(options)
}

/// That the options say to be options, if they say what they are: something else sent by mistake
/// must not delete.
fn check_type(options: &Value) -> Result<(), String> {
    let says = |member: &str| options.get(member).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (says("kind"), says("apiVersion"));
    if version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {version}"));
    }
    if matches!(kind, "" | "DeleteOptions") {
        return Ok(());
    }
    let version = if version.is_empty() { "meta.k8s.io/v1" } else { version };
    Err(format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    ))
}

impl DeleteOptions {
    /// From the body, or from the query if there is none.
    fn parse(query: &Query, request: &Request<Bytes>) -> Result<Self, Status> {
        let bad = |why: String| Status::bad_request(format!("DeleteOptions: {why}"));
        let options: Self = if request.body().is_empty() {
            let text = |name: &str| query.get(name).filter(|value| !value.is_empty());
            Self {
                grace_period_seconds: query.number("gracePeriodSeconds")?,
                propagation_policy: query.get("propagationPolicy").map(str::to_owned),
                orphan_dependents: query
                    .get("orphanDependents")
                    .map(|_| query.flag("orphanDependents")),
                dry_run: Some(query.all("dryRun").map(|value| Some(value.to_owned())).collect()),
                preconditions: Preconditions::in_query(text("uid"), text("resourceVersion")),
            }
        } else {
            media::require_json(request.headers())?;
            let options = sent(request.body()).map_err(Status::bad_request)?;
            let options: Option<Self> =
                serde_json::from_value(options).map_err(|error| bad(error.to_string()))?;
            options.unwrap_or_default()
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), Status> {
        let mut causes = Vec::new();
        if self.orphan_dependents.is_some()
            && let Some(policy) = &self.propagation_policy
        {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(FieldError::invalid("propagationPolicy", policy, why));
        }
        if let Some(policy) = &self.propagation_policy
            && !matches!(policy.as_str(), "Background" | "Foreground" | "Orphan")
        {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            causes.push(FieldError::unsupported("propagationPolicy", policy, &supported));
        }
        // A null is an empty text.
        let dry_run =
            self.dry_run.iter().flatten().map(|value| value.as_deref().unwrap_or_default());
        causes.extend(dry_run_cause(dry_run));
        query::refuse("DeleteOptions", &causes)
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run.as_ref().is_some_and(|values| !values.is_empty())
    }

    /// Whether what to do with the dependents goes without saying, and is to leave them: of Jobs
    /// alone, as ever.
    fn orphans_by_default(&self, kind: &ServedResource) -> bool {
        kind.builtin == Some(Builtin::Job)
            && self.propagation_policy.is_none()
            && self.orphan_dependents.is_none()
    }

    /// What a delete warns of, whatever becomes of it.
    fn warnings(&self, kind: &ServedResource) -> Vec<String> {
        const ORPHANED: &str = "child pods are preserved by default when jobs are deleted; set \
            propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";
        let orphans = self.orphans_by_default(kind);
        orphans.then(|| ORPHANED.to_owned()).into_iter().collect()
    }

    /// Whether they say at all what becomes of the dependents.
    const fn says_what_waits(&self) -> bool {
        self.propagation_policy.is_some() || self.orphan_dependents.is_some()
    }

    /// The finalizer that makes a garbage collector deal with the dependents first.
    fn waits_for(&self, kind: &ServedResource) -> Option<&'static str> {
        match (self.propagation_policy.as_deref(), self.orphan_dependents) {
            _ if is_leaf(kind) => None,
            (None, None) if self.orphans_by_default(kind) => Some("orphan"),
            (Some("Foreground"), _) => Some("foregroundDeletion"),
            (Some("Orphan"), _) | (None, Some(true)) => Some("orphan"),
            _ => None,
        }
    }
}

/// Whether nothing can depend on objects of the kind: no policy makes one wait
/// (`rest.Unsupported`).
fn is_leaf(kind: &ServedResource) -> bool {
    matches!(kind.builtin, Some(Builtin::Event | Builtin::EventV1))
}

/// What a delete did.
enum Deleted {
    /// It is gone; this was its last version.
    Gone(Answer),
    /// It is still there, marked.
    Held(Answer),
    /// It would have been gone, and nothing is said of it: the real server gives up the update that
    /// takes the last finalizer away where it is only tried, and answers with what it would
    /// have filled in.
    Untold,
}

pub(crate) fn delete(call: Call<'_>, form: Form) -> Result<Response<Body>, Status> {
    let Call { api, target, query, request, .. } = call;
    let (kind, name) = (call.kind(), call.name());
    check_path_name(name)?;
    let options = DeleteOptions::parse(query, request)?;
    let key = key_of(target, name);
    let now = api.clock.now();
    let admission = AdmissionChain::of(api, call.writer(options.is_dry_run()));
    let deleted = guaranteed_update(api, |transaction| {
        delete_with(api, transaction, kind, &key, &options, Some(&admission), now)
    });
    let warnings = options.warnings(kind);
    let (written, deleted) = deleted.map_err(|status| status.warned(&warnings))?;
    let answers_object = kind.builtin.is_some_and(Builtin::delete_answers_object);
    let response = match deleted {
        Deleted::Gone(last) if !answers_object => {
            let last = last.resolve(&written)?;
            json_response(StatusCode::OK, status::deleted(kind, name, last.uid()).to_string())
        }
        Deleted::Gone(object) => {
            json_response(StatusCode::OK, object.resolve(&written)?.to_bytes(kind, form))
        }
        Deleted::Held(object) => {
            let object = object.resolve(&written)?;
            // Only to who asks for it in the old way.
            let cascades = options.orphan_dependents == Some(false);
            let code = if cascades { StatusCode::ACCEPTED } else { StatusCode::OK };
            json_response(code, object.to_bytes(kind, form))
        }
        Deleted::Untold => json_response(StatusCode::OK, empty(kind, form)),
    };
    Ok(with_warnings(response, &warnings))
}

/// An object of a kind with nothing in it; a custom one has no metadata either.
fn empty(kind: &ServedResource, form: Form) -> Bytes {
    let mut object = kind.types().zero().clone();
    if kind.builtin.is_none() && form == Form::Full {
        return json!({ "apiVersion": kind.api_version(), "kind": kind.kind() }).to_string().into();
    }
    Stored::new(kind, Key::new("", ""), 0, &mut object, "").to_bytes(kind, form)
}

/// Deletes what matches, one object after the other, each in a write of its own, as
/// `Store.DeleteCollection` of k8s.io/apiserver/pkg/registry/generic/registry: the first that
/// cannot be deleted ends it, and those before are gone. Answers with the list of what was there.
pub(crate) async fn delete_collection(
    call: Call<'_>,
    form: Form,
) -> Result<Response<Body>, Status> {
    let Call { api, target, query, request, .. } = call;
    let kind = call.kind();
    let list = ListOptions::parse(query)?;
    Selector::check(&list.labels, &list.fields)?;
    list.check_list()?;
    Selector::parse(kind, &list.labels, &list.fields)?;
    let options = DeleteOptions::parse(query, request)?;
    let warnings = options.warnings(kind);
    let listed = list::select(api, target, &list).await?;
    let writer = call.writer(options.is_dry_run());
    for object in &listed.objects {
        let now = api.clock.now();
        let admission = AdmissionChain::of(api, Writer { name: object.key.name(), ..writer });
        match guaranteed_update(api, |transaction| {
            delete_with(api, transaction, kind, &object.key, &options, Some(&admission), now)
        }) {
            // Somebody else was faster.
            Err(status) if status.code() == StatusCode::NOT_FOUND.as_u16() => {}
            deleted => drop(deleted.map_err(|status| status.warned(&warnings))?),
        }
    }
    Ok(with_warnings(listed.into_response(target, form), &warnings))
}

/// Deletes all objects of a kind, as far as nothing holds them.
pub(crate) fn delete_all(api: &ApiState, kind: &ServedResource) {
    let place = Place { table: &kind.storage, namespace: None, from: None };
    let objects = api.store.look(|state| state.snapshot(&place, None)).unwrap_or_default();
    for object in objects {
        let now = api.clock.now();
        let options = DeleteOptions::default();
        // Somebody else may be faster.
        let _gone = guaranteed_update(api, |transaction| {
            delete_one(transaction, kind, &object.key, &options, None, now)
        });
    }
}

/// Deletes an object, and what goes with it.
fn delete_with(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    key: &Key,
    options: &DeleteOptions,
    admission: Option<&AdmissionChain<'_>>,
    now: Timestamp,
) -> Result<Deleted, Status> {
    let deleted = delete_one(transaction, kind, key, options, admission, now)?;
    if matches!(deleted, Deleted::Gone(_)) && !options.is_dry_run() {
        gone(api, transaction, kind, key, now);
    }
    Ok(deleted)
}

/// After the last of an object: the Endpoints of a Service go with it (`afterDelete` of
/// pkg/registry/core/service/storage).
pub(super) fn gone(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    key: &Key,
    now: Timestamp,
) {
    if kind.builtin == Some(Builtin::Service)
        && let Some(endpoints) = api.registry.read().find("", "v1", "endpoints")
    {
        // Nobody is asked about them (`rest.ValidateAllObjectFunc`). Often there are none.
        let _gone = delete_one(transaction, &endpoints, key, &DeleteOptions::default(), None, now);
    }
}

fn delete_one(
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    key: &Key,
    options: &DeleteOptions,
    admission: Option<&AdmissionChain<'_>>,
    now: Timestamp,
) -> Result<Deleted, Status> {
    let name = key.name();
    let found = transaction.get(&kind.storage, key);
    let current = found.ok_or_else(|| Status::not_found(kind, name))?;
    if kind.builtin == Some(Builtin::Namespace)
        && let Some(done) =
            namespaces::first_steps(transaction, kind, &current, options, admission, now)?
    {
        return Ok(done);
    }
    if let Some(wanted) = &options.preconditions {
        check_preconditions(kind, name, wanted, &current)?;
    }
    let dry_run = options.is_dry_run();
    let old = shown(kind, &current);
    if let Some(chain) = admission {
        chain.validate_deletion(&old)?;
    }
    let mut new = old.clone();
    // An object's own finalizers are stronger than what goes without saying of its kind.
    let marked =
        metadata::finalizers(&old).iter().any(|f| matches!(*f, "orphan" | "foregroundDeletion"));
    let says =
        options.says_what_waits() || (options.orphans_by_default(kind) && !marked) || is_leaf(kind);
    let waits =
        metadata::get(&old, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) > 0;
    if says && !waits {
        // What the options say overrules what the object carries
        // (`deletionFinalizersForGarbageCollection`).
        let mut finalizers = metadata::finalizers(&old);
        finalizers.retain(|finalizer| !matches!(*finalizer, "orphan" | "foregroundDeletion"));
        finalizers.extend(options.waits_for(kind));
        if finalizers.is_empty() {
            metadata::of(&mut new).remove("finalizers");
        } else {
            let finalizers = Value::from(finalizers);
            metadata::set(&mut new, "finalizers", finalizers);
        }
    }
    let grace = grace_period(kind, &old, options);
    let cleans_up = kind.builtin == Some(Builtin::Definition) && !metadata::is_being_deleted(&old);
    let held = !metadata::finalizers(&new).is_empty() || grace > 0 || cleans_up;
    // A pod is told first, however short its grace.
    let is_told =
        kind.builtin == Some(Builtin::Pod) && (waits || !metadata::is_being_deleted(&old));
    if !held && !is_told {
        let frees = !metadata::finalizers(&old).is_empty();
        if dry_run && frees {
            return Ok(Deleted::Untold);
        }
        // The update that takes the last finalizer away is given up there, and its version, none,
        // is what the delete is held to then.
        if frees
            && options
                .preconditions
                .as_ref()
                .is_some_and(|wanted| wanted.resource_version.is_some())
        {
            let namespace = Some(key.namespace()).filter(|namespace| !namespace.is_empty());
            let found = current.revision;
            let why = format!(
                "ResourceVersion in precondition: , ResourceVersion in object meta: {found}"
            );
            return Err(write::unmet(kind, namespace, name, &why, false));
        }
        if dry_run {
            return Ok(Deleted::Gone(Answer::Known(current)));
        }
        let last = transaction.remove(&kind.storage, current.at_revision(kind, NEXT));
        return Ok(Deleted::Gone(Answer::Change(last)));
    }
    mark(kind, &mut new, grace, now);
    if new == old && !current.leaves_unsaid() {
        return Ok(Deleted::Held(Answer::Known(current)));
    }
    let revision = if dry_run { current.revision } else { NEXT };
    let mut object = kind.to_storage(new);
    let stored = Stored::new(kind, key.clone(), revision, &mut object, current.managed());
    let of = |answer| if held { Deleted::Held(answer) } else { Deleted::Gone(answer) };
    if dry_run {
        return Ok(of(Answer::Known(Arc::new(stored))));
    }
    let last = (!held).then(|| stored.at_revision(kind, NEXT));
    let mut change = transaction.put(&kind.storage, stored);
    if let Some(last) = last {
        change = transaction.remove(&kind.storage, last);
    }
    Ok(of(Answer::Change(change)))
}

fn check_preconditions(
    kind: &ServedResource,
    name: &str,
    wanted: &Preconditions,
    current: &Stored,
) -> Result<(), Status> {
    let revision = current.revision.to_string();
    let recreated = "The object might have been deleted and then recreated";
    let pairs = [
        ("UID", &wanted.uid, current.uid(), recreated),
        (
            "ResourceVersion",
            &wanted.resource_version,
            &revision,
            "The object might have been modified",
        ),
    ];
    for (what, wanted, is, so) in pairs {
        if let Some(wanted) = wanted
            && wanted != is
        {
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({is}). {so}"
            );
            return Err(Status::precondition(kind, name, &why));
        }
    }
    Ok(())
}

/// Seconds that a kubelet gets to stop a pod: only one that was given to a node, and may be
/// running.
fn grace_period(kind: &ServedResource, old: &Object, options: &DeleteOptions) -> i64 {
    if kind.builtin != Some(Builtin::Pod) {
        return 0;
    }
    // Less than nothing is one second: `BeforeDelete` of k8s.io/apiserver/pkg/registry/rest.
    let asked = options.grace_period_seconds.map(|asked| if asked < 0 { 1 } else { asked });
    // A second delete can only shorten what the first one gave, and who asks for nothing changes
    // nothing.
    if metadata::is_being_deleted(old) {
        // Without a grace it was left behind by a delete that did not come to its end.
        let given =
            metadata::get(old, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
        return asked.map_or(given, |asked| asked.min(given));
    }
    let at = |path: &str| rules::at(old, path);
    let on_node = at("spec.nodeName").and_then(Value::as_str).is_some_and(|node| !node.is_empty());
    let ended = at("status.phase").is_some_and(|phase| phase == "Failed" || phase == "Succeeded");
    if !on_node || ended {
        return 0;
    }
    let own = at("spec.terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
    asked.unwrap_or(own)
}

fn mark(kind: &ServedResource, object: &mut Object, grace: i64, now: Timestamp) {
    if metadata::ends_at_zero(object) {
        metadata::set(object, "deletionGracePeriodSeconds", grace);
        return;
    }
    let first = !metadata::is_being_deleted(object);
    if first && kind.builtin == Some(Builtin::Definition) {
        definition::mark_deleted(object, &clock::seconds(now));
        return;
    }
    let given = metadata::get(object, "deletionGracePeriodSeconds").and_then(Value::as_i64);
    let mut grace = grace;
    if first {
        let end = now.saturating_add(SignedDuration::from_secs(grace)).unwrap_or(Timestamp::MAX);
        metadata::set(object, "deletionTimestamp", clock::seconds(end));
    } else if let Some(given) = given.filter(|given| grace < *given) {
        // Counted from the first delete; what is over by then is left a second, in which somebody
        // may see it.
        let until: Option<Timestamp> = metadata::text(object, "deletionTimestamp").parse().ok();
        let sooner = SignedDuration::from_secs(given.saturating_sub(grace));
        let end = until.and_then(|until| until.checked_sub(sooner).ok()).filter(|end| *end >= now);
        if end.is_none() && grace != 0 {
            grace = 1;
        }
        metadata::set(object, "deletionTimestamp", clock::seconds(end.unwrap_or(now)));
    }
    // What was marked by a kind's own first step says no grace until it is deleted again.
    if first || given.is_none_or(|given| grace < given) {
        metadata::set(object, "deletionGracePeriodSeconds", grace);
    }
    if first && metadata::generation(object) > 0 {
        metadata::set(object, "generation", metadata::generation(object).saturating_add(1));
    }
}
