//! DELETE of an object and of a collection.

use api_front::Body;
use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::json;

use crate::api::media::Form;
use crate::api::query::ListOptions;
use crate::api::response::with_warnings;
use crate::api::status::{self, Status, json_response};
use crate::rest::admission_chain::{AdmissionChain, Writer};
use crate::rest::call::Call;
use crate::rest::conversion::shown_as;
use crate::rest::delete_options::DeleteOptions;
use crate::rest::get::{check_path_name, key_of};
use crate::rest::guaranteed_update::{at_once, guaranteed_update};
use crate::rest::list;
use crate::rest::removal::{Removal, remove, remove_object};
use crate::rest::selector::Selector;
use crate::rest::state::ApiState;
use crate::store::state::Place;
use crate::store::stored::{Key, Stored};
use crate::strategy::resource::ServedResource;

pub(crate) async fn delete(call: Call<'_>, form: Form) -> Result<Response<Body>, Status> {
    let Call { api, target, query, request, .. } = call;
    let (kind, name) = (call.kind(), call.name());
    check_path_name(name)?;
    let options = DeleteOptions::parse(query, request)?;
    let key = key_of(target, name);
    let now = api.clock.now();
    let admission = {
        let writer = call.writer(options.is_dry_run());
        AdmissionChain::of(api, Writer { deletion: Some(&options), ..writer })
    };
    let deleted = guaranteed_update!(api, |transaction| {
        remove(api, transaction, kind, &key, &options, Some(&admission), now).await
    });
    let mut warnings = options.warnings(kind);
    let (written, deleted) =
        deleted.map_err(|status| admission.warned(status).warned(&warnings))?;
    warnings.extend(admission.warnings().concat());
    let answers_object = kind.strategy().delete_answers_object();
    let response = match deleted {
        Removal::Gone(last) if !answers_object => {
            let last = last.resolve(&written)?;
            json_response(StatusCode::OK, status::deleted(kind, name, last.uid()).to_string())
        }
        Removal::Gone(object) => {
            let object = shown_as(api, kind, object.resolve(&written)?).await?;
            json_response(StatusCode::OK, object.to_bytes(kind, form))
        }
        Removal::Held(object) => {
            let object = shown_as(api, kind, object.resolve(&written)?).await?;
            // 202 is only for the deprecated `orphanDependents=false`.
            let cascades = options.orphan_dependents == Some(false);
            let code = if cascades { StatusCode::ACCEPTED } else { StatusCode::OK };
            json_response(code, object.to_bytes(kind, form))
        }
        Removal::Untold => json_response(StatusCode::OK, empty(kind, form)),
    };
    Ok(with_warnings(response, &warnings))
}

/// An empty object of a kind. A custom one has no metadata either.
fn empty(kind: &ServedResource, form: Form) -> Bytes {
    let mut object = kind.types().zero().clone();
    kind.strategy().fill_empty(&mut object);
    if !kind.is_built_in() && form != Form::Metadata {
        return json!({ "apiVersion": kind.api_version(), "kind": kind.kind() }).to_string().into();
    }
    Stored::new(kind, Key::new("", ""), 0, &mut object, "").to_bytes(kind, form)
}

/// Deletes the selected objects, each in a write of its own (`Store.DeleteCollection` of
/// k8s.io/apiserver/pkg/registry/generic/registry). It stops at the first error; earlier deletes
/// stay. Returns the list of the deleted objects.
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
    let mut warnings = options.warnings(kind);
    let listed = list::select(api, target, &list).await?;
    let writer = Writer { deletion: Some(&options), ..call.writer(options.is_dry_run()) };
    for object in &listed.objects {
        let now = api.clock.now();
        let admission = AdmissionChain::of(api, writer);
        let deleted = guaranteed_update!(api, |transaction| {
            remove(api, transaction, kind, &object.key, &options, Some(&admission), now).await
        });
        match deleted {
            // Deleted concurrently.
            Err(status) if status.code() == StatusCode::NOT_FOUND.as_u16() => {}
            deleted => {
                deleted.map_err(|status| admission.warned(status).warned(&warnings))?;
                warnings.extend(admission.warnings().concat());
            }
        }
    }
    Ok(with_warnings(listed.into_response(target, form), &warnings))
}

/// Deletes all objects of a kind. Finalizers still hold theirs.
pub(crate) fn delete_all(api: &ApiState, kind: &ServedResource) {
    let place = Place { table: &kind.storage, namespace: None, from: None };
    let objects = api.store.look(|state| state.snapshot(&place, None)).unwrap_or_default();
    for object in objects {
        let now = api.clock.now();
        let options = DeleteOptions::default();
        // A concurrent delete is fine.
        let _gone = at_once(async {
            guaranteed_update!(api, |transaction| {
                remove_object(None, transaction, kind, &object.key, &options, None, now).await
            })
        });
    }
}
