//! Admission hooks: closures that change or refuse what is about to be written, as admission
//! webhooks do in a cluster.

mod hook;

use std::fmt;
use std::sync::Arc;

use api_front::User;
use parking_lot::RwLock;
use serde_json::Value;

pub use crate::admission::hook::{Denied, Hook};

/// What is about to be done.
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

/// A write that a [`Hook`] is asked about.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[doc(alias = "admission.k8s.io/v1 AdmissionRequest")]
pub struct AdmissionRequest {
    /// What is about to be done.
    pub operation: Operation,
    /// Who does it.
    pub user: User,
    /// API group; empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// The kind's name, as `Pod`.
    pub kind: String,
    /// The plural, as `pods`.
    pub resource: String,
    /// `status`, `scale` ...
    pub subresource: Option<String>,
    /// Nothing at cluster scope.
    pub namespace: Option<String>,
    /// The object's name; empty if it is still to be generated.
    pub name: String,
    /// The object as it would be; null for a delete. For a mutating hook, before defaults and
    /// checks; for a validating one, as it would be stored.
    pub object: Value,
    /// The object as it is; null for a create.
    pub old_object: Value,
    /// Whether nothing will be stored.
    pub dry_run: bool,
}

/// The hooks in force.
#[derive(Debug, Default)]
pub(crate) struct Hooks(RwLock<Arc<Vec<Hook>>>);

impl Hooks {
    /// Those in force now, in order; a write asks these from its beginning to its end.
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
/// Hooks run outside of every lock. Where an object changes while its hooks look at it, the write
/// begins anew with the newer object, and they are asked again: what is stored is what they have
/// seen. One that panics fails its request with 500, and nothing else. Hooks are not asked about
/// subresources that are not implemented (`connect`), about reviews, or about what the server makes
/// at its start.
///
/// A cheap handle: clones are of the same server.
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

    /// Puts a hook into force, after the others; one of the same name is replaced. All mutating
    /// hooks come before all validating ones.
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
        // A closure's own drop runs without the lock.
        drop(old);
    }

    /// Takes a hook out of force; whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        let mut hooks = self.0.0.write();
        let new: Vec<_> = hooks.iter().filter(|hook| hook.name() != name).cloned().collect();
        let was_there = new.len() < hooks.len();
        let old = std::mem::replace(&mut *hooks, Arc::new(new));
        drop(hooks);
        drop(old);
        was_there
    }

    /// The names of the hooks in force, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.now().iter().map(|hook| hook.name().to_owned()).collect()
    }
}
