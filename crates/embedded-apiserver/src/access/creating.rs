//! Authorizes create-on-update: a PUT or apply to a missing object also needs `create`
//! (`withAuthorization` of k8s.io/apiserver/pkg/endpoints/handlers).

use std::sync::atomic::{AtomicBool, Ordering};

use api_front::User;

use crate::access::attributes::Attributes;
use crate::access::authorizer::Authorizer;
use crate::access::policy::Decision;
use crate::access::refusal::forbidden;
use crate::api::status::Status;

/// The decision whether a PUT or an apply may create its object. It is made before the write,
/// without the store's lock. It is recorded after the write, if it mattered.
#[derive(Debug)]
pub(crate) struct CreateRight<'a> {
    user: &'a User,
    asked: Attributes<'a>,
    decision: Decision,
    /// The write would create the object.
    needed: AtomicBool,
}

impl<'a> CreateRight<'a> {
    /// Decides about the create. `asked` has the verb `create` and the name.
    pub(crate) fn of(access: &Authorizer, user: &'a User, asked: Attributes<'a>) -> Self {
        let decision = access.decide(user, &asked);
        Self { user, asked, decision, needed: AtomicBool::new(false) }
    }

    /// Returns an error if the create is not allowed.
    pub(crate) fn check(&self) -> Result<(), Status> {
        self.needed.store(true, Ordering::Relaxed);
        match &self.decision {
            Decision::Refused { reason } => Err(forbidden(self.user, &self.asked, reason)),
            _ => Ok(()),
        }
    }

    /// Records the decision, if the write needed it.
    pub(crate) fn note(&self, access: &Authorizer) {
        if self.needed.load(Ordering::Relaxed) {
            access.note(self.user, &self.asked, &self.decision);
        }
    }
}
