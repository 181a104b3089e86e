//! One call of an admission webhook.

use futures::future::try_join;

use crate::admission::review::{ReviewRequest, ReviewResponse};
use crate::admission::subject::{Matched, Subject};
use crate::admission::webhooks::Webhook;
use crate::api::metadata;
use crate::api::status::Status;
use crate::rest::webhooks::Context;
use crate::webhook::CallError;

/// Why a call does not allow the write.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no usable answer. Counts as allowed, if the failure policy is `Ignore`.
    #[doc(alias = "ErrCallingWebhook")]
    Call(String),
    /// The write is refused, whatever the failure policy.
    #[doc(alias = "ErrWebhookRejection")]
    Refused(Status),
}

impl Failure {
    /// The error of the write; `None` if the failure policy ignores the failure.
    pub(super) fn refusal(self, webhook: &Webhook) -> Option<Status> {
        let why = match self {
            Self::Refused(status) => return Some(status),
            Self::Call(why) => why,
        };
        let why = format!("failed calling webhook {:?}: {why}", webhook.name);
        if webhook.ignores_failures {
            tracing::warn!(why, "a webhook is ignored");
            return None;
        }
        Some(Status::internal(&why))
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Call(why)
    }
}

/// Asks a webhook about a write in the version that it matched.
pub(super) async fn call(
    context: &Context<'_>,
    webhook: &Webhook,
    subject: &Subject<'_>,
    matched: &Matched,
    mutates: bool,
) -> Result<ReviewResponse, Failure> {
    let request = subject.request;
    if request.dry_run && !webhook.supports_dry_run {
        let why = format!("admission webhook {:?} does not support dry run", webhook.name);
        return Err(Failure::Refused(Status::bad_request(why)));
    }
    let version = webhook.version.ok_or_else(|| {
        "could not create admission objects: webhook does not accept known AdmissionReview versions \
         (v1, v1beta1)"
            .to_owned()
    })?;
    let no_client = |error: &CallError| format!("could not get REST client: {error}");
    let endpoint = webhook.endpoint.as_ref().map_err(no_client)?;
    if !context.can_wait {
        let why = "it cannot be called for what `load` and `register_definition` write: write this \
                   object with a client, or before the configuration";
        let why = format!("failed calling webhook {:?}: {why}", webhook.name);
        return Err(Failure::Refused(Status::internal(&why)));
    }
    let resource = matched.0.as_deref().unwrap_or(context.kind);
    let convert = |object| context.versioned(subject, object, matched);
    let (object, old_object) = try_join(convert(&request.object), convert(&request.old_object))
        .await
        .map_err(|status| Failure::Refused(Status::internal(status.message())))?;
    let review = ReviewRequest {
        kind: if context.has_view() { context.seen } else { resource },
        resource,
        requested: (context.seen, context.kind),
        subresource: request.subresource.as_deref(),
        name: &request.name,
        namespace: subject.namespace_name(),
        operation: request.operation,
        user: &request.user,
        object: &object,
        old_object: &old_object,
        dry_run: request.dry_run,
        options: &request.options,
    };
    let uid = context.api.store.draw(metadata::new_uid);
    let review = review.to_review(version, &uid);
    let query = format!("timeout={}s", webhook.timeout.as_secs());
    let answer = context.api.webhooks.post(endpoint, &query, &review, webhook.timeout).await;
    let answer = answer.map_err(|error| match error {
        CallError::NotBuilt => {
            let why = format!("failed calling webhook {:?}: {error}", webhook.name);
            Failure::Refused(Status::internal(&why))
        }
        CallError::CaBundle(_) => Failure::Call(no_client(&error)),
        error => Failure::Call(format!("failed to call webhook: {error}")),
    })?;
    let response = ReviewResponse::read(&answer, version, &uid, mutates);
    let mut response =
        response.map_err(|why| format!("received invalid webhook response: {why}"))?;
    context.warn(std::mem::take(&mut response.warnings));
    if response.allowed {
        Ok(response)
    } else {
        Err(Failure::Refused(response.denied(&webhook.name)))
    }
}
