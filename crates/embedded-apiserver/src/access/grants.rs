//! The report of used grants and refusals, for tests of a manifest.

use std::fmt;
use std::sync::Arc;

use crate::access::authorizer::Authorizer;
use crate::access::ledger::Refused;
use crate::access::policy::Held;
use crate::access::rule::{Atom, On, Rule};
use api_front::User;

/// The use of the server's roles. From
/// [`EmbeddedApiServer::access`](crate::EmbeddedApiServer::access).
///
/// Run a test in which the controller does everything it can do. Its manifest is exact if nothing
/// was refused and every grant was used. As on a real API server, a PUT or an apply that creates
/// its object needs `create` beside `update` or `patch`.
///
/// ```
/// # fn check(server: embedded_apiserver::EmbeddedApiServer) {
/// let access = server.access();
/// access.by("system:serviceaccount:prod:controller").assert_nothing_refused().assert_all_used();
/// # }
/// ```
///
/// A cheap handle: clones share the server. Without [`Builder::rbac`](crate::Builder::rbac) it
/// records nothing.
#[derive(Debug, Clone)]
#[doc(alias = "audit2rbac")]
pub struct Access {
    authorizer: Arc<Authorizer>,
}

impl Access {
    pub(crate) const fn new(authorizer: Arc<Authorizer>) -> Self {
        Self { authorizer }
    }

    /// A user, by its name or with its groups.
    #[must_use]
    pub fn by(&self, user: impl Into<User>) -> Account {
        Account { authorizer: Arc::clone(&self.authorizer), user: user.into() }
    }

    /// All refusals, sorted by user, verb, group, resource, namespace and name. Repeated ones are
    /// counted in [`Refusal::times`]. See [`not_kept`](Self::not_kept) for the limit.
    #[must_use]
    pub fn refused(&self) -> Vec<Refusal> {
        refusals(&self.authorizer, None)
    }

    /// The number of uses and refusals beyond the limit of 65,536 different ones each. If it is not
    /// zero, the assertions may fail for it.
    #[must_use]
    pub fn not_kept(&self) -> u64 {
        let lost = self.authorizer.ledger().lost();
        lost.uses.saturating_add(lost.refusals)
    }

    /// Forgets all uses and refusals.
    pub fn forget(&self) {
        self.authorizer.ledger().clear();
    }
}

/// The grants, uses and refusals of one user. From [`Access::by`].
#[derive(Debug, Clone)]
pub struct Account {
    authorizer: Arc<Authorizer>,
    user: User,
}

impl Account {
    /// Its current grants, one verb on one resource each. Without the default roles of every
    /// cluster, such as `system:discovery`, `view` and `admin`.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant> {
        if !self.authorizer.is_enabled() {
            return Vec::new();
        }
        let user = &self.user;
        let held = self.authorizer.with_policy(|policy| policy.held_anywhere(user));
        let ledger = self.authorizer.ledger();
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

    /// The grants that a request needed, to do something or to grant it. If several allow the same,
    /// the first one counts: cluster bindings first, then by name.
    #[must_use]
    pub fn used(&self) -> Vec<Grant> {
        self.grants().into_iter().filter(|grant| grant.uses > 0).collect()
    }

    /// The grants that no request needed. Without all of them, every recorded request is still
    /// allowed.
    #[must_use]
    pub fn unused(&self) -> Vec<Grant> {
        self.grants().into_iter().filter(|grant| grant.uses == 0).collect()
    }

    /// Its refusals, sorted as in [`Access::refused`].
    #[must_use]
    pub fn refused(&self) -> Vec<Refusal> {
        refusals(&self.authorizer, Some(self.user.name()))
    }

    /// Asserts that nothing was refused.
    ///
    /// # Panics
    ///
    /// If something was refused; the message lists it. If refusals [were not
    /// kept](Access::not_kept).
    #[track_caller]
    pub fn assert_nothing_refused(&self) -> &Self {
        let (name, refused) = (self.user.name(), self.refused());
        let lost = self.authorizer.ledger().lost().refusals;
        assert!(refused.is_empty(), "{name} was refused:{}{}", listed(&refused), doubt(lost));
        assert!(lost == 0, "{name} may have been refused something{}", doubt(lost));
        self
    }

    /// Asserts that it has grants, and that every one was used.
    ///
    /// # Panics
    ///
    /// If it has none, or some were not used; the message lists them.
    #[track_caller]
    pub fn assert_all_used(&self) -> &Self {
        let name = self.user.name();
        assert!(!self.grants().is_empty(), "no role is bound to {name}");
        let unused = self.unused();
        let lost = self.authorizer.ledger().lost().uses;
        assert!(unused.is_empty(), "{name} did not need:{}{}", listed(&unused), doubt(lost));
        self
    }
}

