//! The scale subresource.

mod view;
mod write;

use api_front::Body;
use http::{Method, Response};

use crate::api::media::Form;
use crate::api::status::Status;
use crate::rest::call::Call;
use crate::rest::conversion::shown_as;
use crate::rest::get::{check_path_name, key_of};
use crate::rest::scale::view::{read, response};
use crate::rest::scale::write::write;
use crate::rest::version::{parse_version, wait_for};
use crate::rest::versions::shown;

pub(crate) use crate::rest::scale::write::SCALES;

/// Answers a request to `.../NAME/scale`.
pub(crate) async fn serve(call: Call<'_>, form: Form) -> Result<Response<Body>, Status> {
    let Call { api, target, query, request, .. } = call;
    let (kind, name) = (call.kind(), call.name());
    let Some(paths) = kind.scale_paths() else { return Err(Status::no_such_resource()) };
    check_path_name(name)?;
    match *request.method() {
        Method::GET => {
            let version = query.get("resourceVersion").unwrap_or_default();
            let revision =
                parse_version(version).map_err(|why| Status::unknown(why.of_option()))?;
            wait_for(api, revision).await?;
            let found = api.store.get(&kind.storage, &key_of(target, name));
            let found = found.ok_or_else(|| Status::not_found(kind, name))?;
            let found = shown_as(api, kind, found).await?;
            let (scale, has_replicas) = read(paths, &shown(kind, &found))?;
            if !has_replicas {
                let why =
                    format!("the spec replicas field \".{}\" does not exist", paths.spec_replicas);
                return Err(Status::internal(&why));
            }
            Ok(response(&scale, form))
        }
        Method::PUT | Method::PATCH => write(call, paths, form).await,
        _ => Err(Status::method_not_allowed()),
    }
}
