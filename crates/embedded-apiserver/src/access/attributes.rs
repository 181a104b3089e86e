//! The attributes of an authorization request. From a request, from a review, or made by the
//! server.

use std::borrow::Cow;
use std::fmt;

use api_front::{RequestInfo, Verb};
use http::Method;

/// A verb on a resource, or on a non-resource path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attributes<'a> {
    Resource {
        verb: Cow<'a, str>,
        group: Cow<'a, str>,
        resource: Cow<'a, str>,
        /// Empty: the object itself.
        subresource: Cow<'a, str>,
        /// Empty: all namespaces, or cluster scope.
        namespace: Cow<'a, str>,
        /// Empty for a create, a list or a watch.
        name: Cow<'a, str>,
    },
    Path {
        verb: Cow<'a, str>,
        path: Cow<'a, str>,
    },
}

impl<'a> Attributes<'a> {
    /// The attributes of a request.
    pub(crate) fn of(method: &Method, info: &'a RequestInfo) -> Self {
        if info.resource.is_empty() {
            // The verb of a non-resource path is the method.
            let verb = method.as_str().to_ascii_lowercase();
            let verb = if verb == "head" { "get".to_owned() } else { verb };
            return Self::Path { verb: verb.into(), path: info.path.as_str().into() };
        }
        let verb = if info.verb == Verb::Other { "" } else { info.verb.as_str() };
        let text = |value: &'a Option<String>| Cow::Borrowed(value.as_deref().unwrap_or_default());
        Self::Resource {
            verb: verb.into(),
            group: info.group.as_str().into(),
            resource: info.resource.as_str().into(),
            subresource: text(&info.subresource),
            namespace: text(&info.namespace),
            name: text(&info.name),
        }
    }

    /// The same attributes with another verb. `make` gets the current one.
    pub(crate) fn with_verb(mut self, make: impl FnOnce(&str) -> String) -> Self {
        let (Self::Resource { verb, .. } | Self::Path { verb, .. }) = &mut self;
        *verb = make(verb).into();
        self
    }

    pub(crate) fn into_owned(self) -> Attributes<'static> {
        fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        match self {
            Self::Resource { verb, group, resource, subresource, namespace, name } => {
                Attributes::Resource {
                    verb: owned(verb),
                    group: owned(group),
                    resource: owned(resource),
                    subresource: owned(subresource),
                    namespace: owned(namespace),
                    name: owned(name),
                }
            }
            Self::Path { verb, path } => Attributes::Path { verb: owned(verb), path: owned(path) },
        }
    }

    pub(crate) fn namespace(&self) -> &str {
        match self {
            Self::Resource { namespace, .. } => namespace,
            Self::Path { .. } => "",
        }
    }
}

/// The text of upstream's refusals, without the user: `forbiddenMessage` of
/// k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
impl fmt::Display for Attributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { verb, path } => write!(f, "cannot {verb} path {path:?}"),
            Self::Resource { verb, group, resource, subresource, namespace, .. } => {
                let slash = if subresource.is_empty() { "" } else { "/" };
                write!(
                    f,
                    "cannot {verb} resource \"{resource}{slash}{subresource}\" in API group {group:?} "
                )?;
                if namespace.is_empty() {
                    f.write_str("at the cluster scope")
                } else {
                    write!(f, "in the namespace {namespace:?}")
                }
            }
        }
    }
}
