//! Who may do what: the roles and bindings in the store, made into decisions, and what of them was
//! used.

mod attributes;
mod creating;
mod defaults;
mod escalation;
mod grants;
mod impersonation;
mod ledger;
mod policy;
pub(crate) mod reviews;
mod rule;

use std::collections::BTreeSet;
use std::sync::Arc;

use api_front::{RequestInfo, User};
use bytes::Bytes;
use http::Request;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use crate::access::ledger::{Ledger, Lost};
use crate::access::policy::{Binding, Decision, Held, Place, Policy, RoleRef, Table};
use crate::access::rule::{Atom, Rule};
use crate::kind::Kind;
use crate::server::Core;
use crate::status::Status;
use crate::store::Store;
use crate::store::state::news::News;

pub(crate) use crate::access::attributes::Attributes;
pub(crate) use crate::access::creating::CreateRight;
pub(crate) use crate::access::defaults::create_default_roles;
pub(crate) use crate::access::escalation::{RoleWrite, check_escalation};
pub use crate::access::grants::{Access, Account, Grant, Refusal};

const GROUP: &str = "rbac.authorization.k8s.io";
/// The store's tables of roles and bindings.
const TABLES: [(&str, Table); 4] = [
    ("rbac.authorization.k8s.io/clusterroles", Table::Roles),
    ("rbac.authorization.k8s.io/roles", Table::Roles),
    ("rbac.authorization.k8s.io/clusterrolebindings", Table::Bindings),
    ("rbac.authorization.k8s.io/rolebindings", Table::Bindings),
];

/// Decides, if roles are to decide; otherwise everybody may do everything.
#[derive(Debug)]
pub(crate) struct Authorizer {
    enabled: bool,
    compiled: RwLock<Compiled>,
    ledger: Mutex<Ledger>,
}

/// The policy as of some revision.
#[derive(Debug, Default)]
struct Compiled {
    policy: Policy,
    /// The store's revision up to which it was read.
    revision: u64,
}

impl Authorizer {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, compiled: RwLock::default(), ledger: Mutex::default() }
    }

    pub(crate) const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// What the roles say now, without a note of it: what reviews ask.
    pub(crate) fn decide(&self, store: &Store, user: &User, asked: &Attributes<'_>) -> Decision {
        if !self.enabled {
            return Decision::Always;
        }
        self.with_policy(store, |policy| policy.decide(user, asked))
    }

    /// What the roles say now, noted as used or refused.
    pub(crate) fn authorize(
        &self,
        store: &Store,
        user: &User,
        asked: &Attributes<'_>,
    ) -> Result<(), String> {
        let decision = self.decide(store, user, asked);
        self.note(user, asked, &decision);
        match decision {
            Decision::Always | Decision::Granted { .. } => Ok(()),
            Decision::Refused { reason } => Err(reason),
        }
    }

    /// Notes what was decided as used or refused.
    fn note(&self, user: &User, asked: &Attributes<'_>, decision: &Decision) {
        match decision {
            Decision::Always => {}
            Decision::Granted { binding, atom, .. } => {
                self.ledger.lock().used(user, binding, atom.clone());
            }
            Decision::Refused { .. } => self.ledger.lock().refused(user, asked),
        }
    }

    /// Notes that the user needed what it holds to hand it on, each grant once.
    fn note_held(&self, user: &User, needed: &[(Arc<Binding>, Atom)]) {
        let mut noted = BTreeSet::new();
        let mut ledger = self.ledger.lock();
        for (binding, atom) in needed {
            if noted.insert((&binding.namespace, &binding.name, atom)) {
                ledger.used(user, binding, atom.clone());
            }
        }
    }

    fn note_refused(&self, user: &User, asked: &Attributes<'_>) {
        self.ledger.lock().refused(user, asked);
    }

    pub(crate) fn held(&self, store: &Store, user: &User, namespace: &str) -> Vec<Held> {
        self.with_policy(store, |policy| policy.held(user, namespace))
    }

    fn missing(&self, store: &Store, user: &User, namespace: &str) -> Vec<Arc<str>> {
        self.with_policy(store, |policy| policy.missing(user, namespace))
    }

    /// The rules of a role that a binding in this namespace (empty: of the cluster) names.
    fn rules_of(&self, store: &Store, role: &RoleRef, namespace: &str) -> Option<Arc<[Rule]>> {
        self.with_policy(store, |policy| {
            policy.rules(role, namespace).map(|(rules, _)| Arc::clone(rules))
        })
    }

    /// Everything that roles of the user's own grant it, anywhere, with how often it was needed.
    fn grants(&self, core: &Core, user: &User) -> Vec<Grant> {
        if !self.enabled {
            return Vec::new();
        }
        let held = self.with_policy(&core.store, |policy| policy.held_anywhere(user));
        let ledger = self.ledger.lock();
        let mut grants = Vec::new();
        for held in held.iter().filter(|held| !held.default) {
            let atoms = held.rules.iter().flat_map(Rule::atoms);
            grants.extend(
                atoms.map(|atom| Grant::of(held, &atom, ledger.uses(user, &held.binding, &atom))),
            );
        }
        grants.sort();
        grants.dedup();
        grants
    }

    fn refusals(&self, user: Option<&str>) -> Vec<Refusal> {
        self.ledger
            .lock()
            .refusals(user)
            .map(|(refused, times)| Refusal::of(refused, times))
            .collect()
    }

    fn lost(&self) -> Lost {
        self.ledger.lock().lost()
    }

    fn forget(&self) {
        self.ledger.lock().clear();
    }

    /// Shows the policy as the store has it now. What changed since the last time is read, and
    /// nothing else.
    fn with_policy<T>(&self, store: &Store, look: impl FnOnce(&Policy) -> T) -> T {
        let newest = store.revision();
        let compiled = self.compiled.read();
        if compiled.revision >= newest {
            return look(&compiled.policy);
        }
        drop(compiled);
        let mut compiled = self.compiled.write();
        compiled.catch_up(store);
        look(&compiled.policy)
    }
}

