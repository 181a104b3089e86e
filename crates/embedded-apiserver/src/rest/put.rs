//! Writes by the server itself, with the checks of a client's write.

use std::sync::Arc;

use api_front::User;
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::api::query::Query;
use crate::api::status::Status;
use crate::rest::call::Call;
use crate::rest::create::create;
use crate::rest::route::Target;
use crate::rest::state::ApiState;
use crate::rest::update::replace;
use crate::store::stored::Key;
use crate::strategy::resource::ServedResource;

/// The largest number of attempts: each fails on a concurrent write.
const TRIES: usize = 1000;

/// Creates an object, or replaces it.
pub(crate) async fn put(
    api: &ApiState,
    kind: &Arc<ServedResource>,
    namespace: Option<&str>,
    mut object: Object,
) -> Result<(), Status> {
    let name = metadata::text(&object, "name").to_owned();
    object.insert("apiVersion".to_owned(), kind.api_version().into());
    object.insert("kind".to_owned(), kind.kind().into());
    let query = Query::parse("fieldManager=embedded-apiserver&fieldValidation=Strict");
    let user = User::admin();
    let mut target = Target {
        kind: Arc::clone(kind),
        namespace: namespace.map(str::to_owned),
        name: None,
        subresource: None,
    };
    let key = Key::new(namespace.unwrap_or_default(), &name);
    let stored = || api.store.get(&kind.storage, &key);
    let mut refused = Status::internal("the object changed each time while it was put");
    for _ in 0..TRIES {
        let current = stored();
        match &current {
            Some(current) => {
                metadata::set(&mut object, "resourceVersion", current.revision.to_string())
            }
            None => drop(metadata::of(&mut object).remove("resourceVersion")),
        }
        let mut request = Request::new(Bytes::from(Value::Object(object.clone()).to_string()));
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        target.name = current.is_some().then(|| name.clone());
        let call = Call {
            api,
            user: &user,
            target: &target,
            query: &query,
            request: &request,
            can_wait: false,
        };
        let written = if current.is_some() { replace(call).await } else { create(call).await };
        match written {
            // A concurrent write. A hook with such a code is no reason to retry.
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
