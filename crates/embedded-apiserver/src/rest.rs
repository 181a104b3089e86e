//! One request: which verb on which object, and in which form the answer goes out.

mod apply;
mod call;
mod continuation;
mod decode;
mod definitions;
mod delete;
mod duplicates;
mod list;
mod odd_places;
mod ownership;
mod put;
mod rescale;
pub(crate) mod scale;
mod watch;
mod way;
mod write;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};

use crate::access::reviews;
use crate::body::Body;
use crate::builtin::{self, Builtin};
use crate::discovery;
use crate::identity::User;
use crate::kind::Kind;
use crate::media;
use crate::metadata;
use crate::protobuf;
use crate::query::{FieldValidation, Query, no_number};
use crate::rest::call::Call;
use crate::route::{self, Route, Target};
use crate::server::Core;
use crate::status::{Status, json_response};
use crate::stored::{Form, Key, Stored};
use crate::table;

pub(crate) use crate::rest::decode::json as decode_json;
pub(crate) use crate::rest::decode::unknown_fields;
pub(crate) use crate::rest::delete::delete_all;
pub(crate) use crate::rest::ownership::of_controllers;
pub(crate) use crate::rest::put::put;
pub(crate) use crate::rest::write::create_object;

/// Checks what an admission hook made of an object as if a client had sent it.
pub(crate) fn decode_patched(
    kind: &Kind,
    object: serde_json::Value,
    validation: FieldValidation,
) -> Result<metadata::Object, Status> {
    let origin = decode::Origin::Document;
    decode::patched(kind, object, &[], validation, origin).map(|decoded| decoded.object)
}

/// Answers one request whose body has been read.
pub(crate) async fn serve(core: &Arc<Core>, request: Request<Bytes>) -> Response<Body> {
    let prefers_yaml = media::prefers_yaml(request.headers());
    let mut deprecated = None;
    let mut response =
        answer(core, request, &mut deprecated).await.unwrap_or_else(Status::into_response);
    if let Some(warning) = deprecated {
        let others: Vec<_> = response.headers().get_all(header::WARNING).iter().cloned().collect();
        response.headers_mut().remove(header::WARNING);
        warn(&mut response, warning);
        for other in others {
            response.headers_mut().append(header::WARNING, other);
        }
    }
    if prefers_yaml { media::into_yaml(response).await } else { response }
}

/// Answers; what is deprecated goes into `deprecated`, whatever becomes of the request. What a
/// request is refused for is looked at in the order in which the real server's filters and handlers
/// do it: of several mistakes the first is said.
async fn answer(
    core: &Arc<Core>,
    request: Request<Bytes>,
    deprecated: &mut Option<&'static str>,
) -> Result<Response<Body>, Status> {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    if !query.flag("watch") {
        query.check_timeout()?;
    }
    let route = route::route(request.uri().path(), &core.registry.read());
    if matches!(route, Route::Nothing | Route::NoSuchResource)
        && let Some(named) =
            builtin::unserved::named_by(request.uri().path(), &core.registry.read())
    {
        return Err(Status::not_implemented(&format!("the resource {named}")));
    }
    let target = match route {
        Route::Nothing => return Ok(text(StatusCode::NOT_FOUND, "404 page not found\n")),
        Route::Malformed => return Ok(text(StatusCode::BAD_REQUEST, "400 Bad Request")),
        Route::Objects(target) => target,
        Route::WithoutNamespace(target) => odd_places::without_namespace(target, request.method()),
        route => return discovery::answer(core, &route, &request),
    };
    if request.method() != Method::GET && way::is_for_reading_only(&target) {
        return Ok(text(StatusCode::NOT_FOUND, "404 page not found\n"));
    }
    let user = request.extensions().get::<User>().cloned().unwrap_or_else(User::anonymous);
    way::check(&target, &request)?;
    let form = media::accepted(request.headers())?;
    // Refused before this, a request has not come as far as to the kind.
    *deprecated = target.kind.builtin.and_then(Builtin::deprecated);
    let table = table::Wish::of(request.headers(), &query)?;
    let request = media::into_json(protobuf::into_json(request, &target.kind)?, &target.kind)?;
    odd_places::check(&target, &query, &request)?;
    if reviews::is_review(&target.kind) {
        return reviews::answer(core, &target, &query, request);
    }
    let call = Call { core, user: &user, target: &target, query: &query, request: &request };
    if target.subresource.as_deref() == Some("scale") {
        let response =
            odd_places::in_store(&target, request.method(), scale::serve(call, form).await)?;
        return Ok(match table {
            Some(wish) => wish.grant(&rescale::SCALES, &core.clock, response),
            None => response,
        });
    }
    let writes = !matches!(*request.method(), Method::GET);
    let response = match (request.method(), target.name.as_deref()) {
        (&Method::GET, Some(name)) => get(core, &target, name, &query, form).await,
        (&Method::GET, None) if query.flag("watch") => {
            media::check_stream(request.headers())?;
            let of_lists = media::prefers_metadata_lists(request.headers());
            watch::watch(core, &target, &query, form, of_lists).await
        }
        (&Method::GET, None) => list::list(core, &target, &query, form).await,
        (&Method::POST, _) => write::create(call).map(|w| w.into_response(&target.kind, form)),
        (&Method::PUT, Some(_)) => {
            write::replace(call).map(|w| w.into_response(&target.kind, form))
        }
        (&Method::PATCH, Some(_)) => {
            write::patch(call).map(|w| w.into_response(&target.kind, form))
        }
        (&Method::DELETE, Some(_)) => delete::delete(call, form),
        (&Method::DELETE, None) => delete::delete_collection(call, form).await,
        _ => Err(Status::method_not_allowed()),
    };
    if writes {
        definitions::written(core, &target, &request);
    }
    let mut response = odd_places::in_store(&target, request.method(), response)?;
    definitions::warn(&target.kind, &mut response);
    Ok(match table {
        Some(wish) => wish.grant(&target.kind, &core.clock, response),
        None => response,
    })
}

