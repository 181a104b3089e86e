//! Server-side apply: PATCH with the fields that a manager wants to own.

use k8s_merge::managed_fields::{self, ApplyError, ApplyOutcome, Conflict, ManagedFields};
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::api::query::{FieldValidation, Query};
use crate::api::status::{FieldError, Status};
use crate::api::yaml;
use crate::rest::admission_chain::AdmissionChain;
use crate::rest::call::Call;
use crate::rest::conversion::shown_as;
use crate::rest::decode::{self, Decoded, Hidden, Origin};
use crate::rest::duplicates::{self, Shape};
use crate::rest::edited::Edited;
use crate::rest::get::{check_path_name, key_of};
use crate::rest::guaranteed_update::guaranteed_update;
use crate::rest::insert::{New, insert};
use crate::rest::namespace::set_namespace;
use crate::rest::ownership::{Owners, with_conversions};
use crate::rest::preconditions::{check_number, check_said_name};
use crate::rest::versions::shown;
use crate::rest::warnings::warned;
use crate::rest::written::Written;
use k8s_value::go_json;

pub(super) async fn apply(call: Call<'_>) -> Result<Written, Status> {
    let Call { api, target, query, request, .. } = call;
    let (kind, name, author) = (call.kind(), call.name(), call.author());
    check_path_name(name)?;
    let missing = missing_manager(query).into_iter().collect();
    let (dry_run, validation) = query.write_options("PatchOptions", missing)?;
    let force = query.flag("force");
    let key = key_of(target, name);
    let seen = api.store.get(&kind.storage, &key);
    let has_place = target.subresource.is_none() || kind.strategy().creates_on_status_update();
    if seen.is_none() && !has_place {
        return Err(Status::not_found(kind, name));
    }
    let (mut config, doubtful) = read(request.body())?;
    check_types(&kind.api_version(), kind.kind(), &mut config)?;
    let now = api.clock.now();
    let work_out = |live: Option<Object>, owned: ManagedFields, applied: Applied| {
        let ApplyOutcome { object, managed } = applied.map_err(|why| {
            let live = live.as_ref().unwrap_or(&config);
            refusal(why, (&kind.api_version(), kind.kind()), &config, live)
        })?;
        let warnings = match validation {
            FieldValidation::Strict if !doubtful.is_empty() => {
                let why = doubtful.join("\n  ");
                return Err(Status::bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {why}"
                )));
            }
            FieldValidation::Ignore => Vec::new(),
            FieldValidation::Strict | FieldValidation::Warn => doubtful.clone(),
        };
        let new = object.or_else(|| live.clone()).unwrap_or_default();
        let decoded =
            decode::patched(kind, Value::Object(new), &[], FieldValidation::Ignore, Origin::Apply)?;
        let Decoded { object: mut new, hidden, .. } = decoded;
        if live.is_none() && !metadata::text(&new, "uid").is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                metadata::text(&new, "uid")
            );
            return Err(Status::conflict(kind, name, &why));
        }
        set_namespace(&mut new, target.namespace.as_deref())?;
        check_said_name(&new, name)?;
        Ok(WorkedOut { live, owned, object: new, managed, warnings, hidden })
    };
    let admission = AdmissionChain::of(api, call.writer(dry_run));
    let right = call.create_right();
    let written = guaranteed_update!(api, |transaction| {
        let current = match transaction.get(&kind.storage, &key) {
            Some(stored) => Some(shown_as(api, kind, stored).await?),
            None => None,
        };
        if current.is_none() && !has_place {
            return Err(Status::not_found(kind, name));
        }
        let live = current.as_ref().map(|current| shown(kind, current));
        let owned = current.as_ref().map(|current| ManagedFields::parse(current.managed()));
        let owned = owned.unwrap_or_default();
        let owners = [&owned];
        let applied = with_conversions(api, kind, &author, &owners, now, |operation| {
            managed_fields::apply(operation, live.as_ref(), &owned, &config, force)
        });
        let applied = applied.await?;
        let WorkedOut { live, owned, mut object, managed, warnings, hidden } =
            work_out(live, owned, applied)?;
        let owners = Owners::Known(managed);
        let refused = |status| admission.warned(status).warned(&warnings);
        let answer = if let (Some(current), Some(live)) = (&current, &live) {
            let edited = Edited {
                api,
                kind,
                target,
                name,
                current,
                old: live,
                owned: &owned,
                now,
                hidden,
                admission: &admission,
            };
            edited.store(transaction, object, owners, dry_run).await.map_err(refused)?
        } else {
            check_number(&object)?;
            if !dry_run {
                metadata::of(&mut object).remove("resourceVersion");
            }
            let new = New::by_update(target, &admission, &right, now, dry_run).hiding(hidden);
            insert(api, transaction, &new, object, owners).await.map_err(refused)?
        };
        Ok((answer, live, warnings))
    });
    right.note(&api.access);
    let (written, (answer, live, mut warnings)) = written?;
    let object = shown_as(api, kind, answer.resolve(&written)?).await?;
    let subresource = target.subresource.as_deref();
    warnings.extend(warned(&admission, kind, &object, live.as_ref(), subresource));
    Ok(Written { object, created: live.is_none(), warnings })
}

