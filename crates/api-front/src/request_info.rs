//! Verb, resource, namespace and name of a request, read from its method and URI alone. Pure.

use crate::query;
use http::{Method, Uri};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use std::fmt;

#[cfg(test)]
mod tests;

/// What a request does, in the words of Kubernetes' authorization and audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Verb {
    /// Read one object, or a path that is no resource (`/version`, `/apis` ...).
    Get,
    /// Read a collection.
    List,
    /// Stream the changes of a collection.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH of any type.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// A method that the API does not have (OPTIONS, TRACE ...).
    Other,
}

impl Verb {
    /// Every verb, in the order in which tables show them.
    pub const ALL: [Self; 9] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Delete,
        Self::DeleteCollection,
        Self::Other,
    ];

    /// Whether the verb changes something: create, update, patch, delete and deletecollection.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Update | Self::Patch | Self::Delete | Self::DeleteCollection
        )
    }

    /// The word used in rules, logs and JSON, as Kubernetes spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }

    const fn of_method(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self::Get,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a request asks for. Empty strings and `None` mean that the path does not say.
///
/// The rules are those of `RequestInfoFactory.NewRequestInfo` in k8s.io/apiserver
/// (pkg/endpoints/request/requestinfo.go), without the deprecated `/proxy/` path prefix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestInfo {
    /// The verb.
    pub verb: Verb,
    /// API group; empty for the core group and for paths that are no resource.
    pub group: String,
    /// API version; empty for paths that are no resource.
    pub version: String,
    /// Plural, lower-case resource name (`leases`); empty for paths that are no resource.
    pub resource: String,
    /// `status`, `scale` ...
    pub subresource: Option<String>,
    /// Namespace in the path.
    pub namespace: Option<String>,
    /// Object name in the path, or in a `metadata.name=` field selector of a list or watch.
    pub name: Option<String>,
    /// The decoded path of a request that is for no resource (`/version`); empty otherwise.
    pub path: String,
}

impl RequestInfo {
    /// Reads method and URI. Never fails: a path that is no resource path keeps only verb and path.
    ///
    /// ```
    /// use api_front::{RequestInfo, Verb};
    /// use http::{Method, Uri};
    ///
    /// let uri = Uri::from_static("/apis/apps/v1/namespaces/a/deployments?watch=true");
    /// let info = RequestInfo::of(&Method::GET, &uri);
    /// assert_eq!((info.verb, &*info.qualified_resource()), (Verb::Watch, "deployments.apps"));
    /// ```
    #[must_use]
    pub fn of(method: &Method, uri: &Uri) -> Self {
        let decoded = percent_decode_str(uri.path()).decode_utf8_lossy();
        let mut info = Self {
            verb: Verb::of_method(method),
            group: String::new(),
            version: String::new(),
            resource: String::new(),
            subresource: None,
            namespace: None,
            name: None,
            path: String::new(),
        };
        let mut parts = decoded.split('/').filter(|part| !part.is_empty());
        let (group, version) = match parts.next() {
            Some("api") => ("", parts.next()),
            Some("apis") => (parts.next().unwrap_or_default(), parts.next()),
            _ => ("", None),
        };
        let rest: Vec<&str> = parts.collect();
        let (Some(version), false) = (version, rest.is_empty()) else {
            info.path = decoded.into_owned();
            return info;
        };
        info.group = group.to_owned();
        info.version = version.to_owned();
        info.read_resource(&rest);
        info.refine_verb(uri.query().unwrap_or_default());
        info
    }

    fn read_resource(&mut self, rest: &[&str]) {
        let mut parts = rest;
        if let ["namespaces", namespace, tail @ ..] = rest {
            self.namespace = Some((*namespace).to_owned());
            // `/namespaces/x`, `/namespaces/x/status` and `/namespaces/x/finalize` are about the
            // namespace itself.
            if let [first, ..] = tail
                && !(tail.len() == 1 && matches!(*first, "status" | "finalize"))
            {
                parts = tail;
            }
        }
        let mut parts = parts.iter().map(|part| (*part).to_owned());
        self.resource = parts.next().unwrap_or_default();
        self.name = parts.next();
        self.subresource = parts.next();
    }

    fn refine_verb(&mut self, query: &str) {
        if self.name.is_some() {
            return;
        }
        if self.verb == Verb::Delete {
            self.verb = Verb::DeleteCollection;
        }
        if self.verb == Verb::Get {
            self.verb = Verb::List;
            for (key, value) in query::pairs(query) {
                match &*key {
                    // Only "false" and "0" mean no; `watch`, `watch=yes` and `watch=True` mean yes.
                    "watch" if !value.eq_ignore_ascii_case("false") && value != "0" => {
                        self.verb = Verb::Watch
                    }
                    "fieldSelector" => self.name = name_in_selector(&value),
                    _ => {}
                }
            }
        }
    }

    /// `leases.coordination.k8s.io`, `pods`, `pods/status`: resource, group and subresource in one
    /// word; the path when the request is for no resource.
    #[must_use]
    pub fn qualified_resource(&self) -> String {
        if self.resource.is_empty() {
            return self.path.clone();
        }
        let mut word = self.resource.clone();
        if !self.group.is_empty() {
            word.push('.');
            word.push_str(&self.group);
        }
        if let Some(subresource) = &self.subresource {
            word.push('/');
            word.push_str(subresource);
        }
        word
    }
}

/// Whether `pattern` names this resource: `leases` (any group, with all subresources),
/// `leases.coordination.k8s.io` (that group), `pods/status` (that subresource alone).
pub(crate) fn resource_matches(
    pattern: &str,
    group: &str,
    resource: &str,
    subresource: Option<&str>,
) -> bool {
    let (object, wanted_subresource) = match pattern.split_once('/') {
        Some((object, subresource)) => (object, Some(subresource)),
        None => (pattern, None),
    };
    if wanted_subresource.is_some() && wanted_subresource != subresource {
        return false;
    }
    match object.split_once('.') {
        Some((plural, wanted_group)) => plural == resource && wanted_group == group,
        None => object == resource,
    }
}

fn name_in_selector(selector: &str) -> Option<String> {
    selector.split(',').find_map(|term| {
        let value = term.strip_prefix("metadata.name=")?;
        Some(value.strip_prefix('=').unwrap_or(value).to_owned())
    })
}
