//! Permissions: every verb that the program uses, as data, and what is known of each. The roles in
//! `deploy/` grant exactly this list. What is known is kept by `ledger`, refused requests are
//! noticed by `refusals`, the server is asked by `review`, and `keeper` says what is missing.

mod keeper;
mod ledger;
mod refusals;
mod review;

use std::fmt;

pub(crate) use self::keeper::Mended;
pub use self::keeper::Permissions;
pub use self::refusals::{NoticeRefusals, NoticeRefusalsLayer};

use crate::names::{CLUSTER_ROLE_FILE, ROLE_FILE};

/// Where a permission is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// For objects without a namespace: by a ClusterRole.
    Cluster,
    /// In every namespace that claims may be in, and in `default`: by a ClusterRole.
    AnyNamespace,
    /// For the one Lease, in its namespace: by a Role. (`create` cannot be limited to a name.)
    Lease,
}

/// One verb on one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permission {
    /// As in a role's `verbs`.
    pub verb: &'static str,
    /// As in a role's `apiGroups`; empty for the core group.
    pub group: &'static str,
    /// As in a role's `resources`. The program uses no subresource.
    pub resource: &'static str,
    /// Where it is needed.
    pub scope: Scope,
    /// What does not work without it.
    pub used_to: &'static str,
}

const fn permission(
    scope: Scope,
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
    used_to: &'static str,
) -> Permission {
    Permission { verb, group, resource, scope, used_to }
}

const CLAIMS: (Scope, &str, &str) = (Scope::AnyNamespace, "", "persistentvolumeclaims");
const VOLUMES: (Scope, &str, &str) = (Scope::Cluster, "", "persistentvolumes");
const CLASSES: (Scope, &str, &str) = (Scope::Cluster, "storage.k8s.io", "storageclasses");
const EVENTS: (Scope, &str, &str) = (Scope::AnyNamespace, "events.k8s.io", "events");
const LEASES: (Scope, &str, &str) = (Scope::Lease, "coordination.k8s.io", "leases");

const fn of(
    (scope, group, resource): (Scope, &'static str, &'static str),
    verb: &'static str,
    used_to: &'static str,
) -> Permission {
    permission(scope, group, resource, verb, used_to)
}

/// Everything that the program asks of the API server.
///
/// Besides these it reads `/version` and asks for its own permissions (`selfsubjectaccessreviews`),
/// both of which Kubernetes allows every account by its default roles `system:public-info-viewer`
/// and `system:basic-user`; it does without where they were taken away.
pub const PERMISSIONS: [Permission; 19] = [
    of(CLAIMS, "get", "ask whether a claim is really gone before its directory is taken back"),
    of(CLAIMS, "list", "know the claims"),
    of(CLAIMS, "watch", "hear of new and deleted claims"),
    of(CLAIMS, "patch", "say on a claim why it waits"),
    of(VOLUMES, "get", "look at a volume before its directory is taken back"),
    of(VOLUMES, "list", "know the volumes"),
    of(VOLUMES, "watch", "hear of released volumes"),
    of(VOLUMES, "create", "give claims their volumes"),
    of(VOLUMES, "patch", "put the finalizer on volumes and take it off"),
    of(VOLUMES, "delete", "take volumes back"),
    of(CLASSES, "get", "check the class at the start"),
    of(CLASSES, "list", "know the class"),
    of(CLASSES, "watch", "hear of changes to the class"),
    of(EVENTS, "create", "tell Events"),
    of(EVENTS, "patch", "count Events that are repeated"),
    of(LEASES, "get", "campaign for the lease"),
    of(LEASES, "create", "make the lease when there is none"),
    of(LEASES, "update", "take, renew and give back the lease"),
    of(LEASES, "watch", "take over at once when the lease is given back"),
];

impl Permission {
    /// What a request needs, if it is one of [`PERMISSIONS`]: its place in that list.
    ///
    /// `path` and `query` as in the request's URL. Follows the API server's own reading of a
    /// request, for the requests that this program sends.
    #[must_use]
    pub fn of_request(method: &str, path: &str, query: Option<&str>) -> Option<usize> {
        let mut parts =
            path.split('/').filter(|part| !part.is_empty()).skip_while(|part| !is_api(part));
        let group = match parts.next()? {
            "api" => "",
            _ => parts.next()?,
        };
        let _version = parts.next()?;
        let mut resource = parts.next()?;
        if resource == "namespaces" {
            let _namespace = parts.next()?;
            resource = parts.next()?;
        }
        let named = parts.next().is_some();
        if parts.next().is_some() {
            return None;
        }
        let watched = query
            .unwrap_or_default()
            .split('&')
            .any(|part| matches!(part, "watch" | "watch=true" | "watch=1" | "watch=True"));
        let verb = match (method, named) {
            ("GET", _) if watched => "watch",
            ("GET", true) => "get",
            ("GET", false) => "list",
            ("POST", false) => "create",
            ("PUT", true) => "update",
            ("PATCH", true) => "patch",
            ("DELETE", true) => "delete",
            _ => return None,
        };
        PERMISSIONS.iter().position(|permission| {
            (permission.verb, permission.group, permission.resource) == (verb, group, resource)
        })
    }

    /// The role that is to grant it, and what is missing until then.
    pub(crate) fn remedy(&self) -> String {
        let Self { verb, used_to, .. } = self;
        let (role, file) = match self.scope {
            Scope::Lease => ("Role", ROLE_FILE),
            _ => ("ClusterRole", CLUSTER_ROLE_FILE),
        };
        let other = match self.scope {
            Scope::Lease => ", or name another namespace with --lease-namespace",
            _ => "",
        };
        format!(
            "add the verb to the {role} of this account, as deploy/{file} does{other}; without {verb} it cannot {used_to}"
        )
    }
}

/// Whether API paths begin here; what stands before it is the path of a proxy.
fn is_api(part: &str) -> bool {
    matches!(part, "api" | "apis")
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, group, resource, .. } = self;
        let group = if group.is_empty() { "core" } else { group };
        write!(f, "{verb} {resource} (API group {group})")
    }
}

#[cfg(test)]
mod tests;
