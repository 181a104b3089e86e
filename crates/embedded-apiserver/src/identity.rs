//! Who sends a request: a name and its groups, as Kubernetes' authorizers know a user.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Who asks when nobody says so, as in Kubernetes.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The group whose members may do everything, whatever the roles say.
pub(crate) const MASTERS: &str = "system:masters";
/// The user of clients in this process that were given no name.
pub(crate) const ADMIN: &str = "system:admin";

const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// A user: the name in the request log and for fault plans, and the groups that roles may be bound
/// to.
///
/// Every user but `system:anonymous` is in `system:authenticated`, and
/// `system:serviceaccount:NAMESPACE:NAME` also in the groups of service accounts, without that
/// being said. A `&str` is a user of that name. Clones share their data.
///
/// ```
/// use embedded_apiserver::User;
///
/// let alice = User::new("alice").group("dev");
/// assert_eq!(alice.groups(), ["dev", "system:authenticated"]);
/// let account = User::service_account("ns", "controller");
/// assert_eq!(account.name(), "system:serviceaccount:ns:controller");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "user.Info")]
pub struct User(Arc<Identity>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Identity {
    name: Arc<str>,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with the groups that its name gives it.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        let mut groups = Vec::new();
        if *name == *ANONYMOUS {
            groups.push(UNAUTHENTICATED.to_owned());
        } else {
            if let Some((namespace, _)) = service_account(&name) {
                groups.push(SERVICE_ACCOUNTS.to_owned());
                groups.push(format!("{SERVICE_ACCOUNTS}:{namespace}"));
            }
            groups.push(AUTHENTICATED.to_owned());
        }
        Self(Arc::new(Identity { name, uid: String::new(), groups, extra: BTreeMap::new() }))
    }

    /// The user that a ServiceAccount is.
    #[must_use]
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self::new(service_account_name(namespace, name))
    }

    /// Who may do everything, by the group `system:masters`: clients in this process that were
    /// given no name.
    #[must_use]
    pub fn admin() -> Self {
        Self::new(ADMIN).group(MASTERS)
    }

    pub(crate) fn anonymous() -> Self {
        Self::new(ANONYMOUS)
    }

    /// Exactly these groups: what an impersonation says.
    pub(crate) fn with_groups(name: &str, groups: Vec<String>) -> Self {
        Self(Arc::new(Identity {
            name: name.into(),
            uid: String::new(),
            groups,
            extra: BTreeMap::new(),
        }))
    }

    /// The same user, who is in one more group. Members of `system:masters` may do everything.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        let group = group.into();
        if !self.is_in(&group) {
            // What the name brings comes last, as in the answers of the real server.
            let brought = if service_account(&self.0.name).is_some() { 3 } else { 1 };
            let groups = &mut Arc::make_mut(&mut self.0).groups;
            groups.insert(groups.len().saturating_sub(brought), group);
        }
        self
    }

    /// The same user with an id that tells users of one name apart; only reviews show it.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).uid = uid.into();
        self
    }

    /// The same user with one more value of a further property; only reviews show it.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).extra.entry(key.into()).or_default().push(value.into());
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The groups, those included that the name brings.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        &self.0.groups
    }

    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.0.name
    }

    pub(crate) fn get_uid(&self) -> &str {
        &self.0.uid
    }

    pub(crate) fn get_extra(&self) -> &BTreeMap<String, Vec<String>> {
        &self.0.extra
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.0.groups.iter().any(|of| of == group)
    }
}

/// Name and groups.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("name", &self.0.name)
            .field("groups", &self.0.groups)
            .finish_non_exhaustive()
    }
}

impl From<&str> for User {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for User {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl From<&String> for User {
    fn from(name: &String) -> Self {
        Self::new(name.as_str())
    }
}

impl From<&Self> for User {
    fn from(user: &Self) -> Self {
        user.clone()
    }
}

pub(crate) fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT}{namespace}:{name}")
}

/// Namespace and name of a service account's user, as `SplitUsername` of k8s.io/apiserver reads
/// them.
pub(crate) fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    let named = k8s_value::names::wrong_label(namespace).is_none()
        && k8s_value::names::wrong_subdomain(name).is_none();
    named.then_some((namespace, name))
}

/// The groups of somebody who acts as `name` (`WithImpersonation` of k8s.io/apiserver): those that
/// were asked for, or those of a service account if none were, and in any case the one that says
/// whether they are known.
pub(crate) fn impersonated_groups(name: &str, asked: Vec<String>) -> Vec<String> {
    let mut groups = asked;
    if groups.is_empty()
        && let Some((namespace, _)) = service_account(name)
    {
        groups.push(SERVICE_ACCOUNTS.to_owned());
        groups.push(format!("{SERVICE_ACCOUNTS}:{namespace}"));
    }
    let says = |groups: &[String], group: &str| groups.iter().any(|said| said == group);
    if name == ANONYMOUS {
        if !says(&groups, UNAUTHENTICATED) {
            groups.push(UNAUTHENTICATED.to_owned());
        }
    } else if !says(&groups, AUTHENTICATED) && !says(&groups, UNAUTHENTICATED) {
        groups.push(AUTHENTICATED.to_owned());
    }
    groups
}
