//! RoleBindings and ClusterRoleBindings: the role and the subjects of each.

use std::fmt;
use std::sync::Arc;

use api_front::User;
use k8s_openapi::api::rbac::v1::Subject;
use serde::Deserialize;
use serde_json::Value;

/// The namespace and the name of a role or a binding. The namespace is empty in cluster scope.
pub(crate) type Place = (Arc<str>, Arc<str>);

/// A RoleBinding or ClusterRoleBinding.
#[derive(Debug)]
pub(crate) struct Binding {
    /// Empty for a ClusterRoleBinding.
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) role: RoleRef,
    subjects: Vec<BoundSubject>,
}

/// Which role a binding grants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RoleRef {
    /// `Role`, `ClusterRole`.
    pub(crate) kind: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// One subject of a binding.
#[derive(Debug)]
struct BoundSubject {
    kind: String,
    name: String,
    namespace: String,
    /// `None` for a kind of subject that RBAC does not know.
    principal: Option<Principal>,
}

/// The user or group of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Principal {
    User(Arc<str>),
    Group(Arc<str>),
}

/// The role that a binding's object names.
pub(crate) fn role_ref_of(binding: &Value) -> Option<RoleRef> {
    let text = |path: &str| binding.pointer(path).and_then(Value::as_str);
    Some(RoleRef { kind: text("/roleRef/kind")?.into(), name: text("/roleRef/name")?.into() })
}

impl BoundSubject {
    fn of(subject: Subject, binding_namespace: &str) -> Self {
        let Subject { kind, name, namespace, .. } = subject;
        let namespace = namespace
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| binding_namespace.to_owned());
        let principal = match kind.as_str() {
            "User" => Some(Principal::User(name.as_str().into())),
            "Group" => Some(Principal::Group(name.as_str().into())),
            "ServiceAccount" if !namespace.is_empty() => {
                let user = User::service_account(&namespace, &name);
                Some(Principal::User(Arc::clone(user.shared_name())))
            }
            _ => None,
        };
        Self { kind, name, namespace, principal }
    }

    fn is(&self, user: &User) -> bool {
        match &self.principal {
            Some(Principal::User(name)) => **name == *user.name(),
            Some(Principal::Group(name)) => user.is_in(name),
            None => false,
        }
    }
}

impl Binding {
    /// Reads a RoleBinding or ClusterRoleBinding. `None` for an object that is neither.
    pub(super) fn read((namespace, name): &Place, object: &Value) -> Option<Self> {
        let role = role_ref_of(object)?;
        let subjects = object.get("subjects").cloned().unwrap_or_default();
        let subjects = Option::<Vec<Subject>>::deserialize(subjects).ok()?.unwrap_or_default();
        let subjects =
            subjects.into_iter().map(|subject| BoundSubject::of(subject, namespace)).collect();
        Some(Self { namespace: Arc::clone(namespace), name: Arc::clone(name), role, subjects })
    }

    pub(super) fn principals(&self) -> impl Iterator<Item = &Principal> {
        self.subjects.iter().filter_map(|subject| subject.principal.as_ref())
    }

    /// `ClusterRoleBinding "b" of ClusterRole "r" to User "u"`, in the words of upstream.
    pub(super) fn described_for(&self, user: &User) -> impl fmt::Display + use<> {
        let kind = if self.namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
        // Upstream puts the name before the namespace.
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let subject = match self.subjects.iter().find(|subject| subject.is(user)) {
            Some(BoundSubject { kind, name, namespace, .. }) if kind == "ServiceAccount" => {
                format!("{kind} \"{name}/{namespace}\"")
            }
            Some(BoundSubject { kind, name, .. }) => format!("{kind} {name:?}"),
            None => String::new(),
        };
        let RoleRef { kind: role_kind, name: role } = &self.role;
        format!(
            "{kind} \"{}{slash}{}\" of {role_kind} {role:?} to {subject}",
            self.name, self.namespace
        )
    }
}

impl RoleRef {
    pub(super) fn not_found(&self) -> String {
        let Self { kind, name } = self;
        match &**kind {
            "Role" | "ClusterRole" => {
                format!("{}.rbac.authorization.k8s.io {name:?} not found", kind.to_lowercase())
            }
            _ => format!("unsupported role reference kind: {kind:?}"),
        }
    }
}
