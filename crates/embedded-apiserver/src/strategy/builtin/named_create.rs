//! Subresources to which another kind is posted: binding, eviction, token. The posted object acts
//! on the object of the path, and is never stored.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::strategy::Strategy;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::resource::ServedResource;

/// A subresource that is only created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "NamedCreater")]
pub(crate) enum NamedCreate {
    /// `pods/binding`, and the resource `bindings`.
    Binding,
    /// `pods/eviction`
    Eviction,
    /// `serviceaccounts/token`
    Token,
}

/// Also a resource of its own.
pub(crate) static BINDING: Row = Row { kind: "Binding", plural: "bindings", ..NAMESPACED };
static EVICTION: Row = Row { group: "policy", kind: "Eviction", plural: "evictions", ..NAMESPACED };
static TOKEN_REQUEST: Row = Row {
    group: "authentication.k8s.io",
    kind: "TokenRequest",
    plural: "tokenrequests",
    strategy: &TokenRequest,
    ..NAMESPACED
};

static POSTED: LazyLock<[Arc<ServedResource>; 3]> = LazyLock::new(|| {
    [&BINDING, &EVICTION, &TOKEN_REQUEST].map(|row| Arc::new(ServedResource::built_in(row)))
});

impl NamedCreate {
    const ALL: [Self; 3] = [Self::Binding, Self::Eviction, Self::Token];

    /// Those of a kind.
    pub(crate) fn of_kind(kind: &Kind) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|create| {
            kind.is_built_in() && (kind.group(), kind.plural()) == ("", create.plural())
        })
    }

    /// What is posted to a resource or a subresource.
    pub(crate) fn of(kind: &Kind, subresource: Option<&str>) -> Option<Self> {
        match subresource {
            Some(name) => Self::of_kind(kind).find(|create| create.subresource() == name),
            None => is_binding(kind).then_some(Self::Binding),
        }
    }

    /// The kind of the path, in the core group.
    const fn plural(self) -> &'static str {
        match self {
            Self::Binding | Self::Eviction => "pods",
            Self::Token => "serviceaccounts",
        }
    }

    pub(crate) const fn subresource(self) -> &'static str {
        match self {
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::Token => "token",
        }
    }

    /// The kind that is posted.
    pub(crate) fn posted(self) -> &'static Arc<ServedResource> {
        let [binding, eviction, token] = &*POSTED;
        match self {
            Self::Binding => binding,
            Self::Eviction => eviction,
            Self::Token => token,
        }
    }
}

/// Whether the kind is Binding, which is a resource too.
pub(crate) fn is_binding(kind: &Kind) -> bool {
    (kind.group(), kind.plural()) == ("", BINDING.plural)
}

#[derive(Debug)]
struct TokenRequest;

impl Strategy for TokenRequest {
    fn default(&self, object: &mut Object) {
        let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
        let seconds = spec.entry("expirationSeconds").or_insert(Value::Null);
        if seconds.is_null() {
            *seconds = (60 * 60).into();
        }
    }
}
