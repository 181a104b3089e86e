//! Dispatches requests: objects, reviews, discovery, OpenAPI.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};

use crate::access;
use crate::api::media;
use crate::api::query::Query;
use crate::api::response::{text, warn};
use crate::api::status::Status;
use crate::controllers;
use crate::kubectl::discovery;
use crate::kubectl::openapi::document::Documents;
use crate::kubectl::protobuf;
use crate::kubectl::table;
use crate::rest::route::{self, Route};
use crate::rest::{
    self, ApiState, Call, create, delete, delete_collection, get, list, patch, path_check, replace,
    reviews, scale, verb_check, watch,
};
use crate::strategy::builtin::named_create::NamedCreate;
use crate::strategy::reviews::is_review;
use api_front::{Body, User};

/// The API behind the front, which logs requests and injects faults.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) api: Arc<ApiState>,
    openapi: Documents,
}

impl Handler {
    pub(crate) fn new(api: ApiState) -> Self {
        Self { api: Arc::new(api), openapi: Documents::default() }
    }

    /// Authorizes the request, and applies impersonation.
    pub(crate) fn admit(&self, request: Request<Bytes>) -> Result<Request<Bytes>, Status> {
        access::admit(&self.api.access, request)
    }
}

impl Handler {
    /// Serves a request whose body has been read.
    pub(crate) async fn serve(&self, request: Request<Bytes>) -> Response<Body> {
        let prefers_yaml = media::prefers_yaml(request.headers());
        let mut deprecated = None;
        let mut response =
            self.answer(request, &mut deprecated).await.unwrap_or_else(Status::into_response);
        if let Some(warning) = deprecated {
            let others: Vec<_> =
                response.headers().get_all(header::WARNING).iter().cloned().collect();
            response.headers_mut().remove(header::WARNING);
            warn(&mut response, &warning);
            for other in others {
                response.headers_mut().append(header::WARNING, other);
            }
        }
        if prefers_yaml { media::into_yaml(response).await } else { response }
    }

    /// Serves a request. The warning of a deprecated version goes into `deprecated`, even on
    /// errors. The checks run in upstream's order, so the same mistake is reported first.
    async fn answer(
        &self,
        request: Request<Bytes>,
        deprecated: &mut Option<String>,
    ) -> Result<Response<Body>, Status> {
        let api = &self.api;
        let query = Query::parse(request.uri().query().unwrap_or_default());
        if !query.flag("watch") {
            query.check_timeout()?;
        }
        let route = route::route(request.uri().path(), &api.registry.read());
        if matches!(route, Route::Nothing | Route::NoSuchResource)
            && let Some(named) =
                route::unserved_resource(request.uri().path(), &api.registry.read())
        {
            return Err(Status::not_implemented(&format!("the resource {named}")));
        }
        let target = match route {
            Route::Nothing => return Ok(text(StatusCode::NOT_FOUND, "404 page not found\n")),
            Route::Malformed => return Ok(text(StatusCode::BAD_REQUEST, "400 Bad Request")),
            Route::Objects(target) => target,
            Route::WithoutNamespace(target) => {
                path_check::without_namespace(target, request.method())
            }
            route => return discovery::answer(&api.registry, &self.openapi, &route, &request),
        };
        if request.method() != Method::GET && verb_check::is_for_reading_only(&target) {
            return Ok(text(StatusCode::NOT_FOUND, "404 page not found\n"));
        }
        let user = request.extensions().get::<User>().cloned().unwrap_or_else(User::anonymous);
        verb_check::check(&target, &request)?;
        let form = media::accepted(request.headers())?;
        // An earlier error does not know the kind.
        if target.kind.is_built_in() {
            *deprecated = target.kind.strategy().deprecation().map(str::to_owned);
        }
        let table = table::TableOptions::of(request.headers(), &query)?;
        let request = media::into_json(protobuf::into_json(request, &target.kind)?, &target.kind)?;
        path_check::check(&target, &query, &request)?;
        if is_review(&target.kind) {
            return reviews::answer(api, &target, &query, request);
        }
        let call = Call {
            api,
            user: &user,
            target: &target,
            query: &query,
            request: &request,
            can_wait: true,
        };
        if target.subresource.as_deref() == Some("scale") {
            let response =
                path_check::in_store(&target, request.method(), scale::serve(call, form).await)?;
            return Ok(match table {
                Some(options) => options.convert(&scale::SCALES, &api.clock, response),
                None => response,
            });
        }
        if let Some(posted) = NamedCreate::of(&target.kind, target.subresource.as_deref()) {
            return rest::named_create(call, posted, form).await;
        }
        let writes = !matches!(*request.method(), Method::GET);
        let response = match (request.method(), target.name.as_deref()) {
            (&Method::GET, Some(name)) => get(api, &target, name, &query, form).await,
            (&Method::GET, None) if query.flag("watch") => {
                media::check_stream(request.headers())?;
                let of_lists = media::prefers_metadata_lists(request.headers());
                watch(api, &target, &query, form, of_lists).await
            }
            (&Method::GET, None) => list(api, &target, &query, form).await,
            (&Method::POST, _) => create(call).await.map(|w| w.into_response(&target.kind, form)),
            (&Method::PUT, Some(_)) => {
                replace(call).await.map(|w| w.into_response(&target.kind, form))
            }
            (&Method::PATCH, Some(_)) => {
                patch(call).await.map(|w| w.into_response(&target.kind, form))
            }
            (&Method::DELETE, Some(_)) => delete(call, form).await,
            (&Method::DELETE, None) => delete_collection(call, form).await,
            _ => Err(Status::method_not_allowed()),
        };
        if writes {
            controllers::definitions::written(api, &target, &request);
        }
        let mut response = path_check::in_store(&target, request.method(), response)?;
        rest::warn_of_deprecation(&target.kind, &mut response);
        Ok(match table {
            Some(options) => options.convert(&target.kind, &api.clock, response),
            None => response,
        })
    }
}
