//! A definition that the program registers, as if a client had written it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::controllers::definitions::settle;
use crate::definition;
use crate::kind::InvalidKind;
use crate::metadata::{self, Object};
use crate::query::Query;
use crate::rest::{ApiState, Call, create, replace};
use crate::route::Target;
use crate::status::Status;
use crate::stored::Key;
use api_front::User;

/// Creates a definition, or replaces the one of its name, as a client would.
///
/// # Errors
///
/// [`InvalidKind`] with what the API would have answered.
pub(crate) fn register(
    api: &ApiState,
    definition: &CustomResourceDefinition,
) -> Result<(), InvalidKind> {
    let refused = |name: &str, why: &str| InvalidKind::refused(name, why);
    let mut said = definition.metadata.name.clone().unwrap_or_default();
    let object =
        serde_json::to_value(definition).map_err(|error| refused(&said, &error.to_string()))?;
    let Value::Object(mut object) = object else { return Ok(()) };
    if said.is_empty() {
        said = format!("{}.{}", definition.spec.names.plural, definition.spec.group);
        metadata::set(&mut object, "name", said.as_str());
    }
    for member in ["apiVersion", "kind", "status"] {
        object.remove(member);
    }
    for member in ["resourceVersion", "uid"] {
        metadata::of(&mut object).remove(member);
    }
    put_definition(api, object).map_err(|status| refused(&said, status.message()))?;
    settle(api, &said);
    Ok(())
}

/// How often it is tried to put a definition, each time because somebody else was faster.
const TRIES: usize = 1000;

/// Creates a definition, or replaces the one of its name: what a client would do, without the
/// request.
fn put_definition(api: &ApiState, mut object: Object) -> Result<(), Status> {
    let found = api.registry.read().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let Some(kind) = found else { return Err(Status::no_such_resource()) };
    let name = metadata::text(&object, "name").to_owned();
    object.insert("apiVersion".to_owned(), kind.api_version().into());
    object.insert("kind".to_owned(), kind.kind().into());
    let query = Query::parse("fieldManager=embedded-apiserver");
    let user = User::admin();
    let json = HeaderValue::from_static("application/json");
    let mut target =
        Target { kind: Arc::clone(&kind), namespace: None, name: None, subresource: None };
    let stored = || api.store.get(definition::TABLE, &Key::new("", &name));
    let mut refused = Status::internal("the definition changed each time while it was put");
    for _ in 0..TRIES {
        let current = stored();
        match &current {
            Some(current) => {
                metadata::set(&mut object, "resourceVersion", current.revision.to_string())
            }
            None => drop(metadata::of(&mut object).remove("resourceVersion")),
        }
        let mut request = Request::new(Bytes::from(Value::Object(object.clone()).to_string()));
        request.headers_mut().insert(header::CONTENT_TYPE, json.clone());
        target.name = current.is_some().then(|| name.clone());
        let call = Call { api, user: &user, target: &target, query: &query, request: &request };
        let written = if current.is_some() { replace(call) } else { create(call) };
        match written {
            // Somebody else may have been faster; a hook that refuses with such a code was not.
            Err(status) if matches!(status.code(), 404 | 409) => {
                let seen = current.map(|current| current.revision);
                if stored().map(|now| now.revision) == seen {
                    return Err(status);
                }
                refused = status;
            }
            written => return written.map(drop),
        }
    }
    Err(refused)
}
