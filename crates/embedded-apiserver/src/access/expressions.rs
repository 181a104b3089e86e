//! The authorizer that expressions ask: decides by roles, and records nothing.

use std::sync::Arc;

use api_front::User;
use k8s_cel::{Asked, Decision};

use crate::access::attributes::Attributes;
use crate::access::authorizer::Authorizer;

/// An authorizer of one request.
#[derive(Debug)]
struct OfRequest {
    access: Arc<Authorizer>,
    user: User,
}

/// The authorizer of a request by this user.
#[doc(alias = "NewAuthorizerVal")]
pub(crate) fn authorizer_of(access: &Arc<Authorizer>, user: &User) -> Arc<dyn k8s_cel::Authorizer> {
    Arc::new(OfRequest { access: Arc::clone(access), user: user.clone() })
}

impl k8s_cel::Authorizer for OfRequest {
    fn authorize(&self, account: Option<(&str, &str)>, asked: &Asked<'_>) -> Decision {
        let asked = match *asked {
            Asked::Path { path, verb } => Attributes::Path { verb: verb.into(), path: path.into() },
            Asked::Resource { of, verb } => Attributes::Resource {
                verb: verb.into(),
                group: (&*of.group).into(),
                resource: (&*of.resource).into(),
                subresource: (&*of.subresource).into(),
                namespace: (&*of.namespace).into(),
                name: (&*of.name).into(),
            },
        };
        let account = account.map(|(namespace, name)| User::service_account(namespace, name));
        let decision = self.access.decide(account.as_ref().unwrap_or(&self.user), &asked);
        Decision {
            allowed: decision.is_allowed(),
            reason: decision.reason().to_owned(),
            error: String::new(),
        }
    }
}
