//! Admission hooks: closures that change or refuse a write, like admission webhooks.

pub(crate) mod configurations;
pub(crate) mod expressions;
mod hook;
pub(crate) mod match_conditions;
pub(crate) mod matcher;
pub(crate) mod policies;
pub(crate) mod reinvocation;
pub(crate) mod review;
pub(crate) mod subject;
pub(crate) mod surroundings;
pub(crate) mod webhooks;

use std::fmt;
use std::sync::Arc;

use api_front::User;
use parking_lot::RwLock;
use serde_json::Value;

pub use crate::admission::hook::{Denied, Hook};

/// The operation of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// POST, or a PUT or an apply that creates.
    Create,
    /// PUT or PATCH.
    Update,
    /// DELETE of one object, or of one of a collection.
    Delete,
}

impl Operation {
    /// `CREATE`, `UPDATE` or `DELETE`, as rules and expressions have it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The write that a [`Hook`] gets.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[doc(alias = "admission.k8s.io/v1 AdmissionRequest")]
pub struct AdmissionRequest {
    /// The operation.
    pub operation: Operation,
    /// The user.
    pub user: User,
    /// API group; empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// The name of the object's kind, as `Pod`; `Scale` for a write to a scale.
    pub kind: String,
    /// The plural, as `pods`.
    pub resource: String,
    /// `status`, `scale` ...
    pub subresource: Option<String>,
    /// `None` in cluster scope.
    pub namespace: Option<String>,
    /// The object's name. Empty before `generateName` is applied, and for the delete of a
    /// collection, whose objects are in [`old_object`](Self::old_object).
    pub name: String,
    /// The new object; null for a delete. A mutating hook gets it before defaults and validation, a
    /// validating hook as it will be stored.
    pub object: Value,
    /// The stored object; null for a create.
    pub old_object: Value,
    /// Whether the write is a dry run.
    pub dry_run: bool,
    /// The options of the request: a `CreateOptions`, `UpdateOptions` or `DeleteOptions` of
    /// meta.k8s.io/v1.
    pub options: Value,
}

/// The registered hooks.
#[derive(Debug, Default)]
pub(crate) struct Hooks(RwLock<Arc<Vec<Hook>>>);

impl Hooks {
    /// The current hooks, in order. A write uses them from beginning to end.
    pub(crate) fn now(&self) -> Arc<Vec<Hook>> {
        Arc::clone(&self.0.read())
    }
}

/// The admission hooks of a server; from
/// [`EmbeddedApiServer::admission`](crate::EmbeddedApiServer::admission).
///
/// ```
/// # #[cfg(feature = "client")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use embedded_apiserver::{Denied, EmbeddedApiServer, Hook};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::{Api, PostParams};
///
/// let server = EmbeddedApiServer::new();
/// server.admission().add(
///     Hook::validating("no-secrets.example.com", |request| match request.object.pointer("/data/password") {
///         Some(_) => Err(Denied::new("passwords belong into Secrets")),
///         None => Ok(()),
///     })
///     .resource("configmaps"),
/// );
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// map.data = Some([("password".to_owned(), "x".to_owned())].into());
/// let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
/// let refused = maps.create(&PostParams::default(), &map).await.unwrap_err();
/// assert!(refused.to_string().contains(
///     r#"admission webhook "no-secrets.example.com" denied the request: passwords belong into Secrets"#
/// ));
/// # }
/// # #[cfg(not(feature = "client"))]
/// # fn main() {}
/// ```
///
/// Hooks run without any lock. If the object changes meanwhile, the write starts again and the
/// hooks see the newer object. A panic in a hook fails only its request, with 500. Hooks do not get
/// subresources that are not implemented (`connect`), reviews, or objects that the server creates
/// at its start.
///
/// A cheap handle: clones share the server.
#[derive(Clone)]
#[doc(alias = "ValidatingWebhookConfiguration")]
#[doc(alias = "MutatingWebhookConfiguration")]
pub struct Admission(Arc<Hooks>);

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("hooks", &self.names()).finish()
    }
}

impl Admission {
    pub(crate) const fn new(hooks: Arc<Hooks>) -> Self {
        Self(hooks)
    }

    /// Adds a hook after the others, or replaces the one of its name. All mutating hooks run before
    /// all validating ones.
    pub fn add(&self, hook: Hook) {
        let mut hooks = self.0.0.write();
        let mut new: Vec<_> = hooks
            .iter()
            .cloned()
            .map(|old| if old.name() == hook.name() { hook.clone() } else { old })
            .collect();
        if !new.iter().any(|known| known.name() == hook.name()) {
            new.push(hook);
        }
        let old = std::mem::replace(&mut *hooks, Arc::new(new));
        drop(hooks);
        // Drops the old closures without the lock.
        drop(old);
    }

    /// Removes a hook. Returns whether it was registered.
    pub fn remove(&self, name: &str) -> bool {
        let mut hooks = self.0.0.write();
        let new: Vec<_> = hooks.iter().filter(|hook| hook.name() != name).cloned().collect();
        let was_there = new.len() < hooks.len();
        let old = std::mem::replace(&mut *hooks, Arc::new(new));
        drop(hooks);
        drop(old);
        was_there
    }

    /// The names of the registered hooks, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.now().iter().map(|hook| hook.name().to_owned()).collect()
    }
}
