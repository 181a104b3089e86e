//! Writes to the scale subresource: only the replicas of the Scale change the object.

use std::sync::{Arc, LazyLock};

use api_front::Body;
use bytes::Bytes;
use http::{Method, Request, Response};
use k8s_merge::managed_fields::scale::SCALE;
use k8s_merge::managed_fields::{ApplyOutcome, ManagedFields};
use serde_json::Value;

use crate::api::kind::{Kind, ScalePaths};
use crate::api::media::Form;
use crate::api::media::{self, PatchType};
use crate::api::metadata::{self, Object};
use crate::api::query::{FieldValidation, Query};
use crate::api::response::with_warnings;
use crate::api::status::{FieldError, FieldErrors, Status};
use crate::rest::admission_chain::{AdmissionChain, View, Writer};
use crate::rest::apply;
use crate::rest::call::Call;
use crate::rest::conversion::shown_as;
use crate::rest::decode::{self, Decoded, Hidden, Origin};
use crate::rest::edited::Edited;
use crate::rest::get::key_of;
use crate::rest::guaranteed_update::guaranteed_update;
use crate::rest::namespace::set_namespace;
use crate::rest::ownership::{Author, Owners, ScaleWrite, write_scale as scale_owners};
use crate::rest::patches::Patch;
use crate::rest::preconditions::{check_said_name, other_uid};
use crate::rest::route::Target;
use crate::rest::scale::view::{read, response};
use crate::rest::state::ApiState;
use crate::rest::update::{AFTER_HOOKS, duplicates_of, forbidden_force};
use crate::rest::versions::shown;
use crate::rest::warnings::warned;
use crate::strategy::builtin::scale::SCALE as SCALE_ROW;
use crate::strategy::resource::ServedResource;
use k8s_value::go_json::go_json;
use k8s_value::names;

/// Scale as a kind, for decoding.
pub(crate) static SCALES: LazyLock<Arc<ServedResource>> =
    LazyLock::new(|| Arc::new(ServedResource::built_in(&SCALE_ROW)));

/// The subresource as a resource, for the text of conflicts.
fn scales_of(kind: &ServedResource) -> Kind {
    Kind::namespaced(kind.group(), kind.version(), kind.kind(), &format!("{}/scale", kind.plural()))
}

/// The write of a request.
#[derive(Debug, Clone)]
enum ScaleEdit {
    /// The new Scale.
    Replace(Decoded),
    Patch {
        patch: Patch,
        duplicates: Vec<String>,
        validation: FieldValidation,
    },
    /// The applied configuration, with force or without.
    Apply(Object, bool),
}

impl ScaleEdit {
    fn of(call: Call<'_>, validation: FieldValidation) -> Result<Self, Status> {
        let Call { target, query, request, .. } = call;
        if request.method() == Method::PUT {
            media::require_json(request.headers())?;
            let mut decoded = decode::body(&SCALES, request, validation)?;
            decoded.remove_equal_owners("");
            check_said_name(&decoded.object, call.name())?;
            set_namespace(&mut decoded.object, target.namespace.as_deref())?;
            return Ok(Self::Replace(decoded));
        }
        match media::patch_type(request.headers(), call.kind().is_built_in())? {
            PatchType::Apply => {
                let (mut config, _) = apply::read(request.body())?;
                apply::check_types(SCALE, "Scale", &mut config)?;
                Ok(Self::Apply(config, query.flag("force")))
            }
            sort => {
                // The kind has the members of Scale in the same places.
                let patch = Patch::parse(sort, request.body(), call.kind(), validation)?;
                let duplicates = duplicates_of(&patch, request.body());
                Ok(Self::Patch { patch, duplicates, validation })
            }
        }
    }

    /// Reads only a PUT before it looks for the object.
    fn or_not_found(call: Call<'_>, validation: FieldValidation) -> Result<Self, Status> {
        Self::of(call, validation).map_err(|status| {
            let (api, kind, name) = (call.api, call.kind(), call.name());
            let is_there = api.store.get(&kind.storage, &key_of(call.target, name)).is_some();
            let is_read_late =
                call.request.method() == Method::PATCH && matches!(status.code(), 400 | 422);
            if is_read_late && !is_there { Status::not_found(kind, name) } else { status }
        })
    }

