//! PUT and PATCH of an existing object.

use crate::api::media;
use crate::api::media::Form;
use crate::api::metadata::{self, Object};
use crate::api::query::{FieldValidation, Query};
use crate::api::status::{FieldError, Status};
use crate::rest::admission_chain::AdmissionChain;
use crate::rest::apply;
use crate::rest::call::Call;
use crate::rest::conversion::shown_as;
use crate::rest::decode::{self, Decoded, Origin};
use crate::rest::duplicates::{self, Shape};
use crate::rest::edited::Edited;
use crate::rest::get::{check_path_name, key_of};
use crate::rest::guaranteed_update::guaranteed_update;
use crate::rest::insert::{New, insert};
use crate::rest::namespace::set_namespace;
use crate::rest::ownership::Owners;
use crate::rest::patches::Patch;
use crate::rest::preconditions::{check_number, check_said_name, other_uid};
use crate::rest::route::Target;
use crate::rest::versions::shown;
use crate::rest::warnings::warned;
use crate::rest::written::Written;
use crate::store::stored::Stored;
use crate::strategy::resource::ServedResource;
use k8s_merge::managed_fields::ManagedFields;

/// Where upstream finds duplicate owner references after a patch.
pub(super) const AFTER_HOOKS: &str = " after mutating admission happens";

pub(crate) async fn replace(call: Call<'_>) -> Result<Written, Status> {
    let Call { query, request, .. } = call;
    let (kind, name) = (call.kind(), call.name());
    check_path_name(name)?;
    media::require_json(request.headers())?;
    let (dry_run, validation) = query.write_options("UpdateOptions", Vec::new())?;
    let read = || {
        let mut decoded = decode::body(kind, request, validation)?;
        decoded.remove_equal_owners("");
        set_namespace(&mut decoded.object, call.target.namespace.as_deref())
            .and_then(|()| check_said_name(&decoded.object, name))
            .map_err(|status| status.warned(&decoded.warnings))?;
        Ok(decoded)
    };
    let mut first = read()?;
    let mut warnings = std::mem::take(&mut first.warnings);
    let mut first = Some(first);
    // A retry decodes the body again.
    let next = || Ok(Edit::Replace(first.take().map_or_else(read, Ok)?));
    let mut written =
        update(call, next, dry_run).await.map_err(|status| status.warned(&warnings))?;
    warnings.append(&mut written.warnings);
    Ok(Written { warnings, ..written })
}

pub(crate) async fn patch(call: Call<'_>) -> Result<Written, Status> {
    let Call { api, target, query, request, .. } = call;
    let (kind, name) = (call.kind(), call.name());
    check_path_name(name)?;
    let patch_type = media::patch_type(request.headers(), kind.is_built_in())?;
    if patch_type == media::PatchType::Apply {
        return apply::apply(call).await;
    }
    let forbidden = forbidden_force(query).into_iter().collect();
    let (dry_run, validation) = query.write_options("PatchOptions", forbidden)?;
    let patch = Patch::parse(patch_type, request.body(), kind, validation).map_err(|status| {
        // A missing object is reported before the patch is read.
        let is_there = api.store.get(&kind.storage, &key_of(target, name)).is_some();
        if is_there || !matches!(status.code(), 400 | 422) {
            status
        } else {
            Status::not_found(kind, name)
        }
    })?;
    let duplicates = duplicates_of(&patch, request.body());
    let next = || Ok(Edit::Patch { patch: &patch, duplicates: &duplicates, validation });
    update(call, next, dry_run).await
}

/// The duplicate fields of a patch.
pub(super) fn duplicates_of(patch: &Patch, body: &[u8]) -> Vec<String> {
    let found = duplicates::find(body, Shape::Any);
    match patch {
        Patch::Json(_) => found.into_iter().map(|why| format!("json patch {why}")).collect(),
        Patch::Merge(_) | Patch::Strategic(..) => found,
    }
}

/// Only an apply takes `force`.
pub(super) fn forbidden_force(query: &Query) -> Option<FieldError> {
    query
        .get("force")
        .map(|_| FieldError::forbidden("force", "may not be specified for non-apply patch"))
}

/// The change of an object.
enum Edit<'a> {
    Replace(Decoded),
    Patch { patch: &'a Patch, duplicates: &'a [String], validation: FieldValidation },
}

