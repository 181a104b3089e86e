//! Writes to the scale subresource: a Scale is updated, patched or applied, and its one field goes into the object.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::admission::{Turn, gated};
use crate::body::Body;
use crate::fields::scale::SCALE;
use crate::fields::{Applied, Managed};
use crate::kind::{Kind, ScalePaths};
use crate::media::{self, PatchType};
use crate::metadata::{self, Object};
use crate::patch::Patch;
use crate::query::Query;
use crate::rest::call::Call;
use crate::rest::ownership::{Author, Owners, ScaleWrite, scale as scale_owners};
use crate::rest::write::{Edited, check_said_name, forbidden_force, shown};
use crate::rest::{apply, key_of, scale};
use crate::route::Target;
use crate::server::Core;
use crate::status::{Cause, Causes, Status, json_response};

/// What a request makes of a Scale.
#[derive(Debug, Clone)]
enum Wish {
    /// It is to be this.
    Replace(Object),
    Patch(Patch),
    /// This is applied to it, with force or without.
    Apply(Object, bool),
}

impl Wish {
    fn of(kind: &Kind, query: &Query, request: &Request<Bytes>) -> Result<Self, Status> {
        if request.method() == Method::PUT {
            media::require_json(request.headers())?;
            let wrong = |why: &dyn std::fmt::Display| {
                Status::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {why}"))
            };
            let mut object: Object = serde_json::from_slice(request.body()).map_err(|why| wrong(&why))?;
            for (member, expected) in [("apiVersion", SCALE), ("kind", "Scale")] {
                let said = object.remove(member);
                let said = said.as_ref().and_then(Value::as_str).unwrap_or_default();
                if !said.is_empty() && said != expected {
                    let what = if member == "kind" { "kind" } else { "API version" };
                    return Err(Status::bad_request(format!(
                        "the {what} in the data ({said}) does not match the expected {what} ({expected})"
                    )));
                }
            }
            return Ok(Self::Replace(object));
        }
        match media::patch_type(request.headers(), kind.builtin.is_some())? {
            PatchType::Apply => {
                let (mut config, _) = apply::read(request.body())?;
                apply::check_types(SCALE, "Scale", &mut config)?;
                Ok(Self::Apply(config, query.flag("force")))
            }
            // A Scale has no lists: a strategic merge patch of it is a merge patch.
            sort => {
                let sort = if sort == PatchType::Strategic { PatchType::Merge } else { sort };
                Patch::parse(sort, request.body(), kind).map(Self::Patch)
            }
        }
    }

    /// The new Scale, none if it stays as it is; and who owns the object's fields then.
    fn grant(
        self,
        core: &Core,
        target: &Target,
        author: &Author,
        live: &Object,
        owned: &Managed,
    ) -> Result<Applied, Status> {
        let (kind, now) = (&target.kind, core.clock.now());
        let owners = |write: ScaleWrite<'_>| scale_owners(core, kind, author, (live, owned), write, now);
        let new = match self {
            Self::Replace(new) => new,
            Self::Patch(patch) => {
                let mut document = Value::Object(live.clone());
                patch.apply(&mut document)?;
                match document {
                    Value::Object(new) => new,
                    other => {
                        return Err(Status::invalid_patch(&other.to_string(), "the result is no object"));
                    }
                }
            }
            Self::Apply(config, force) => {
                let applied = owners(ScaleWrite::Apply(&config, force));
                let applied = applied.map_err(|why| apply::refusal(why, (SCALE, "Scale"), &config))?;
                if kind.builtin.is_none() && applied.object.is_some() {
                    // The real server cannot, and says so.
                    let name = metadata::text(&config, "name");
                    return Err(Status::unknown(format!(
                        "failed to convert new object (/{name}; {SCALE}, Kind=Scale) to proper version: request to \
                         convert CR to an invalid group/version: {SCALE}"
                    )));
                }
                return Ok(applied);
            }
        };
        owners(ScaleWrite::Update(&new)).map_err(|why| apply::refusal(why, (SCALE, "Scale"), &new))
    }
}

