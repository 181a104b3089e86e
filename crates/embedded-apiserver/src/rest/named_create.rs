//! POST to a subresource to which another kind is posted: binding, eviction, token.

mod binding;
mod condition;
mod eviction;
mod posted;
mod token;

use api_front::Body;
use http::{Response, StatusCode};
use serde_json::json;

use crate::api::media::{self, Form};
use crate::api::metadata;
use crate::api::response::with_warnings;
use crate::api::status::{Status, json_response};
use crate::rest::admission_chain::{AdmissionChain, View, Writer};
use crate::rest::call::Call;
use crate::rest::decode;
use crate::rest::named_create::posted::Posted;
use crate::rest::namespace::{check_namespace, set_namespace};
use crate::rest::ownership::Owners;
use crate::store::transaction::Transaction;
use crate::strategy::builtin::named_create::NamedCreate;

/// Answers a POST. The order of the checks is that of `createHandler` of
/// k8s.io/apiserver/pkg/endpoints/handlers.
pub(crate) async fn named_create(
    call: Call<'_>,
    create: NamedCreate,
    form: Form,
) -> Result<Response<Body>, Status> {
    let Call { api, target, query, request, .. } = call;
    let kind = create.posted();
    media::require_json(request.headers())?;
    let (dry_run, validation) = query.write_options("CreateOptions", Vec::new())?;
    let mut decoded = decode::body(kind, request, validation)?;
    decoded.remove_equal_owners("");
    let refused = |status: Status| status.warned(&decoded.warnings);
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let mut object = decoded.object;
    set_namespace(&mut object, Some(namespace)).map_err(refused)?;
    // The error names the object of the path.
    let mut named = object.clone();
    if target.name.is_some() {
        metadata::set(&mut named, "name", call.name());
    }
    let mut transaction = Transaction::new(&api.store);
    check_namespace(api, &mut transaction, &target.kind, namespace, &named).map_err(refused)?;
    kind.strategy().default(&mut object);
    let owners = Owners::Changes(&call.author(), decoded.sent);
    let managed = owners.of(api, kind, None, &object, api.clock.now()).await?;
    // Hooks see what is posted, and not the object of the path.
    let view = View { kind, of: &|object| Ok(object.clone()) };
    let writer = Writer { view: Some(view), ..call.writer(dry_run) };
    let admission = &AdmissionChain::of(api, writer);
    let refused = |status: Status| admission.warned(status).warned(&decoded.warnings);
    let object = admission.mutate(object, Some(&managed), None).await.map_err(refused)?;
    let posted = Posted { object, managed, dry_run, admission };
    let response = match create {
        NamedCreate::Binding => binding::bind(call, posted).await.map(|()| succeeded()),
        NamedCreate::Eviction => eviction::evict(call, posted).await.map(|()| succeeded()),
        NamedCreate::Token => token::request(call, posted, form).await,
    };
    let warnings = [decoded.warnings.clone(), admission.warnings().concat()].concat();
    Ok(with_warnings(response.map_err(refused)?, &warnings))
}

/// The answer without an object.
fn succeeded() -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    json_response(StatusCode::CREATED, status.to_string())
}
