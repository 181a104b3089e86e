//! Checks whether a path supports the request: subresource, method, patch type, accepted types.
//!
//! In the order of go-restful for built-in kinds, and of `crdHandler` of
//! k8s.io/apiextensions-apiserver for custom ones.

use http::{Method, Request};

use crate::api::media;
use crate::api::status::Status;
use crate::rest::route::Target;
use crate::strategy::builtin::named_create::NamedCreate;
use crate::strategy::reviews;
use crate::strategy::unserved::instead_of;

/// Whether upstream serves the path only with GET. Then other methods get 404.
pub(crate) fn is_for_reading_only(target: &Target) -> bool {
    !target.kind.is_built_in() && target.kind.is_namespaced() && target.namespace.is_none()
}

pub(crate) fn check<B>(target: &Target, request: &Request<B>) -> Result<(), Status> {
    let (kind, method, headers) = (&target.kind, request.method(), request.headers());
    check_subresource(target)?;
    if !kind.is_built_in() {
        if target.name.as_deref() == Some("") && target.subresource.is_some() {
            return Err(match *method {
                Method::PUT | Method::PATCH => Status::bad_request("name must be provided"),
                _ => Status::not_supported(kind, verb(method, true)),
            });
        }
        if !custom_has_method(target, method) {
            return Err(Status::not_supported(kind, verb(method, false)));
        }
        if method == Method::PATCH {
            media::patch_type(headers, false)?;
        }
        return match (&target.name, method) {
            (None, &Method::PUT | &Method::PATCH) => {
                Err(Status::bad_request("name must be provided"))
            }
            _ => Ok(()),
        };
    }
    if !has_method(target, method) {
        return Err(Status::method_not_allowed());
    }
    if method == Method::PATCH {
        media::patch_type(headers, true)?;
    }
    media::check_path(headers, method == Method::GET && target.name.is_none())
}

/// The authorization verb of a method.
const fn verb(method: &Method, of_collection: bool) -> &'static str {
    match *method {
        Method::GET if of_collection => "list",
        Method::DELETE if of_collection => "deletecollection",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::GET | Method::HEAD => "get",
        _ => "",
    }
}

/// A create takes its name from the body and ignores one in the path.
fn custom_has_method(target: &Target, method: &Method) -> bool {
    match target.subresource {
        None => matches!(
            *method,
            Method::GET | Method::POST | Method::PUT | Method::PATCH | Method::DELETE
        ),
        Some(_) => matches!(*method, Method::GET | Method::PUT | Method::PATCH),
    }
}

fn check_subresource(target: &Target) -> Result<(), Status> {
    let kind = &target.kind;
    if !reviews::is_stored(kind)
        && (target.name.is_some() || kind.is_namespaced() != target.namespace.is_some())
    {
        return Err(Status::no_such_resource());
    }
    let Some(subresource) = target.subresource.as_deref() else { return Ok(()) };
    let served = match subresource {
        "status" => kind.has_status(),
        "finalize" => kind.strategy().has_finalize(),
        "scale" => kind.scale_paths().is_some(),
        other => NamedCreate::of(kind, Some(other)).is_some(),
    };
    if served {
        return Ok(());
    }
    if kind.has_unserved(subresource) {
        let (plural, instead) = (kind.qualified_plural(), instead_of(subresource));
        let what = format!("the subresource {plural}/{subresource}{instead}");
        return Err(Status::not_implemented(&what));
    }
    // For custom kinds, upstream's error names the object.
    let name = target.name.as_deref().unwrap_or_default();
    Err(if !kind.is_built_in() {
        Status::not_found(kind, name)
    } else {
        Status::no_such_resource()
    })
}

fn has_method(target: &Target, method: &Method) -> bool {
    let kind = &target.kind;
    let one_place = kind.is_namespaced() == target.namespace.is_some();
    match (&target.name, target.subresource.as_deref()) {
        (None, _) if !reviews::is_stored(kind) => method == Method::POST,
        (None, _) => match *method {
            Method::GET => true,
            Method::POST => one_place,
            Method::DELETE => one_place && kind.strategy().deletes_collections(),
            _ => false,
        },
        (Some(_), None) => {
            matches!(*method, Method::GET | Method::PUT | Method::PATCH | Method::DELETE)
        }
        (Some(_), Some("finalize")) => method == Method::PUT,
        (Some(_), other @ Some(_)) if NamedCreate::of(kind, other).is_some() => {
            method == Method::POST
        }
        (Some(_), Some(_)) => matches!(*method, Method::GET | Method::PUT | Method::PATCH),
    }
}