    /// Returns the new Scale (`None` if it is unchanged), the owners of the object's fields, and
    /// warnings.
    fn resolve(
        self,
        api: &ApiState,
        target: &Target,
        author: &Author,
        live: &Object,
        owned: &ManagedFields,
    ) -> Result<(ApplyOutcome, Vec<String>), Status> {
        let (kind, now) = (&target.kind, api.clock.now());
        let owners =
            |write: ScaleWrite<'_>| scale_owners(api, kind, author, (live, owned), write, now);
        let decoded = match self {
            Self::Replace(decoded) => decoded,
            Self::Patch { patch, duplicates, validation } => {
                let mut document = live.clone();
                document.insert("apiVersion".to_owned(), SCALE.into());
                document.insert("kind".to_owned(), "Scale".into());
                let document = patch.apply(go_json(&document).into())?;
                let origin = Origin::of(&patch);
                let mut decoded =
                    decode::patched(&SCALES, document, &duplicates, validation, origin)?;
                decoded.remove_equal_owners(AFTER_HOOKS);
                check_said_name(&decoded.object, metadata::text(live, "name"))?;
                set_namespace(&mut decoded.object, target.namespace.as_deref())?;
                decoded
            }
            Self::Apply(config, force) => {
                let applied = owners(ScaleWrite::Apply(&config, force));
                let applied =
                    applied.map_err(|why| apply::refusal(why, (SCALE, "Scale"), &config, live))?;
                if !kind.is_built_in() && applied.object.is_some() {
                    // Upstream does not support it either.
                    let name = metadata::text(&config, "name");
                    return Err(Status::unknown(format!(
                        "failed to convert new object (/{name}; {SCALE}, Kind=Scale) to proper version: request to \
                         convert CR to an invalid group/version: {SCALE}"
                    )));
                }
                return Ok((applied, Vec::new()));
            }
        };
        let Decoded { object: new, warnings, .. } = decoded;
        let written = owners(ScaleWrite::Update(&new));
        let written = written.map_err(|why| apply::refusal(why, (SCALE, "Scale"), &new, live))?;
        Ok((written, warnings))
    }
}

/// Reads the dry run and the field validation of the request.
fn options(
    kind: &ServedResource,
    query: &Query,
    request: &Request<Bytes>,
) -> Result<(bool, FieldValidation), Status> {
    let (options, found) = if request.method() == Method::PUT {
        ("UpdateOptions", None)
    } else {
        let applies = media::patch_type(request.headers(), kind.is_built_in())? == PatchType::Apply;
        (
            "PatchOptions",
            if applies { apply::missing_manager(query) } else { forbidden_force(query) },
        )
    };
    query.write_options(options, found.into_iter().collect())
}