/// The most warnings of one answer: HTTP clients refuse heads of more than 100 fields (hyper's
/// default), and then the write was applied but its answer is lost.
const MAX_WARNINGS: usize = 64;
/// The most characters of one warning, as kube-apiserver's (`truncateItemRunes` in
/// pkg/endpoints/filters/warning.go).
const MAX_WARNING: usize = 256;

/// What a write answers with.
#[derive(Debug)]
struct Written {
    object: Arc<Stored>,
    created: bool,
    /// For the client's `Warning` headers.
    warnings: Vec<String>,
}

impl Written {
    fn into_response(self, kind: &Kind, form: Form) -> Response<Body> {
        let code = if self.created { StatusCode::CREATED } else { StatusCode::OK };
        with_warnings(json_response(code, self.object.to_bytes(kind, form)), &self.warnings)
    }
}

pub(crate) fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    for warning in warnings.iter().take(MAX_WARNINGS) {
        warn(&mut response, warning);
    }
    response
}

/// Adds a `Warning` header.
fn warn(response: &mut Response<Body>, warning: &str) {
    let warning: String = warning.chars().take(MAX_WARNING).collect();
    // A member's name may hold what a header may not.
    if let Ok(value) = HeaderValue::from_str(&format!("299 - {warning:?}")) {
        response.headers_mut().append(header::WARNING, value);
    }
}

fn key_of(target: &Target, name: &str) -> Key {
    Key::new(target.namespace.as_deref().unwrap_or_default(), name)
}

async fn get(
    core: &Core,
    target: &Target,
    name: &str,
    query: &Query,
    form: Form,
) -> Result<Response<Body>, Status> {
    check_path_name(name)?;
    let version = query.get("resourceVersion").unwrap_or_default();
    let revision = parse_version(version).map_err(|why| match target.kind.builtin {
        // Events have no watch cache there, which would be the first to look.
        Some(Builtin::Event | Builtin::EventV1) => {
            Status::bad_request(format!("invalid resource version: {}", why.of_option()))
        }
        _ => Status::unknown(why.of_option()),
    })?;
    wait_for(core, revision).await?;
    let found = core.store.get(&target.kind.storage, &key_of(target, name));
    let object = found.ok_or_else(|| Status::not_found(&target.kind, name))?;
    Ok(json_response(StatusCode::OK, object.to_bytes(&target.kind, form)))
}

fn check_path_name(name: &str) -> Result<(), Status> {
    match k8s_value::names::wrong_path_segment(name) {
        Some(why) => Err(Status::bad_request(format!("Name parameter invalid: {name:?}: {why}"))),
        None => Ok(()),
    }
}

/// Not a revision: each verb answers that with another code.
#[derive(Debug)]
struct WrongVersion(String);

impl WrongVersion {
    /// As of an object's own version.
    fn plain(&self) -> String {
        no_number(&self.0)
    }

    /// As of an option of a read.
    fn of_option(&self) -> String {
        format!("resourceVersion: {}", self.plain())
    }
}

/// A resourceVersion as sent: empty and `0` are 0.
fn parse_version(version: &str) -> Result<u64, WrongVersion> {
    if version.is_empty() {
        return Ok(0);
    }
    let plain = version.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| version.parse().ok()).flatten();
    number.ok_or_else(|| WrongVersion(version.to_owned()))
}

/// How long a read waits for a revision that has not been written yet.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) async fn wait_for(core: &Core, revision: u64) -> Result<(), Status> {
    if revision <= core.store.revision() {
        return Ok(());
    }
    let mut newest = core.store.newest();
    match tokio::time::timeout(PATIENCE, newest.until(|reached| *reached >= revision)).await {
        Ok(_) => Ok(()),
        Err(_) => Err(Status::revision_too_large(revision, core.store.revision())),
    }
}

pub(crate) fn text(code: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    *response.status_mut() = code;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
