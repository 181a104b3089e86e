//! Where the writes of objects meet definitions: those of their kinds, and definitions as objects.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use serde_json::Value;

use crate::body::Body;
use crate::builtin::Builtin;
use crate::definition;
use crate::kind::Kind;
use crate::metadata::Object;
use crate::route::Target;
use crate::server::Core;
use crate::status::{FieldErrors, Status};

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