/// The warning about records beyond the limit.
fn doubt(lost: u64) -> String {
    match lost {
        0 => String::new(),
        _ => format!(
            "\n({lost} notes, of this or of other users, were not kept: too many different ones)"
        ),
    }
}

fn listed<T: fmt::Display>(all: &[T]) -> String {
    all.iter().map(|one| format!("\n  {one}")).collect()
}

fn refusals(authorizer: &Authorizer, user: Option<&str>) -> Vec<Refusal> {
    let ledger = authorizer.ledger();
    ledger.refusals(user).map(|(refused, times)| Refusal::of(refused, times)).collect()
}

/// One verb on one resource or path that a role grants to a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Grant {
    /// As in the rule: `get`, `*`.
    pub verb: String,
    /// As in the rule's `apiGroups`: empty for core, `*` for all.
    pub group: String,
    /// As in the rule: `pods`, `pods/status`, `*`. Empty for a path.
    pub resource: String,
    /// One of `resourceNames`. `None` for all names.
    pub name: Option<String>,
    /// One of `nonResourceURLs`. Empty for a resource.
    pub path: String,
    /// The namespace of the grant. `None` for all.
    pub namespace: Option<String>,
    /// `Role` or `ClusterRole`.
    pub role_kind: String,
    /// The role's name.
    pub role: String,
    /// The name of the binding.
    pub binding: String,
    /// The number of requests that needed it.
    pub uses: u64,
}

/// `patch events.events.k8s.io (ClusterRole "controller")`.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.verb)?;
        what(f, &self.resource, &self.group, self.name.as_deref().unwrap_or_default(), &self.path)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace:?}")?;
        }
        write!(f, " ({} {:?})", self.role_kind, self.role)
    }
}

/// A request that was refused with 403.
///
/// An escalating write of a role or binding is recorded as a refusal of `escalate` on the role, or
/// `bind` on the bound role.
/// have lifted that: `escalate` of the role, or `bind` of the role that is bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Refusal {
    /// The user.
    pub user: String,
    /// The verb.
    pub verb: String,
    /// API group; empty for core.
    pub group: String,
    /// The resource with its subresource. Empty for a path.
    pub resource: String,
    /// `None`: all namespaces, or cluster scope.
    pub namespace: Option<String>,
    /// The object's name, if the request had one.
    pub name: Option<String>,
    /// The path. Empty for a resource.
    pub path: String,
    /// The number of such requests.
    pub times: u64,
}

/// `alice: update leases.coordination.k8s.io "x" in namespace "n"`.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ", self.user, self.verb)?;
        what(f, &self.resource, &self.group, self.name.as_deref().unwrap_or_default(), &self.path)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace:?}")?;
        }
        Ok(())
    }
}

fn what(
    f: &mut fmt::Formatter<'_>,
    resource: &str,
    group: &str,
    name: &str,
    path: &str,
) -> fmt::Result {
    if !path.is_empty() {
        return f.write_str(path);
    }
    // `leases.coordination.k8s.io/status`: the group follows the resource.
    let (of, part) = resource.split_once('/').unwrap_or((resource, ""));
    let (dot, slash) =
        (if group.is_empty() { "" } else { "." }, if part.is_empty() { "" } else { "/" });
    write!(f, "{of}{dot}{group}{slash}{part}")?;
    if name.is_empty() { Ok(()) } else { write!(f, " {name:?}") }
}

impl Refusal {
    pub(super) fn of(refused: &Refused, times: u64) -> Self {
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        Self {
            user: refused.user.to_string(),
            verb: refused.verb.clone(),
            group: refused.group.clone(),
            resource: refused.resource.clone(),
            namespace: some(&refused.namespace),
            name: some(&refused.name),
            path: refused.path.clone(),
            times,
        }
    }
}

impl Grant {
    pub(super) fn of(held: &Held, atom: &Atom, uses: u64) -> Self {
        let (group, resource, name, path) = match &atom.on {
            On::Resource { group, resource, name } => (&**group, &**resource, name.as_deref(), ""),
            On::Path(path) => ("", "", None, &**path),
        };
        let binding = &held.binding;
        Self {
            verb: atom.verb.to_string(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: name.map(str::to_owned),
            path: path.to_owned(),
            namespace: (!binding.namespace.is_empty()).then(|| binding.namespace.to_string()),
            role_kind: binding.role.kind.to_string(),
            role: binding.role.name.to_string(),
            binding: binding.name.to_string(),
            uses,
        }
    }
}