/// Whether it is only tried.
fn options(kind: &Kind, query: &Query, request: &Request<Bytes>) -> Result<bool, Status> {
    let (options, found) = if request.method() == Method::PUT {
        ("UpdateOptions", None)
    } else {
        let applies = media::patch_type(request.headers(), kind.builtin.is_some())? == PatchType::Apply;
        ("PatchOptions", if applies { apply::missing_manager(query) } else { forbidden_force(query) })
    };
    let (dry_run, _) = query.write_options(options, found.into_iter().collect())?;
    Ok(dry_run)
}

pub(super) fn write(call: Call<'_>, paths: &ScalePaths) -> Result<Response<Body>, Status> {
    let Call { core, target, query, request, .. } = call;
    let (kind, name, author) = (call.kind(), call.name(), call.author());
    let dry_run = options(kind, query, request)?;
    let wish = Wish::of(kind, query, request)?;
    let main = Target { subresource: None, ..target.clone() };
    let turn = Turn::of(core, &call.writer(dry_run));
    let written = gated(core, kind, turn, |inner| {
        let current = inner.state.get(&kind.storage, &key_of(target, name)).cloned();
        let current = current.ok_or_else(|| Status::not_found(kind, name))?;
        let old = shown(kind, &current);
        let owned = Managed::parse(current.managed());
        let (live, has_replicas) = scale::read(paths, &old)?;
        if !has_replicas {
            let why = format!("the spec replicas field \".{}\" does not exist", paths.spec_replicas);
            return Err(Status::internal(&why));
        }
        let mut live = match live {
            Value::Object(live) => live,
            _ => Object::new(),
        };
        live.retain(|member, _| !matches!(&**member, "apiVersion" | "kind"));
        let Applied { object, managed } = wish.clone().grant(core, target, &author, &live, &owned)?;
        let new = object.unwrap_or(live);
        check_said_name(&new, name)?;
        let mut parent = old.clone();
        set(&mut parent, &paths.spec_replicas, replicas(&new, name)?);
        let version = metadata::text(&new, "resourceVersion");
        if !version.is_empty() {
            metadata::set(&mut parent, "resourceVersion", version);
        }
        let now = core.clock.now();
        let edited =
            Edited { core, kind, target: &main, name, current: &current, old: &old, owned: &owned, now };
        edited.store(inner, parent, Owners::Known(managed), dry_run)
    })?;
    let (scale, _) = scale::read(paths, &shown(kind, &written))?;
    Ok(json_response(StatusCode::OK, scale.to_string()))
}

/// What a Scale wants: nothing said is zero.
fn replicas(scale: &Object, name: &str) -> Result<i64, Status> {
    let said = scale.get("spec").and_then(|spec| spec.get("replicas")).filter(|said| !said.is_null());
    let said = said.cloned().unwrap_or_else(|| json!(0));
    match said.as_i64().filter(|replicas| i32::try_from(*replicas).is_ok()) {
        Some(replicas) if replicas >= 0 => Ok(replicas),
        Some(_) => {
            let mut causes = Causes::default();
            let why = "must be greater than or equal to 0";
            causes.push(Cause::invalid_json("spec.replicas", &said, why));
            let kind = Kind::namespaced("autoscaling", "v1", "Scale", "scales");
            Err(Status::invalid(&kind, name, &causes))
        }
        None => Err(Status::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: spec.replicas is {said}, no 32 bit integer"
        ))),
    }
}

fn set(object: &mut Object, path: &str, value: i64) {
    match path.split_once('.') {
        None => drop(object.insert(path.to_owned(), value.into())),
        Some((first, rest)) => {
            let inner = object.entry(first).or_insert_with(|| Object::new().into());
            if let Value::Object(inner) = inner {
                set(inner, rest, value);
            }
        }
    }
}
