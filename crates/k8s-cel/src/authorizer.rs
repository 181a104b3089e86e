//! `Authorizer`: what expressions ask by the variable `authorizer`
//! (k8s.io/apiserver/pkg/cel/library/authz.go).

use std::fmt;
use std::sync::Arc;

/// Decides what a user may do: behind the variables `authorizer` and
/// `authorizer.requestResource`, see [`Value::authorizer`](crate::Value::authorizer).
#[doc(alias = "authorizer.Authorizer")]
pub trait Authorizer: fmt::Debug + Send + Sync {
    /// Decides about the user of the request, or about a service account: its namespace and its
    /// name.
    fn authorize(&self, account: Option<(&str, &str)>, asked: &Asked<'_>) -> Decision;
}

/// A verb on a resource or on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(alias = "authorizer.Attributes")]
pub enum Asked<'a> {
    /// On a path that names no resource.
    Path {
        /// Such as `/healthz`.
        path: &'a str,
        /// Such as `get`.
        verb: &'a str,
    },
    /// On a resource.
    Resource {
        /// The resource.
        of: &'a AskedResource,
        /// Such as `create`.
        verb: &'a str,
    },
}

/// A resource to ask about. Empty members: the core group, the object itself, cluster scope or all
/// namespaces, all names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedResource {
    /// API group.
    pub group: String,
    /// The plural.
    pub resource: String,
    /// Such as `status`.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
}

/// The answer of an [`Authorizer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether the user may do it.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What went wrong; empty if nothing did.
    pub error: String,
}

/// A value of the authorization library: the authorizer, a check that it can make, or a decision.
#[derive(Debug, Clone)]
pub struct Check(pub(crate) Arc<Authorization>);

#[derive(Debug, Clone)]
pub(crate) enum Authorization {
    Authorizer(Subject),
    Path(Subject, Arc<str>),
    Group(Subject, Arc<str>),
    Resource(Subject, AskedResource),
    Decision(Decision),
}

/// About whom an authorizer is asked.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) by: Arc<dyn Authorizer>,
    pub(crate) account: Option<(Arc<str>, Arc<str>)>,
}

impl Subject {
    pub(crate) fn decide(&self, asked: &Asked<'_>) -> Decision {
        let account = self.account.as_ref().map(|(namespace, name)| (&**namespace, &**name));
        self.by.authorize(account, asked)
    }
}

impl Authorization {
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Authorizer(_) => AUTHORIZER,
            Self::Path(..) => PATH_CHECK,
            Self::Group(..) => GROUP_CHECK,
            Self::Resource(..) => RESOURCE_CHECK,
            Self::Decision(_) => DECISION,
        }
    }
}

pub(crate) const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
pub(crate) const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
pub(crate) const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
pub(crate) const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
pub(crate) const DECISION: &str = "kubernetes.authorization.Decision";
