//! Mutating webhooks: called one after the other, each with the object of those before.
#![doc(alias = "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating")]

use k8s_merge::patch::JsonPatch;
use serde_json::Value;

use crate::admission::AdmissionRequest;
use crate::admission::reinvocation::Reinvocation;
use crate::admission::review::ReviewResponse;
use crate::admission::subject::Matched;
use crate::admission::webhooks::Webhook;
use crate::api::metadata::Object;
use crate::api::status::Status;
use crate::rest::webhooks::Context;
use crate::rest::webhooks::call::{Failure, call};
use crate::rest::webhooks::reviewed::{decoded, shown};

/// Calls the webhooks, and once more those that ask for it if a later one changed the object.
/// Returns the changed object; `None` if none changes it. `request` ends with it.
pub(in crate::rest) async fn mutate<'w>(
    context: &Context<'_>,
    webhooks: impl Iterator<Item = &'w Webhook> + Clone + Send,
    request: &mut AdmissionRequest,
    managed: &str,
) -> Result<Option<Object>, Status> {
    let mut calls = Reinvocation::default();
    let mut newest = None;
    for round in 0..2 {
        for webhook in webhooks.clone() {
            let subject = context.subject(request);
            let Some(matched) = context.matching(webhook, &subject).await? else { continue };
            if round == 1 && !calls.is_due(&webhook.uid) {
                continue;
            }
            let answered = call(context, webhook, &subject, &matched, true).await;
            let patched = match answered {
                Ok(response) => patched(context, webhook, request, &matched, &response).await,
                Err(failure) => Err(failure),
            };
            let (changed, refusal) = match patched {
                Ok(None) => (false, None),
                Ok(Some(Patched { object, changed })) => {
                    request.object = shown(context.seen, (&object, managed));
                    newest = Some(object);
                    (changed, None)
                }
                Err(failure) => (false, failure.refusal(webhook)),
            };
            calls.note(&webhook.uid, changed, webhook.is_reinvoked);
            if let Some(refusal) = refusal {
                return Err(refusal);
            }
        }
        if !calls.is_needed() {
            break;
        }
    }
    Ok(newest)
}

/// The result of a patch.
struct Patched {
    /// With defaults.
    object: Object,
    /// Whether the patch itself changed it.
    changed: bool,
}

/// Applies the patch of an answer, if it has one.
async fn patched(
    context: &Context<'_>,
    webhook: &Webhook,
    request: &AdmissionRequest,
    matched: &Matched,
    response: &ReviewResponse,
) -> Result<Option<Patched>, Failure> {
    if response.patch.is_empty() {
        return Ok(None);
    }
    let patch = JsonPatch::parse_unchecked(response.patch.clone());
    let patch = patch
        .map_err(|error| format!("received undecodable patch in webhook response: {error}"))?;
    if patch.is_empty() {
        return Ok(None);
    }
    let internal = |why: &str| Failure::Refused(Status::internal(why));
    if request.object.is_null() {
        return Err(internal(&format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this \
             operation",
            webhook.name
        )));
    }
    if response.patch_type != "JSONPatch" {
        return Err(Failure::Call(format!("unsupported patch type {:?}", response.patch_type)));
    }
    let subject = context.subject(request);
    let before = context.versioned(&subject, &request.object, matched).await;
    let before = before.map_err(|status| internal(status.message()))?.into_owned();
    let after = patch.apply(before.to_string()).map_err(|error| internal(&error.to_string()))?;
    let after: Value =
        serde_json::from_str(&after).map_err(|error| internal(&error.to_string()))?;
    let kind = matched.0.as_deref().filter(|_| !context.has_view()).unwrap_or(context.seen);
    let decode = |object| decoded(kind, object).map_err(|status| internal(status.message()));
    let (before, mut after) = (decode(before)?, decode(after)?);
    let changed = before != after;
    kind.strategy().default(&mut after);
    let object = match &matched.0 {
        // Back to the version of the request.
        Some(other) if !context.has_view() => {
            let back = context.converted(after, other, context.kind).await;
            let back = back.and_then(|back| decoded(context.kind, back));
            back.map_err(|status| internal(status.message()))?
        }
        _ => after,
    };
    Ok(Some(Patched { object, changed }))
}
