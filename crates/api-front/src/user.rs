//! The user of a request: a name and its groups, as Kubernetes' authorizers know them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

const ANONYMOUS: &str = "system:anonymous";
const ADMIN: &str = "system:admin";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// A user: the name in the request log and for fault plans, and the groups that roles may be bound
/// to.
///
/// Every user but `system:anonymous` is in `system:authenticated`, and
/// `system:serviceaccount:NAMESPACE:NAME` also in the groups of service accounts. A `&str` is a
/// user of that name. Clones share their data.
///
/// ```
/// use api_front::User;
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
    /// The group whose members may do everything, whatever the roles say.
    pub const MASTERS: &str = "system:masters";

    /// A user with the groups that its name gives it.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        let mut groups = Vec::new();
        if *name == *ANONYMOUS {
            groups.push(UNAUTHENTICATED.to_owned());
        } else {
            if let Some((namespace, _)) = Self::split_service_account(&name) {
                groups.push(SERVICE_ACCOUNTS.to_owned());
                groups.push(format!("{SERVICE_ACCOUNTS}:{namespace}"));
            }
            groups.push(AUTHENTICATED.to_owned());
        }
        Self(Arc::new(Identity { name, uid: String::new(), groups, extra: BTreeMap::new() }))
    }

    /// The user of a ServiceAccount.
    #[must_use]
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self::new(format!("{SERVICE_ACCOUNT}{namespace}:{name}"))
    }

    /// Namespace and name of a service account, if this is the name of such a user.
    #[must_use]
    #[doc(alias = "SplitUsername")]
    pub fn split_service_account(user: &str) -> Option<(&str, &str)> {
        let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
        let is_named = k8s_value::names::wrong_label(namespace).is_none()
            && k8s_value::names::wrong_subdomain(name).is_none();
        is_named.then_some((namespace, name))
    }

    /// `system:admin`, which may do everything by the group `system:masters`: the user of clients
    /// in this process that have no name.
    #[must_use]
    pub fn admin() -> Self {
        Self::new(ADMIN).group(Self::MASTERS)
    }

    /// `system:anonymous`, the user of requests without credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS)
    }

    /// A user with exactly these groups, as an impersonation names them.
    #[must_use]
    pub fn with_groups(name: &str, groups: Vec<String>) -> Self {
        Self(Arc::new(Identity {
            name: name.into(),
            uid: String::new(),
            groups,
            extra: BTreeMap::new(),
        }))
    }

    /// The same user in one more group. Members of `system:masters` may do everything.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        let group = group.into();
        if !self.is_in(&group) {
            // What the name brings comes last, as in the answers of the real server.
            let brought = if Self::split_service_account(&self.0.name).is_some() { 3 } else { 1 };
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

    /// The name, shared.
    #[must_use]
    pub fn shared_name(&self) -> &Arc<str> {
        &self.0.name
    }

    /// The id; empty if it has none.
    #[must_use]
    pub fn get_uid(&self) -> &str {
        &self.0.uid
    }

    /// The further properties.
    #[must_use]
    pub fn get_extra(&self) -> &BTreeMap<String, Vec<String>> {
        &self.0.extra
    }

    /// Whether the user is in a group.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
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
