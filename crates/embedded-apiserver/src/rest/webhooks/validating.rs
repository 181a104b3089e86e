//! Validating webhooks: all called at the same time.
#![doc(alias = "k8s.io/apiserver/pkg/admission/plugin/webhook/validating")]

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

use crate::admission::AdmissionRequest;
use crate::admission::webhooks::Webhook;
use crate::api::status::Status;
use crate::rest::webhooks::Context;
use crate::rest::webhooks::call::call;

/// Calls the webhooks, and waits for all of them.
///
/// # Errors
///
/// The first refusal that came.
pub(in crate::rest) async fn validate(
    context: &Context<'_>,
    webhooks: impl Iterator<Item = &Webhook>,
    request: &AdmissionRequest,
) -> Result<(), Status> {
    let subject = &context.subject(request);
    let mut matching = Vec::new();
    for webhook in webhooks {
        if let Some(matched) = context.matching(webhook, subject).await? {
            matching.push((webhook, matched));
        }
    }
    let calls = matching.iter().map(|(webhook, matched)| async move {
        let answered = call(context, webhook, subject, matched, false).await;
        answered.err().and_then(|failure| failure.refusal(webhook))
    });
    let mut calls: FuturesUnordered<_> = calls.collect();
    let mut first = None;
    while let Some(refusal) = calls.next().await {
        first = first.or(refusal);
    }
    first.map_or(Ok(()), Err)
}