pub(super) async fn write(
    call: Call<'_>,
    paths: &ScalePaths,
    form: Form,
) -> Result<Response<Body>, Status> {
    let Call { api, target, query, request, .. } = call;
    let (kind, name, author) = (call.kind(), call.name(), call.author());
    let (dry_run, validation) = options(kind, query, request)?;
    let mut edit = ScaleEdit::or_not_found(call, validation)?;
    let mut said = match &mut edit {
        ScaleEdit::Replace(decoded) => std::mem::take(&mut decoded.warnings),
        ScaleEdit::Patch { .. } | ScaleEdit::Apply(..) => Vec::new(),
    };
    let main = Target { subresource: None, ..target.clone() };
    let scale_of = |object: &Object| read(paths, object).map(|(scale, _)| of_json(scale));
    let view = View { kind: &SCALES, of: &scale_of };
    let admission = AdmissionChain::of(api, Writer { view: Some(view), ..call.writer(dry_run) });
    let written = guaranteed_update!(api, |transaction| {
        let current = transaction.get(&kind.storage, &key_of(target, name));
        let current = current.ok_or_else(|| Status::not_found(kind, name))?;
        let current = shown_as(api, kind, current).await?;
        let old = shown(kind, &current);
        let owned = ManagedFields::parse(current.managed());
        let (live, has_replicas) = read(paths, &old)?;
        if !has_replicas {
            let why =
                format!("the spec replicas field \".{}\" does not exist", paths.spec_replicas);
            return Err(Status::internal(&why));
        }
        let live = of_json(live);
        let replaces = matches!(edit, ScaleEdit::Replace(_));
        let (ApplyOutcome { object, managed }, warnings) =
            edit.clone().resolve(api, target, &author, &live, &owned)?;
        let refused = |status: Status| admission.warned(status).warned(&warnings);
        let uid = metadata::text(&live, "uid").to_owned();
        let old_scale = live.clone();
        let new = object.unwrap_or(live);
        let said = metadata::text(&new, "uid").to_owned();
        let is_other = !said.is_empty() && said != uid;
        if is_other && replaces {
            return Err(refused(other_uid(target, name, (&said, &uid), dry_run)));
        }
        check_said_name(&new, name).map_err(refused)?;
        let new = admission.mutate(new, None, Some((&old_scale, &current))).await;
        let new = new.map_err(refused)?;
        check(&new, name).map_err(refused)?;
        if is_other {
            let why = format!(
                "Precondition failed: UID in precondition: {said}, UID in object meta: {uid}"
            );
            return Err(refused(Status::conflict(&scales_of(kind), name, &why)));
        }
        let mut parent = old.clone();
        set(&mut parent, &paths.spec_replicas, replicas(&new)?);
        let version = metadata::text(&new, "resourceVersion");
        if !version.is_empty() {
            metadata::set(&mut parent, "resourceVersion", version);
        }
        let now = api.clock.now();
        let edited = Edited {
            api,
            kind,
            target: &main,
            name,
            current: &current,
            old: &old,
            owned: &owned,
            now,
            hidden: Hidden::default(),
            admission: &admission,
        };
        let answer = edited.store(transaction, parent, Owners::Known(managed), dry_run);
        Ok((answer.await.map_err(refused)?, old, warnings))
    });
    let (written, (answer, old, mut warnings)) = written.map_err(|status| status.warned(&said))?;
    let written = shown_as(api, kind, answer.resolve(&written)?).await?;
    warnings.extend(warned(&admission, kind, &written, Some(&old), None));
    said.append(&mut warnings);
    let (scale, _) = read(paths, &shown(kind, &written))?;
    Ok(with_warnings(response(&scale, form), &said))
}

/// A Scale without apiVersion and kind.
fn of_json(scale: Value) -> Object {
    let mut scale = match scale {
        Value::Object(scale) => scale,
        _ => Object::new(),
    };
    scale.retain(|member, _| !matches!(&**member, "apiVersion" | "kind"));
    scale
}

/// `ValidateScale` of pkg/apis/autoscaling/validation.
fn check(scale: &Object, name: &str) -> Result<(), Status> {
    let mut causes = FieldErrors::default();
    let base = metadata::text(scale, "generateName");
    if !base.is_empty()
        && let Some(why) = names::wrong_subdomain(&names::without_dash(base))
    {
        causes.push(FieldError::invalid("metadata.generateName", base, why));
    }
    metadata::check(scale, &mut causes);
    metadata::check_old_finalizers(scale, &mut causes);
    let wanted = scale.get("spec").and_then(|spec| spec.get("replicas"));
    if let Some(wanted) = wanted.filter(|wanted| wanted.as_i64().is_some_and(|wanted| wanted < 0)) {
        causes.push(FieldError::invalid_json(
            "spec.replicas",
            wanted,
            "must be greater than or equal to 0",
        ));
    }
    if causes.is_empty() { Ok(()) } else { Err(Status::invalid(&SCALES, name, &causes)) }
}

/// The wanted replicas. Absent is zero.
fn replicas(scale: &Object) -> Result<i64, Status> {
    let said =
        scale.get("spec").and_then(|spec| spec.get("replicas")).filter(|said| !said.is_null());
    let wanted =
        said.map_or(Some(0), |said| said.as_i64().filter(|wanted| i32::try_from(*wanted).is_ok()));
    wanted.ok_or_else(|| {
        let said = said.cloned().unwrap_or_default();
        Status::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: spec.replicas is {said}, no 32 bit integer"
        ))
    })
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
