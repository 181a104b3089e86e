//! Authorizes by the roles and bindings in the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use serde_json::Value;

use crate::access::attributes::Attributes;
use crate::access::ledger::Ledger;
use crate::access::policy::{Binding, Decision, Held, Place, Policy, RoleRef, Table};
use crate::access::rule::{Atom, Rule};
use crate::store::Store;
use crate::store::state::changes_since::ChangesSince;
use api_front::User;

/// The group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
/// The store's tables of roles and bindings.
const TABLES: [(&str, Table); 4] = [
    ("rbac.authorization.k8s.io/clusterroles", Table::Roles),
    ("rbac.authorization.k8s.io/roles", Table::Roles),
    ("rbac.authorization.k8s.io/clusterrolebindings", Table::Bindings),
    ("rbac.authorization.k8s.io/rolebindings", Table::Bindings),
];

/// Authorizes by RBAC. If RBAC is off, it allows everything.
#[derive(Debug)]
pub(crate) struct Authorizer {
    enabled: bool,
    store: Arc<Store>,
    compiled: RwLock<Compiled>,
    ledger: Mutex<Ledger>,
}

/// The policy at a revision.
#[derive(Debug, Default)]
struct Compiled {
    policy: Policy,
    /// The revision of the policy.
    revision: u64,
}

impl Authorizer {
    /// Authorizes by the roles and bindings in `store`.
    pub(crate) fn new(enabled: bool, store: Arc<Store>) -> Self {
        Self { enabled, store, compiled: RwLock::default(), ledger: Mutex::default() }
    }

    pub(crate) const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Decides by the current roles, without recording it. For reviews.
    pub(crate) fn decide(&self, user: &User, asked: &Attributes<'_>) -> Decision {
        if !self.enabled {
            return Decision::Always;
        }
        self.with_policy(|policy| policy.decide(user, asked))
    }

    /// Decides by the current roles. Records the grant as used, or the refusal.
    pub(crate) fn authorize(&self, user: &User, asked: &Attributes<'_>) -> Result<(), String> {
        let decision = self.decide(user, asked);
        self.note(user, asked, &decision);
        match decision {
            Decision::Always | Decision::Granted { .. } => Ok(()),
            Decision::Refused { reason } => Err(reason),
        }
    }

    /// Records a grant as used, or a refusal.
    pub(super) fn note(&self, user: &User, asked: &Attributes<'_>, decision: &Decision) {
        match decision {
            Decision::Always => {}
            Decision::Granted { binding, atom, .. } => {
                self.ledger.lock().used(user, binding, atom.clone());
            }
            Decision::Refused { .. } => self.ledger.lock().refused(user, asked),
        }
    }

    /// Records that the user needed these grants to pass them on. Each counts once.
    pub(super) fn note_held(&self, user: &User, needed: &[(Arc<Binding>, Atom)]) {
        let mut noted = BTreeSet::new();
        let mut ledger = self.ledger.lock();
        for (binding, atom) in needed {
            if noted.insert((&binding.namespace, &binding.name, atom)) {
                ledger.used(user, binding, atom.clone());
            }
        }
    }

    pub(super) fn note_refused(&self, user: &User, asked: &Attributes<'_>) {
        self.ledger.lock().refused(user, asked);
    }

    pub(crate) fn held(&self, user: &User, namespace: &str) -> Vec<Held> {
        self.with_policy(|policy| policy.held(user, namespace))
    }

    pub(super) fn missing(&self, user: &User, namespace: &str) -> Vec<Arc<str>> {
        self.with_policy(|policy| policy.missing(user, namespace))
    }

    /// The rules of a role, for a binding in this namespace. Empty for a ClusterRoleBinding.
    pub(super) fn rules_of(&self, role: &RoleRef, namespace: &str) -> Option<Arc<[Rule]>> {
        self.with_policy(|policy| policy.rules(role, namespace).map(|(rules, _)| Arc::clone(rules)))
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock()
    }

    /// Updates the policy by the changes since its revision, and shows it.
    pub(super) fn with_policy<T>(&self, look: impl FnOnce(&Policy) -> T) -> T {
        let newest = self.store.revision();
        let compiled = self.compiled.read();
        if compiled.revision >= newest {
            return look(&compiled.policy);
        }
        drop(compiled);
        let mut compiled = self.compiled.write();
        compiled.catch_up(&self.store);
        look(&compiled.policy)
    }
}

impl Compiled {
    fn catch_up(&mut self, store: &Store) {
        let ChangesSince { anew, changes, revision } =
            store.changes_since(&TABLES.map(|(name, _)| name), self.revision);
        if anew {
            self.policy.clear();
        }
        for (at, object, removed) in changes {
            let Some(&(_, table)) = TABLES.get(at) else { continue };
            let place: Place = (object.key.namespace().into(), object.key.name().into());
            let object = (!removed).then(|| Value::Object(object.object()));
            self.policy.change(table, &place, object.as_ref());
        }
        self.policy.aggregate();
        self.revision = revision;
    }
}
