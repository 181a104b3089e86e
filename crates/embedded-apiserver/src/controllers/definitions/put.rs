//! Registers a definition for the program, as if a client had written it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::api::kind::InvalidKind;
use crate::api::metadata;
use crate::controllers::definitions::reconcile_crd;
use crate::rest::{ApiState, at_once, put};

/// Creates or replaces a definition, as if a client had written it.
///
/// # Errors
///
/// [`InvalidKind`] with the error of the API.
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
    let found = api.registry.read().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let Some(kind) = found else { return Ok(()) };
    at_once(put(api, &kind, None, object)).map_err(|status| refused(&said, status.message()))?;
    reconcile_crd(api, &said);
    Ok(())
}
