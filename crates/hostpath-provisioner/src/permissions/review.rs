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
use crate::outcome::shown;

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
    /// The server was asked; and, if it gave no word on some of them, why.
    Answered(Vec<(usize, Answer)>, Option<String>),
    /// The server does not know the question, or does not allow it.
    NotPossible(String),
}

/// What came of one question.
enum Asked {
    Answer(Answer),
    /// An answer without a word on the permission.
    Undecided(String),
    /// None that is about the question: an outage, a time-out, something that is no API server.
    Failed(String),
    NotPossible(String),
}

/// Asks about these permissions. Every question has its own time-out.
///
/// # Cancel safety
/// Nothing is lost: questions change nothing.
pub(super) async fn review(
    client: &Client,
    lease: &TheLease,
    places: &[usize],
    longest: Duration,
) -> Review {
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let ask = |place: usize| {
        let api = api.clone();
        let attributes = PERMISSIONS.get(place).map(|permission| lease.attributes(permission));
        async move {
            let spec = SelfSubjectAccessReviewSpec {
                resource_attributes: attributes,
                ..Default::default()
            };
            let question = SelfSubjectAccessReview { spec, ..Default::default() };
            let asked =
                tokio::time::timeout(longest, api.create(&PostParams::default(), &question)).await;
            let asked = match asked {
                Ok(Ok(answer)) => verdict(&answer),
                Ok(Err(Error::Api(status))) if matches!(status.code, 403 | 404 | 405 | 501) => {
                    Asked::NotPossible(shown(&status.to_string()))
                }
                Ok(Err(error)) => Asked::Failed(shown(&error.to_string())),
                Err(_) => Asked::Failed(format!("no answer within {longest:?}")),
            };
            (place, asked)
        }
    };
    let Some((first, rest)) = places.split_first() else {
        return Review::Answered(Vec::new(), None);
    };
    let mut answers = Vec::with_capacity(places.len());
    let mut unknown = None;
    // One first, so that a server that does not know the question, or cannot answer now, is asked
    // only one.
    match ask(*first).await {
        (_, Asked::NotPossible(why)) => return Review::NotPossible(why),
        (_, Asked::Failed(why)) => {
            let none = places.iter().map(|place| (*place, Answer::Unknown));
            return Review::Answered(none.collect(), Some(why));
        }
        (place, Asked::Undecided(why)) => {
            answers.push((place, Answer::Unknown));
            unknown = Some(why);
        }
        (place, Asked::Answer(answer)) => answers.push((place, answer)),
    }
    let mut asked = stream::iter(rest.iter().copied()).map(ask).buffer_unordered(AT_ONCE);
    while let Some((place, asked)) = asked.next().await {
        // The server knows the question: one that it does not take is one without an answer, and
        // the others count.
        answers.push(match asked {
            Asked::Answer(answer) => (place, answer),
            Asked::Undecided(why) | Asked::Failed(why) | Asked::NotPossible(why) => {
                unknown.get_or_insert(why);
                (place, Answer::Unknown)
            }
        });
    }
    Review::Answered(answers, unknown)
}

fn verdict(answer: &SelfSubjectAccessReview) -> Asked {
    match &answer.status {
        Some(status) if status.allowed => Asked::Answer(Answer::Allowed),
        // An authorizer that could not decide says so here: no word on the permission.
        Some(status) => match status.evaluation_error.as_deref() {
            Some(error) if !error.is_empty() => Asked::Undecided(shown(error)),
            _ => Asked::Answer(Answer::Denied),
        },
        None => Asked::Undecided("the server's answer has no status".to_owned()),
    }
}