async fn update<'a>(
    call: Call<'_>,
    mut next: impl FnMut() -> Result<Edit<'a>, Status>,
    dry_run: bool,
) -> Result<Written, Status> {
    let Call { api, target, .. } = call;
    let (kind, name, author) = (call.kind(), call.name(), call.author());
    let key = key_of(target, name);
    let now = api.clock.now();
    let admission = AdmissionChain::of(api, call.writer(dry_run));
    let right = call.create_right();
    let written = guaranteed_update!(api, |transaction| {
        let edit = next()?;
        let Some(stored) = transaction.get(&kind.storage, &key) else {
            let strategy = kind.strategy();
            let creates = strategy.creates_on_update()
                && (target.subresource.is_none() || strategy.creates_on_status_update());
            let Edit::Replace(Decoded { mut object, sent, hidden, .. }) = edit else {
                return Err(Status::not_found(kind, name));
            };
            if !creates {
                return Err(Status::not_found(kind, name));
            }
            let uid = metadata::text(&object, "uid");
            if !uid.is_empty() {
                return Err(other_uid(target, name, (uid, ""), dry_run));
            }
            check_number(&object)?;
            // Only the store checks it, and a dry run does not reach the store.
            if !dry_run {
                metadata::of(&mut object).remove("resourceVersion");
            }
            let owners = Owners::Changes(&author, sent);
            let new = New::by_update(target, &admission, &right, now, dry_run).hiding(hidden);
            let answer = insert(api, transaction, &new, object, owners).await;
            let answer = answer.map_err(|status| admission.warned(status))?;
            return Ok((answer, None, Vec::new()));
        };
        let current = shown_as(api, kind, stored).await?;
        let old = shown(kind, &current);
        let decoded = edited(target, name, edit, &current, &old, dry_run)?;
        let Decoded { object: new, warnings, sent, hidden } = decoded;
        let owned = ManagedFields::parse(current.managed());
        let edited = Edited {
            api,
            kind,
            target,
            name,
            current: &current,
            old: &old,
            owned: &owned,
            now,
            hidden,
            admission: &admission,
        };
        let answer = edited.store(transaction, new, Owners::Changes(&author, sent), dry_run);
        let answer = answer.await.map_err(|status| admission.warned(status).warned(&warnings))?;
        Ok((answer, Some(old), warnings))
    });
    right.note(&api.access);
    let (written, (answer, old, mut warnings)) = written?;
    let object = shown_as(api, kind, answer.resolve(&written)?).await?;
    let subresource = target.subresource.as_deref();
    warnings.extend(warned(&admission, kind, &object, old.as_ref(), subresource));
    Ok(Written { object, created: old.is_none(), warnings })
}

/// The new object of the client.
fn edited(
    target: &Target,
    name: &str,
    edit: Edit<'_>,
    current: &Stored,
    old: &Object,
    dry_run: bool,
) -> Result<Decoded, Status> {
    match edit {
        Edit::Replace(decoded) => {
            let uid = metadata::text(&decoded.object, "uid");
            let existing = metadata::text(old, "uid");
            if !uid.is_empty() && uid != existing {
                return Err(other_uid(target, name, (uid, existing), dry_run));
            }
            Ok(decoded)
        }
        Edit::Patch { patch, duplicates, validation } => {
            patched(&target.kind, name, patch, duplicates, validation, current, old)
        }
    }
}

/// Applies a patch. Returns the new object and its owners.
fn patched(
    kind: &ServedResource,
    name: &str,
    patch: &Patch,
    duplicates: &[String],
    validation: FieldValidation,
    current: &Stored,
    old: &Object,
) -> Result<Decoded, Status> {
    let document = patch.apply(current.to_bytes(kind, Form::Full))?;
    let origin = Origin::of(patch);
    let mut decoded = decode::patched(kind, document, duplicates, validation, origin)?;
    decoded.remove_equal_owners(AFTER_HOOKS);
    let namespace =
        Some(metadata::text(old, "namespace")).filter(|namespace| !namespace.is_empty());
    set_namespace(&mut decoded.object, namespace)?;
    check_said_name(&decoded.object, name)?;
    Ok(decoded)
}
