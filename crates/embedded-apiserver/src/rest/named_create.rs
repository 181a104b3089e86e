//! POST to a subresource to which another kind is posted: binding, eviction, token.

mod binding;
mod condition;
mod eviction;
mod token;

use api_front::Body;
use http::{Response, StatusCode};
use serde_json::json;

use crate::api::media::{self, Form};
use crate::api::metadata::Object;
use crate::api::response::with_warnings;
use crate::api::status::{Status, json_response};
use crate::rest::call::Call;
use crate::rest::decode;
use crate::rest::namespace::{check_namespace, set_namespace};
use crate::store::transaction::Transaction;
use crate::strategy::builtin::named_create::NamedCreate;
use k8s_merge::managed_fields::RequestedFields;

/// A posted object.
struct Posted {
    object: Object,
    sent: RequestedFields,
    dry_run: bool,
}

/// Answers a POST. The order of the checks is that of `createHandler` of
/// k8s.io/apiserver/pkg/endpoints/handlers.
pub(crate) fn named_create(
    call: Call<'_>,
    create: NamedCreate,
    form: Form,
) -> Result<Response<Body>, Status> {
    let Call { api, target, query, request, .. } = call;
    media::require_json(request.headers())?;
    let (dry_run, validation) = query.write_options("CreateOptions", Vec::new())?;
    let mut decoded = decode::body(create.posted(), request, validation)?;
    decoded.remove_equal_owners("");
    let refused = |status: Status| status.warned(&decoded.warnings);
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let mut object = decoded.object;
    set_namespace(&mut object, Some(namespace)).map_err(refused)?;
    let mut transaction = Transaction::new(&api.store);
    check_namespace(api, &mut transaction, &target.kind, namespace, &object).map_err(refused)?;
    let posted = Posted { object, sent: decoded.sent, dry_run };
    let response = match create {
        NamedCreate::Binding => binding::bind(call, posted).map(|()| succeeded()),
        NamedCreate::Eviction => eviction::evict(call, posted).map(|()| succeeded()),
        NamedCreate::Token => token::request(call, posted, form),
    };
    Ok(with_warnings(response.map_err(refused)?, &decoded.warnings))
}

/// The answer without an object.
fn succeeded() -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    json_response(StatusCode::CREATED, status.to_string())
}
