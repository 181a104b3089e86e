//! The removal of an object and of the objects that go with it.

mod mark;

use std::sync::Arc;

use jiff::Timestamp;

use crate::api::metadata::{self, Object};
use crate::api::status::Status;
use crate::rest::admission_chain::AdmissionChain;
use crate::rest::conversion::{shown_as, stored_form, unconverted};
use crate::rest::delete_options::{DeleteOptions, Preconditions};
use crate::rest::guaranteed_update::Answer;
use crate::rest::preconditions::unmet;
use crate::rest::removal::mark::{mark, set_finalizers, shortens, waits};
use crate::rest::state::ApiState;
use crate::rest::versions::{Over, shown};
use crate::store::stored::{Key, NEXT, Stored};
use crate::store::transaction::Transaction;
use crate::strategy::Deletion;
use crate::strategy::resource::ServedResource;

/// The result of a delete.
pub(super) enum Removal {
    /// The object is removed. Holds the last version.
    Gone(Answer),
    /// The object is marked, and a finalizer or a grace period holds it.
    Held(Answer),
    /// A dry run removes the last finalizer. Upstream aborts it and returns an empty object.
    Untold,
}

/// Deletes an object, and the objects that go with it.
pub(super) async fn remove(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    key: &Key,
    options: &DeleteOptions,
    admission: Option<&AdmissionChain<'_>>,
    now: Timestamp,
) -> Result<Removal, Status> {
    let removal = remove_object(Some(api), transaction, kind, key, options, admission, now).await?;
    if matches!(removal, Removal::Gone(_)) && !options.is_dry_run() {
        remove_with(api, transaction, kind, key, now).await;
    }
    Ok(removal)
}

/// Deletes the objects that go with an object. No admission runs (`rest.ValidateAllObjectFunc`).
pub(super) async fn remove_with(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    key: &Key,
    now: Timestamp,
) {
    let Some((group, version, plural)) = kind.strategy().removed_with() else { return };
    let other = api.registry.read().find(group, version, plural);
    if let Some(other) = other {
        let options = DeleteOptions::default();
        let _gone = remove_object(Some(api), transaction, &other, key, &options, None, now).await;
    }
}

/// Deletes only the object itself. Without `api` no webhook converts it.
pub(super) async fn remove_object(
    api: Option<&ApiState>,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    key: &Key,
    options: &DeleteOptions,
    admission: Option<&AdmissionChain<'_>>,
    now: Timestamp,
) -> Result<Removal, Status> {
    let (name, strategy) = (key.name(), kind.strategy());
    let found = transaction.get(&kind.storage, key);
    let stored = found.ok_or_else(|| Status::not_found(kind, name))?;
    let current = match api {
        Some(api) => shown_as(api, kind, Arc::clone(&stored)).await?,
        None => unconverted(kind, Arc::clone(&stored)),
    };
    let old = shown(kind, &current);
    let is_first = !metadata::is_being_deleted(&old);
    let dry_run = options.is_dry_run();
    let marks = strategy.deletion() == Deletion::Mark;
    if marks {
        check_preconditions_of_mark(kind, name, options, &current)?;
    }
    if let Some(why) = strategy.why_undeletable(name) {
        return Err(Status::forbidden(kind, name, why));
    }
    if marks && !is_first && strategy.is_held(&old) {
        // Hooks and options do not matter here.
        return Ok(Removal::Held(Answer::Known(current)));
    }
    if let Some(wanted) = &options.preconditions {
        check_preconditions(kind, name, wanted, &current)?;
    }
    if let Some(chain) = admission {
        chain.validate_deletion(&old, &current).await?;
    }
    let mut new = old.clone();
    if marks && is_first {
        strategy.mark_deleted(&mut new, options.propagation(), now);
        return Ok(Removal::Held(put(api, transaction, kind, &current, new, dry_run).await?));
    }
    // A negative grace period is one second: `BeforeDelete` of k8s.io/apiserver/pkg/registry/rest.
    let asked = options.grace_period_seconds.map(|asked| if asked < 0 { 1 } else { asked });
    if !waits(&old) || shortens(&old, asked) {
        set_finalizers(kind, options, &old, &mut new);
    }
    let grace = strategy.grace_period(&old, asked);
    let cleans_up = strategy.deletion() == Deletion::Cleanup && is_first;
    let held = !metadata::finalizers(&new).is_empty() || grace > 0 || cleans_up;
    let is_told = strategy.deletes_gracefully() && (waits(&old) || is_first);
    if !held && !is_told {
        return remove_at_once(transaction, kind, key, options, (&stored, &current), &old);
    }
    if cleans_up {
        strategy.mark_deleted(&mut new, options.propagation(), now);
    } else {
        mark(&mut new, grace, now);
    }
    if new == old && !current.leaves_unsaid() {
        return Ok(Removal::Held(Answer::Known(current)));
    }
    let marked = put(api, transaction, kind, &current, new, dry_run).await?;
    Ok(match marked {
        answer if held => Removal::Held(answer),
        Answer::Change(change) => {
            let last = transaction.changed(change).map(|marked| marked.at_revision(kind, NEXT));
            let last = last.map(|last| transaction.remove(&kind.storage, last));
            Removal::Gone(Answer::Change(last.unwrap_or(change)))
        }
        answer => Removal::Gone(answer),
    })
}