impl Compiled {
    fn catch_up(&mut self, store: &Store) {
        let News { anew, changes, revision } =
            store.news(&TABLES.map(|(name, _)| name), self.revision);
        if anew {
            self.policy.clear();
        }
        for (at, object, removed) in changes {
            let Some(&(_, table)) = TABLES.get(at) else { continue };
            let place: Place = (object.key.namespace().into(), object.key.name().into());
            let object = (!removed).then(|| Value::Object(object.object()));
            self.policy.change(table, &place, object.as_ref());
        }
        self.policy.settle();
        self.revision = revision;
    }
}

/// Who really asks, and whether that user may: what stands between authentication and the API.
pub(crate) fn admit(core: &Core, request: Request<Bytes>) -> Result<Request<Bytes>, Status> {
    let mut request = impersonation::apply(core, request)?;
    if core.access.is_enabled() {
        let info = RequestInfo::of(request.method(), request.uri());
        let user = user_of(&mut request);
        let asked = Attributes::of(request.method(), &info);
        core.access
            .authorize(&core.store, &user, &asked)
            .map_err(|reason| forbidden(&user, &asked, &reason))?;
    }
    Ok(request)
}

/// Whether writes to this kind are checked for what they grant.
pub(crate) fn watches(core: &Core, kind: &Kind) -> bool {
    core.access.is_enabled() && kind.group() == GROUP
}

/// The user of a request; the pipeline has put one there.
pub(crate) fn user_of<B>(request: &mut Request<B>) -> User {
    request.extensions_mut().get_or_insert_with(User::anonymous).clone()
}

/// A refusal, in the real server's words.
fn forbidden(user: &User, asked: &Attributes<'_>, reason: &str) -> Status {
    // HTML in a message is made harmless, as in
    // k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
    let said = format!("User {:?} {asked}", user.name());
    let said = said.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let why = if reason.is_empty() { said } else { format!("{said}: {reason}") };
    match asked {
        Attributes::Resource { group, resource, name, .. } => {
            Status::refused(group, resource, name, &why)
        }
        Attributes::Path { .. } => Status::refused("", "", "", &why),
    }
}
