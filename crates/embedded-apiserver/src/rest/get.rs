//! GET of one object.

use http::{Response, StatusCode};

use crate::api::media::Form;
use crate::api::query::Query;
use crate::api::status::{Status, json_response};
use crate::rest::conversion::shown_as;
use crate::rest::route::Target;
use crate::rest::state::ApiState;
use crate::rest::version::{parse_version, wait_for};
use crate::store::stored::Key;
use api_front::Body;

pub(crate) async fn get(
    api: &ApiState,
    target: &Target,
    name: &str,
    query: &Query,
    form: Form,
) -> Result<Response<Body>, Status> {
    check_path_name(name)?;
    let version = query.get("resourceVersion").unwrap_or_default();
    let has_cache = target.kind.strategy().has_watch_cache();
    let revision = parse_version(version).map_err(|why| match has_cache {
        // The watch cache checks first.
        true => Status::unknown(why.of_option()),
        false => Status::bad_request(format!("invalid resource version: {}", why.of_option())),
    })?;
    wait_for(api, revision).await?;
    let found = api.store.get(&target.kind.storage, &key_of(target, name));
    let object = found.ok_or_else(|| Status::not_found(&target.kind, name))?;
    let object = shown_as(api, &target.kind, object).await?;
    Ok(json_response(StatusCode::OK, object.to_bytes(&target.kind, form)))
}

pub(super) fn check_path_name(name: &str) -> Result<(), Status> {
    match k8s_value::names::wrong_path_segment(name) {
        Some(why) => Err(Status::bad_request(format!("Name parameter invalid: {name:?}: {why}"))),
        None => Ok(()),
    }
}

pub(super) fn key_of(target: &Target, name: &str) -> Key {
    Key::new(target.namespace.as_deref().unwrap_or_default(), name)
}
