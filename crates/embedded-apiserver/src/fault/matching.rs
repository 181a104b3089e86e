//! Which requests a rule or an exemption is about.

use crate::request_info::{RequestInfo, Verb, resource_matches};
use serde::{Deserialize, Serialize};

/// Users whose name starts so are part of the server (the garbage collector); only a match that
/// names them meets them.
pub(crate) const ACTOR_PREFIX: &str = "system:embedded:";

/// A condition on requests. Every list that is not empty must contain the request's value; an empty
/// list admits all.
///
/// The server's own actors (users that start with `system:embedded:`) are met only by a condition
/// that names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Match {
    /// Who asks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Who asks must not be one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_users: Vec<String>,
    /// What is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<Verb>,
    /// To what: `leases`, `leases.coordination.k8s.io` or `persistentvolumeclaims/status`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// To none of these, in the same words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_resources: Vec<String>,
    /// In which namespaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// To objects of which names: that of the path, of a `metadata.name=` field selector, or of a
    /// create's JSON body. A name that the server makes up (`generateName`) meets none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl Match {
    /// Every request, those of the server's own actors excepted.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Adds a user.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.users.push(user.into());
        self
    }

    /// Excepts a user.
    #[must_use]
    pub fn except_user(mut self, user: impl Into<String>) -> Self {
        self.except_users.push(user.into());
        self
    }

    /// Adds a verb.
    #[must_use]
    pub fn verb(mut self, verb: Verb) -> Self {
        self.verbs.push(verb);
        self
    }

    /// Adds create, update, patch, delete and deletecollection.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.verbs.extend(Verb::ALL.into_iter().filter(|verb| verb.is_write()));
        self
    }

    /// Adds a resource: `leases`, `leases.coordination.k8s.io` or `persistentvolumeclaims/status`.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resources.push(resource.into());
        self
    }

    /// Excepts a resource, in the same words.
    #[must_use]
    pub fn except_resource(mut self, resource: impl Into<String>) -> Self {
        self.except_resources.push(resource.into());
        self
    }

    /// Adds a namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }

    /// Adds an object name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Whether a request of `user` meets the condition.
    #[must_use]
    pub fn admits(&self, user: &str, request: &RequestInfo) -> bool {
        let is = |pattern: &String| {
            resource_matches(
                pattern,
                &request.group,
                &request.resource,
                request.subresource.as_deref(),
            )
        };
        let among = |list: &[String], value: Option<&str>| {
            list.is_empty() || value.is_some_and(|value| list.iter().any(|wanted| wanted == value))
        };
        let named = self.users.iter().any(|wanted| wanted == user);
        (named || (self.users.is_empty() && !user.starts_with(ACTOR_PREFIX)))
            && !self.except_users.iter().any(|excepted| excepted == user)
            && (self.verbs.is_empty() || self.verbs.contains(&request.verb))
            && (self.resources.is_empty() || self.resources.iter().any(is))
            && !self.except_resources.iter().any(is)
            && among(&self.namespaces, request.namespace.as_deref())
            && among(&self.names, request.name.as_deref())
    }
}
