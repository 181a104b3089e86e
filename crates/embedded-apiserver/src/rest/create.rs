//! POST, and objects that the server creates itself.

use std::sync::Arc;

use k8s_merge::managed_fields::RequestedFields;
use serde_json::Value;

use crate::api::media;
use crate::api::status::Status;
use crate::rest::admission_chain::AdmissionChain;
use crate::rest::call::Call;
use crate::rest::conversion::shown_as;
use crate::rest::decode::{self, Decoded};
use crate::rest::guaranteed_update::{at_once, guaranteed_update};
use crate::rest::insert::{New, insert};
use crate::rest::ownership::{Author, Owners};
use crate::rest::state::ApiState;
use crate::rest::warnings::warned;
use crate::rest::written::Written;
use crate::store::stored::Stored;
use crate::strategy::resource::ServedResource;

pub(crate) async fn create(call: Call<'_>) -> Result<Written, Status> {
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
    let written = guaranteed_update!(api, |transaction| {
        // A retry decodes the body again.
        let Decoded { object, sent, .. } = first.take().map_or_else(read, Ok)?;
        insert(api, transaction, &new, object, Owners::Changes(&author, sent)).await
    });
    let (written, answer) = written.map_err(|status| admission.warned(status).warned(&warnings))?;
    let object = shown_as(api, kind, answer.resolve(&written)?).await?;
    warnings.extend(warned(&admission, kind, &object, None, None));
    Ok(Written { object, created: true, warnings })
}

/// Creates an object of the server's own. Its types must be right.
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
    let new = New::of_server(kind, namespace, now);
    let written = async {
        guaranteed_update!(api, |transaction| {
            let owners = Owners::Changes(&author, RequestedFields::Unset);
            insert(api, transaction, &new, object.clone(), owners).await
        })
    };
    let (written, answer) = at_once(written)?;
    answer.resolve(&written)
}
