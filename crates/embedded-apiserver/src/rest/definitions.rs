//! Checks of writes against CRDs: of custom objects, and of CRDs as objects.

use std::sync::Arc;

use api_front::Body;
use http::{HeaderValue, Response, header};

use crate::api::kind::field_text;
use crate::api::metadata::Object;
use crate::api::status::Status;
use crate::rest::state::ApiState;
use crate::store::transaction::Transaction;
use crate::strategy::crd;
use crate::strategy::resource::ServedResource;

/// Checks whether an object of the kind may be created now.
pub(super) fn may_be_created(
    api: &ApiState,
    kind: &ServedResource,
    object: &Object,
    name: &str,
) -> Result<(), Status> {
    if let Some(what) = kind.strategy().not_implemented(object) {
        return Err(Status::not_implemented(&what));
    }
    if *kind.storage == *crd::TABLE {
        return is_free(api, object);
    }
    if kind.definition().is_none() {
        return Ok(());
    }
    let now = api.registry.read().find(kind.group(), kind.version(), kind.plural());
    match now.as_ref().map(|now| now.definition()) {
        None => Err(Status::no_such_resource()),
        Some(Some(definition)) if definition.terminating => {
            let why = "create not allowed while custom resource definition is terminating";
            Err(Status::forbidden(kind, name, why))
        }
        Some(_) => Ok(()),
    }
}

/// Fails a create if the CRD's kind is no longer served when the object is stored. Otherwise the
/// object could outlive the CRD.
pub(super) fn require_served(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
) {
    if kind.definition().is_none() {
        return;
    }
    let registry = Arc::clone(&api.registry);
    let [group, version, plural] = [kind.group(), kind.version(), kind.plural()].map(str::to_owned);
    transaction.require(move || {
        let now = registry.read().find(&group, &version, &plural);
        now.is_some_and(|now| now.definition().is_none_or(|definition| !definition.terminating))
    });
}

/// Checks that a CRD does not define a built-in kind.
fn is_free(api: &ApiState, object: &Object) -> Result<(), Status> {
    let text =
        |path: &str| object.get("spec").map(|spec| field_text(spec, path)).unwrap_or_default();
    let (group, plural) = (text("group"), text("names.plural"));
    if api.registry.read().is_built_in(&group, &plural) {
        let what = format!("a definition of {plural}.{group}, which is built in");
        return Err(Status::not_implemented(&what));
    }
    Ok(())
}

/// Adds the warning of a deprecated version.
pub(crate) fn warn_of_deprecation(kind: &ServedResource, response: &mut Response<Body>) {
    let warning = kind.definition().and_then(|definition| definition.deprecation.as_deref());
    let header =
        warning.and_then(|warning| HeaderValue::from_str(&format!("299 - {warning:?}")).ok());
    if let Some(header) = header {
        response.headers_mut().append(header::WARNING, header);
    }
}
