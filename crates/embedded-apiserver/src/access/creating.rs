//! The right to create of who updates or applies what is not there: `withAuthorization` of
//! k8s.io/apiserver/pkg/endpoints/handlers.

use std::cell::Cell;

use api_front::User;

use crate::access::attributes::Attributes;
use crate::access::authorizer::Authorizer;
use crate::access::policy::Decision;
use crate::access::refusal::forbidden;
use crate::api::status::Status;

/// Whether a PUT or an apply may create its object. It is asked before the write, without the
/// store's lock, and noted after it, if it mattered.
#[derive(Debug)]
pub(crate) struct CreateRight<'a> {
    user: &'a User,
    asked: Attributes<'a>,
    decision: Decision,
    /// The write came to where it matters.
    needed: Cell<bool>,
}

impl<'a> CreateRight<'a> {
    /// The right to do what was asked for by creating it; `asked` is the create, with the name.
    pub(crate) fn of(access: &Authorizer, user: &'a User, asked: Attributes<'a>) -> Self {
        let decision = access.decide(user, &asked);
        Self { user, asked, decision, needed: Cell::new(false) }
    }

    /// Refuses a create that is not allowed.
    pub(crate) fn check(&self) -> Result<(), Status> {
        self.needed.set(true);
        match &self.decision {
            Decision::Refused { reason } => Err(forbidden(self.user, &self.asked, reason)),
            _ => Ok(()),
        }
    }

    /// Notes it as used or refused, if the write needed it.
    pub(crate) fn note(&self, access: &Authorizer) {
        if self.needed.get() {
            access.note(self.user, &self.asked, &self.decision);
        }
    }
}
