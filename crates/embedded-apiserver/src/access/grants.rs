//! For tests of a manifest: which grants a user has, which of them were needed, and what was
//! refused.

use std::fmt;
use std::sync::Arc;

use crate::access::authorizer::Authorizer;
use crate::access::ledger::Refused;
use crate::access::policy::Held;
use crate::access::rule::{Atom, On, Rule};
use api_front::User;

/// What the server's roles were used for; from
/// [`EmbeddedApiServer::access`](crate::EmbeddedApiServer::access).
///
/// A controller's manifest grants exactly what the controller needs if, after a test in which it
/// did everything it can do, nothing was refused to its account and nothing that its roles grant is
/// unused. A PUT or an apply that creates its object needs the verb `create` beside `update` or
/// `patch`, as on the real server, and is refused without:
///
/// ```
/// # fn check(server: embedded_apiserver::EmbeddedApiServer) {
/// let access = server.access();
/// access.by("system:serviceaccount:prod:controller").assert_nothing_refused().assert_all_used();
/// # }
/// ```
///
/// A cheap handle: clones look at the same server. Without [`Builder::rbac`](crate::Builder::rbac)
/// nothing is refused and nothing counts as used.
#[derive(Debug, Clone)]
#[doc(alias = "audit2rbac")]
pub struct Access {
    authorizer: Arc<Authorizer>,
}

impl Access {
    pub(crate) const fn new(authorizer: Arc<Authorizer>) -> Self {
        Self { authorizer }
    }

    /// One user: of this name, or with the groups that are given.
    #[must_use]
    pub fn by(&self, user: impl Into<User>) -> Account {
        Account { authorizer: Arc::clone(&self.authorizer), user: user.into() }
    }

    /// Everything that was refused to anybody, sorted by user, verb, group, resource, namespace and
    /// name. Each is there once, however often it was refused. See [`not_kept`](Self::not_kept)
    /// for what may be missing.
    #[must_use]
    pub fn refused(&self) -> Vec<Refusal> {
        refusals(&self.authorizer, None)
    }

    /// How many uses and refusals were not kept: 65,536 different ones of either kind are, and what
    /// a client makes up beyond them is only counted here. Where that may matter the assertions
    /// fail, and say so.
    #[must_use]
    pub fn not_kept(&self) -> u64 {
        let lost = self.authorizer.ledger().lost();
        lost.uses.saturating_add(lost.refusals)
    }

    /// Forgets what was used and what was refused up to now.
    pub fn forget(&self) {
        self.authorizer.ledger().clear();
    }
}

/// What one user may do, did, and was refused; from [`Access::by`].
#[derive(Debug, Clone)]
pub struct Account {
    authorizer: Arc<Authorizer>,
    user: User,
}

impl Account {
    /// What its roles grant now, each thing alone. The roles that every cluster has are left out
    /// (`system:discovery` and its like; `view` and `admin`, too).
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

    /// Those of its grants that a request needed, be it to do something or to grant it to others.
    /// Where several allow the same, the first one counts: a binding of the cluster before one
    /// of a namespace, then by name.
    #[must_use]
    pub fn used(&self) -> Vec<Grant> {
        self.grants().into_iter().filter(|grant| grant.uses > 0).collect()
    }

    /// Those of its grants that no request needed. All of them together can go, and every request
    /// that was seen is still allowed.
    #[must_use]
    pub fn unused(&self) -> Vec<Grant> {
        self.grants().into_iter().filter(|grant| grant.uses == 0).collect()
    }

    /// What was refused to it, sorted as [`Access::refused`].
    #[must_use]
    pub fn refused(&self) -> Vec<Refusal> {
        refusals(&self.authorizer, Some(self.user.name()))
    }

    /// Asserts that it was never refused anything.
    ///
    /// # Panics
    ///
    /// If it was; the message lists what. If it may have been, as refusals [were not
    /// kept](Access::not_kept).
    #[track_caller]
    pub fn assert_nothing_refused(&self) -> &Self {
        let (name, refused) = (self.user.name(), self.refused());
        let lost = self.authorizer.ledger().lost().refusals;
        assert!(refused.is_empty(), "{name} was refused:{}{}", listed(&refused), doubt(lost));
        assert!(lost == 0, "{name} may have been refused something{}", doubt(lost));
        self
    }

    /// Asserts that it needed all of its grants, and that it has some.
    ///
    /// # Panics
    ///
    /// If it did not, or has none; the message lists what it did not need.
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

/// What has to be said where notes were not kept.
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

/// One verb on one resource (or path) that a role grants to a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Grant {
    /// As in the rule: `get`, `*`.
    pub verb: String,
    /// As in the rule's `apiGroups`: empty for core, `*` for all.
    pub group: String,
    /// As in the rule: `pods`, `pods/status`, `*`; empty if it is about a path.
    pub resource: String,
    /// Of `resourceNames`; nothing for all.
    pub name: Option<String>,
    /// Of `nonResourceURLs`; empty if it is about a resource.
    pub path: String,
    /// Where it holds; nothing for everywhere.
    pub namespace: Option<String>,
    /// `Role` or `ClusterRole`.
    pub role_kind: String,
    /// The role's name.
    pub role: String,
    /// The name of the binding.
    pub binding: String,
    /// How many requests of the user needed it.
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

/// Something that was refused with 403.
///
/// Who may write roles and bindings, but not grant what they say, is refused the verb that would
/// have lifted that: `escalate` of the role, or `bind` of the role that is bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Refusal {
    /// Who asked.
    pub user: String,
    /// To do what.
    pub verb: String,
    /// API group; empty for core.
    pub group: String,
    /// Resource, with the subresource; empty if it is about a path.
    pub resource: String,
    /// Nothing: in all namespaces, or at cluster scope.
    pub namespace: Option<String>,
    /// The object's name, if the request had one.
    pub name: Option<String>,
    /// The path, if it is none of a resource.
    pub path: String,
    /// How many requests.
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
    // `leases.coordination.k8s.io/status`: the group stands by the resource.
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
