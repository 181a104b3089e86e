//! TokenRequest: a token of a ServiceAccount.

use std::sync::Arc;

use api_front::Body;
use http::{Response, StatusCode};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use crate::access::{Claims, ISSUER, reference};
use crate::api::clock;
use crate::api::kind::Kind;
use crate::api::media::Form;
use crate::api::metadata::{self, Object};
use crate::api::status::{FieldError, FieldErrors, Status, json_response};
use crate::rest::call::Call;
use crate::rest::get::check_path_name;
use crate::rest::named_create::posted::Posted;
use crate::rest::state::ApiState;
use crate::rest::versions::shown;
use crate::store::stored::{Key, Stored};
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::named_create::NamedCreate;
use crate::strategy::resource::ServedResource;

/// The lifetime, in seconds, that kubelets ask for. A token for this server that is bound to a Pod
/// lives a year instead.
#[doc(alias = "WarnOnlyBoundTokenExpirationSeconds")]
const EXTENDED: i64 = 60 * 60 + 7;
#[doc(alias = "ExpirationExtensionSeconds")]
const EXTENSION: i64 = 365 * 24 * 60 * 60;

/// Issues a token for the account that the path names.
pub(super) async fn request(
    call: Call<'_>,
    mut posted: Posted<'_>,
    form: Form,
) -> Result<Response<Body>, Status> {
    let Call { api, target, .. } = call;
    let (name, kind) = (call.name(), NamedCreate::Token.posted());
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let object = &mut posted.object;
    let now = api.clock.now();
    let said = metadata::text(object, "name");
    if !said.is_empty() && said != name {
        let mut causes = FieldErrors::default();
        let why = "must match the service account name if specified";
        causes.push(FieldError::invalid("metadata.name", said, why));
        return Err(Status::invalid(kind, name, &causes));
    }
    check_path_name(name)?;
    let account = api.store.get(&target.kind.storage, &Key::new(namespace, name));
    let account = account.ok_or_else(|| Status::not_found(&target.kind, name))?;
    let (uid, said) = (account.uid(), metadata::text(object, "uid"));
    if !said.is_empty() && said != uid {
        let why = format!(
            "the UID in the token request ({said}) does not match the UID of the service account \
             ({uid})"
        );
        return Err(Status::precondition(kind, name, &why));
    }
    metadata::set(object, "name", name);
    metadata::set(object, "uid", uid);
    metadata::set(object, "creationTimestamp", clock::seconds(now));
    let audiences = audiences(object);
    let seconds = seconds(kind, object)?;
    posted.validate().await?;
    let Posted { mut object, managed, .. } = posted;
    let bound = bound(api, &object, name, namespace)?;
    let extends = seconds == EXTENDED && bound.contains_key("pod") && audiences == json!([ISSUER]);
    let token = api.tokens.issue(Claims {
        namespace,
        account: reference(&account),
        bound,
        audiences: &audiences,
        issued: now,
        seconds: if extends { EXTENSION } else { seconds },
        warn_after: extends.then_some(seconds),
    });
    let expires = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    let status = json!({ "token": token, "expirationTimestamp": clock::seconds(expires) });
    object.insert("status".to_owned(), status);
    let key = Key::new(namespace, name);
    let shown = Stored::new(kind, key, 0, &mut object, &managed.encode()).to_bytes(kind, form);
    Ok(json_response(StatusCode::CREATED, shown))
}

/// The wanted audiences. Without any, the audience is this server.
fn audiences(object: &mut Object) -> Value {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return json!([]) };
    let wanted = spec.entry("audiences").or_insert(Value::Null);
    if wanted.as_array().is_none_or(Vec::is_empty) {
        *wanted = json!([ISSUER]);
    }
    wanted.clone()
}

/// The lifetime in seconds: `ValidateTokenRequest` of pkg/apis/authentication/validation.
fn seconds(kind: &Kind, object: &Object) -> Result<i64, Status> {
    let field = "spec.expirationSeconds";
    let seconds = at(object, field).and_then(Value::as_i64).unwrap_or_default();
    let why = match seconds {
        ..600 => "may not specify a duration less than 10 minutes",
        0x1_0000_0001.. => "may not specify a duration larger than 2^32 seconds",
        _ => return Ok(seconds),
    };
    let mut causes = FieldErrors::default();
    causes.push(FieldError::invalid_json(field, &seconds.into(), why));
    Err(Status::invalid(kind, "", &causes))
}

/// The objects that the token is bound to: a Pod and its node, a Node, or a Secret.
fn bound(
    api: &ApiState,
    object: &Object,
    account: &str,
    namespace: &str,
) -> Result<Map<String, Value>, Status> {
    let mut claims = Map::new();
    if at(object, "spec.boundObjectRef").is_none() {
        return Ok(claims);
    }
    let said = |member: &str| text(object, &format!("spec.boundObjectRef.{member}"));
    let (version, of, name) = (said("apiVersion"), said("kind"), said("name"));
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    let (plural, claim) = match (group, of) {
        ("", "Pod") => ("pods", "pod"),
        ("", "Node") => ("nodes", "node"),
        ("", "Secret") => ("secrets", "secret"),
        _ => {
            let why = format!("cannot bind token to object of type {group}/{version}, Kind={of}");
            return Err(Status::bad_request(why));
        }
    };
    let find = |plural: &str, name: &str| -> Option<(Arc<ServedResource>, Option<Arc<Stored>>)> {
        let kind = api.registry.read().find("", "v1", plural)?;
        let namespace = if kind.is_namespaced() { namespace } else { "" };
        let found = api.store.get(&kind.storage, &Key::new(namespace, name));
        Some((kind, found))
    };
    let (kind, found) = find(plural, name).ok_or_else(Status::no_such_resource)?;
    check_path_name(name)?;
    let found = found.ok_or_else(|| Status::not_found(&kind, name))?;
    claims.insert(claim.to_owned(), reference(&found));
    if claim == "pod" {
        let pod = shown(&kind, &found);
        if text(&pod, "spec.serviceAccountName") != account {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different \
                 serviceaccount name."
            )));
        }
        let node = text(&pod, "spec.nodeName");
        if !node.is_empty() {
            let found = find("nodes", node).and_then(|(_, found)| found);
            let shown = found.map_or_else(|| json!({ "name": node }), |node| reference(&node));
            claims.insert("node".to_owned(), shown);
        }
    }
    let (is, uid) = (found.uid(), said("uid"));
    if !uid.is_empty() && uid != is {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The \
             object might have been deleted and then recreated"
        );
        return Err(Status::precondition(&kind, name, &why));
    }
    Ok(claims)
}
