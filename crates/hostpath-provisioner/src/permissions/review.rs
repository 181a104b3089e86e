//! Asking the server which permissions this account has: one SelfSubjectAccessReview for each.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::{Client, Error};

use super::ledger::Answer;
use super::{PERMISSIONS, Permission, Scope};

/// Questions under way at once.
const AT_ONCE: usize = 4;

/// The Lease that the program campaigns for.
#[derive(Clone, Debug)]
pub(super) struct TheLease {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl TheLease {
    /// What is asked about a permission. An empty namespace is all namespaces.
    fn attributes(&self, permission: &Permission) -> ResourceAttributes {
        let lease = permission.scope == Scope::Lease;
        ResourceAttributes {
            verb: Some(permission.verb.to_owned()),
            group: Some(permission.group.to_owned()),
            resource: Some(permission.resource.to_owned()),
            namespace: lease.then(|| self.namespace.clone()),
            // The server authorizes a creation without a name.
            name: (lease && permission.verb != "create").then(|| self.name.clone()),
            ..ResourceAttributes::default()
        }
    }
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Review {
    /// The server answered, at least in part.
    Answered(Vec<(usize, Answer)>),
    /// The server does not know the question, or does not allow it.
    NotPossible,
}

/// Asks about these permissions. Every question has its own time-out.
///
/// # Cancel safety
/// Nothing is lost: questions change nothing.
pub(super) async fn review(client: &Client, lease: &TheLease, places: &[usize], longest: Duration) -> Review {
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let ask = |place: usize| {
        let api = api.clone();
        let attributes = PERMISSIONS.get(place).map(|permission| lease.attributes(permission));
        async move {
            let spec = SelfSubjectAccessReviewSpec { resource_attributes: attributes, ..Default::default() };
            let question = SelfSubjectAccessReview { spec, ..Default::default() };
            let asked = tokio::time::timeout(longest, api.create(&PostParams::default(), &question)).await;
            match asked {
                Ok(Ok(answer)) => Some((place, verdict(&answer))),
                Ok(Err(Error::Api(status))) if matches!(status.code, 403 | 404 | 405 | 501) => None,
                Ok(Err(_)) | Err(_) => Some((place, Answer::Unknown)),
            }
        }
    };
    // One first, so that a server that does not know the question is asked only one.
    let Some((first, rest)) = places.split_first() else { return Review::Answered(Vec::new()) };
    let Some(answer) = ask(*first).await else { return Review::NotPossible };
    let mut answers = vec![answer];
    let mut asked = stream::iter(rest.iter().copied()).map(ask).buffer_unordered(AT_ONCE);
    while let Some(answer) = asked.next().await {
        let Some(answer) = answer else { return Review::NotPossible };
        answers.push(answer);
    }
    Review::Answered(answers)
}

fn verdict(answer: &SelfSubjectAccessReview) -> Answer {
    match &answer.status {
        Some(status) if status.allowed => Answer::Allowed,
        // An authorizer that could not decide says so here: no word on the permission.
        Some(status) if status.evaluation_error.as_deref().is_some_and(|error| !error.is_empty()) => {
            Answer::Unknown
        }
        Some(_) => Answer::Denied,
        None => Answer::Unknown,
    }
}