type Applied = Result<ApplyOutcome, ApplyError>;

/// The result of an apply to an object, or to a missing one.
#[derive(Debug)]
struct WorkedOut {
    live: Option<Object>,
    owned: ManagedFields,
    object: Object,
    managed: ManagedFields,
    warnings: Vec<String>,
    hidden: Hidden,
}

/// Reads the configuration and finds its duplicate fields. JSON is read as YAML too.
pub(super) fn read(body: &[u8]) -> Result<(Object, Vec<String>), Status> {
    let wrong =
        |why: &dyn std::fmt::Display| Status::bad_request(format!("error decoding YAML: {why}"));
    let (mut value, duplicates) = match serde_json::from_slice(body) {
        Ok(value) => (value, duplicates::find(body, Shape::Any)),
        Err(_) => {
            let said = |why: String| {
                let too_deep = yaml::is_too_deep(&why).then(Status::too_deep);
                too_deep.unwrap_or_else(|| {
                    wrong(&format!("error converting YAML to JSON: yaml: {why}"))
                })
            };
            let json = yaml::to_json(body).map_err(said)?;
            (
                serde_json::from_slice(&json).map_err(|why| wrong(&why))?,
                duplicates::find(&json, Shape::Any),
            )
        }
    };
    go_json::shorten_numbers(&mut value);
    // Upstream reports the YAML parser's error, with a line, even for JSON.
    let first = if duplicates.is_empty() { None } else { yaml::first_duplicate(body) };
    let doubtful = first.map(|(key, line)| format!("line {line}: key {key:?} already set in map"));
    match value {
        Value::Object(config) => Ok((config, doubtful.into_iter().collect())),
        Value::Null => Ok((Object::new(), Vec::new())),
        other => {
            let sort = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            let why = format!(
                "json: cannot unmarshal {sort} into Go value of type map[string]interface {{}}"
            );
            Err(wrong(&format!("error unmarshaling JSON: while decoding JSON: {why}")))
        }
    }
}

/// Checks apiVersion and kind, and that there are no managedFields.
pub(super) fn check_types(version: &str, kind: &str, config: &mut Object) -> Result<(), Status> {
    let mut take = |member: &str| match config.remove(member) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (said, name) = (take("apiVersion"), take("kind"));
    if said != version || name != kind {
        let said = if said.contains('/') { said } else { format!("/{said}") };
        return Err(Status::bad_request(format!("invalid object type: {said}, Kind={name}")));
    }
    // Entries of a wrong type are refused later.
    let entries = metadata::get(config, "managedFields").and_then(Value::as_array);
    if entries.is_some_and(|entries| entries.iter().all(Value::is_object)) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// An apply must name its manager.
pub(super) fn missing_manager(query: &Query) -> Option<FieldError> {
    let is_missing = query.get("fieldManager").unwrap_or_default().is_empty();
    is_missing.then(|| FieldError::required("fieldManager", "is required for apply patch"))
}

/// The error of an apply to an object of this version and kind.
pub(super) fn refusal(
    why: ApplyError,
    (version, kind): (&str, &str),
    config: &Object,
    live: &Object,
) -> Status {
    let about = |object: &Object| {
        let version =
            if version.contains('/') { version.to_owned() } else { format!("/{version}") };
        let (namespace, name) =
            (metadata::text(object, "namespace"), metadata::text(object, "name"));
        format!("({namespace}/{name}; {version}, Kind={kind})")
    };
    match why {
        ApplyError::Conflicts(ref conflicts) => {
            let causes = conflicts.iter().map(Conflict::to_cause).collect();
            Status::apply_conflict(why.to_string(), causes)
        }
        ApplyError::Configuration(why) => {
            Status::unknown(format!("failed to create typed patch object {}: {why}", about(config)))
        }
        ApplyError::Live(why) => Status::unknown(format!(
            "failed to create manager for existing fields: failed to convert new object {} to smd typed: {why}",
            about(live)
        )),
    }
}
