//! Where the writes of objects meet definitions: those of their kinds, and definitions as objects.

use api_front::{Body, User};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use serde_json::Value;

use crate::builtin::Builtin;
use crate::definition;
use crate::kind::Kind;
use crate::metadata::{self, Object};
use crate::query::Query;
use crate::rest::call::Call;
use crate::rest::write;
use crate::route::Target;
use crate::server::Core;
use crate::status::{FieldErrors, Status};
use crate::stored::Key;

/// Whether an object of a kind may be created now; asked under the store's lock.
pub(super) fn may_be_created(
    core: &Core,
    kind: &Kind,
    object: &Object,
    name: &str,
) -> Result<(), Status> {
    if kind.builtin == Some(Builtin::Definition) {
        return is_implemented(core, object);
    }
    if kind.definition().is_none() {
        return Ok(());
    }
    let now = core.registry.read().find(kind.group(), kind.version(), kind.plural());
    match now.as_ref().map(|now| now.definition()) {
        None => Err(Status::no_such_resource()),
        Some(Some(definition)) if definition.terminating => {
            let why = "create not allowed while custom resource definition is terminating";
            Err(Status::forbidden(kind, name, why))
        }
        Some(_) => Ok(()),
    }
}

fn is_implemented(core: &Core, object: &Object) -> Result<(), Status> {
    if let Some(what) = definition::not_implemented(object) {
        return Err(Status::not_implemented(&what));
    }
    let text =
        |path: &str| object.get("spec").map(|spec| Kind::field(spec, path)).unwrap_or_default();
    let (group, plural) = (text("group"), text("names.plural"));
    if core.registry.read().is_built_in(&group, &plural) {
        let what = format!("a definition of {plural}.{group}, which is built in");
        return Err(Status::not_implemented(&what));
    }
    Ok(())
}

/// What only updates of definitions do.
pub(super) fn prepare_update(
    kind: &Kind,
    new: &mut Object,
    subresource: Option<&str>,
) -> Result<(), Status> {
    if kind.builtin == Some(Builtin::Definition) && subresource.is_none() {
        definition::remember_storage(new);
        if let Some(what) = definition::not_implemented(new) {
            return Err(Status::not_implemented(&what));
        }
    }
    Ok(())
}

/// What is wrong with an object by its definition, or with a definition.
pub(super) fn check(
    kind: &Kind,
    object: &Object,
    old: Option<&Object>,
    subresource: Option<&str>,
    causes: &mut FieldErrors,
) {
    match kind.definition() {
        Some(definition) => definition.check(kind, object, old, subresource, causes),
        None if kind.builtin != Some(Builtin::Definition) => {}
        None if subresource == Some("status") => definition::check_status(object, causes),
        None => definition::check(object, old, causes),
    }
}

/// After a request that may have written: what definitions then want done.
pub(super) fn written(core: &Core, target: &Target, request: &Request<Bytes>) {
    let kind = &target.kind;
    if kind.builtin != Some(Builtin::Definition) {
        return definition::settle_of(core, kind);
    }
    match &target.name {
        Some(name) => definition::settle(core, name),
        None if request.method() == http::Method::POST => {
            let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            if let Some(name) = body.pointer("/metadata/name").and_then(Value::as_str) {
                definition::settle(core, name);
            }
        }
        None => definition::settle_all(core),
    }
}

/// Tells clients of a deprecated version so.
pub(super) fn warn(kind: &Kind, response: &mut Response<Body>) {
    let warning = kind.definition().and_then(|definition| definition.deprecation.as_deref());
    let header =
        warning.and_then(|warning| HeaderValue::from_str(&format!("299 - {warning:?}")).ok());
    if let Some(header) = header {
        response.headers_mut().append(header::WARNING, header);
    }
}

/// How often it is tried to put a definition, each time because somebody else was faster.
const TRIES: usize = 1000;

/// Creates a definition, or replaces the one of its name: what a client would do, without the
/// request.
pub(crate) fn put_definition(core: &Core, mut object: Object) -> Result<(), Status> {
    let found =
        core.registry.read().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let Some(kind) = found else { return Err(Status::no_such_resource()) };
    let name = metadata::text(&object, "name").to_owned();
    object.insert("apiVersion".to_owned(), kind.api_version().into());
    object.insert("kind".to_owned(), kind.kind().into());
    let query = Query::parse("fieldManager=embedded-apiserver");
    let user = User::admin();
    let json = HeaderValue::from_static("application/json");
    let mut target = Target {
        kind: std::sync::Arc::clone(&kind),
        namespace: None,
        name: None,
        subresource: None,
    };
    let stored = || core.store.get(definition::TABLE, &Key::new("", &name));
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
        let call = Call { core, user: &user, target: &target, query: &query, request: &request };
        let written = if current.is_some() { write::replace(call) } else { write::create(call) };
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