/// Writes a version with a deletionTimestamp. A dry run only returns it.
async fn put(
    api: Option<&ApiState>,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    current: &Stored,
    object: Object,
    dry_run: bool,
) -> Result<Answer, Status> {
    let revision = if dry_run { current.revision } else { NEXT };
    let (mut object, number) = match api {
        Some(api) => stored_form(api, kind, object, current.managed()).await?,
        None if current.is_converted() => (object, current.version()),
        None => (kind.to_storage(object), current.version()),
    };
    Over { stored: current, written: "metadata" }.restore(kind, &mut object);
    let key = current.key.clone();
    let stored = Stored::new(kind, key, revision, &mut object, current.managed());
    let stored = stored.written_as(number);
    Ok(match dry_run {
        true => Answer::Known(Arc::new(stored)),
        false => Answer::Change(transaction.put(&kind.storage, stored)),
    })
}

/// Removes an object that has no finalizers.
fn remove_at_once(
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    key: &Key,
    options: &DeleteOptions,
    (stored, current): (&Stored, &Arc<Stored>),
    old: &Object,
) -> Result<Removal, Status> {
    let dry_run = options.is_dry_run();
    let frees = !metadata::finalizers(old).is_empty();
    if dry_run && frees {
        return Ok(Removal::Untold);
    }
    let wants_version =
        options.preconditions.as_ref().is_some_and(|wanted| wanted.resource_version.is_some());
    // Upstream aborts the update that removes the last finalizer. Its missing version fails the
    // delete's precondition.
    if frees && wants_version {
        let namespace = Some(key.namespace()).filter(|namespace| !namespace.is_empty());
        let found = current.revision;
        let why =
            format!("ResourceVersion in precondition: , ResourceVersion in object meta: {found}");
        return Err(unmet(kind, namespace, key.name(), &why, false));
    }
    if dry_run {
        return Ok(Removal::Gone(Answer::Known(Arc::clone(current))));
    }
    let last = transaction.remove(&kind.storage, stored.at_revision(kind, NEXT));
    Ok(Removal::Gone(Answer::Change(last)))
}

pub(super) fn check_preconditions(
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

/// As [`check_preconditions`], in the words of `REST.Delete` of
/// pkg/registry/core/namespace/storage.
fn check_preconditions_of_mark(
    kind: &ServedResource,
    name: &str,
    options: &DeleteOptions,
    current: &Stored,
) -> Result<(), Status> {
    let Some(wanted) = &options.preconditions else { return Ok(()) };
    let revision = current.revision.to_string();
    let pairs = [
        ("UID", &wanted.uid, current.uid()),
        ("ResourceVersion", &wanted.resource_version, revision.as_str()),
    ];
    for (what, wanted, is) in pairs {
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != is) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}"
            );
            return Err(Status::conflict(kind, name, &why));
        }
    }
    Ok(())
}
