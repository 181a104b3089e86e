//! Prevents privilege escalation: a user may only grant rights that it has. Follows the
//! `policybased` storages of k8s.io/kubernetes/pkg/registry/rbac.

use std::sync::Arc;

use api_front::User;
use serde_json::{Map, Value};

use crate::access::attributes::Attributes;
use crate::access::authorizer::{Authorizer, GROUP};
use crate::access::policy::{Binding, RoleRef, role_ref_of, rules_of};
use crate::access::rule::{Atom, On, Rule, compact};
use crate::api::status::Status;
use crate::strategy::resource::ServedResource;

/// A write of a role or a binding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoleWrite<'a> {
    pub(crate) kind: &'a ServedResource,
    /// Empty in cluster scope.
    pub(crate) namespace: &'a str,
    /// The name in the path. Empty for a create.
    pub(crate) name: &'a str,
    pub(crate) old: Option<&'a Map<String, Value>>,
    pub(crate) new: &'a Map<String, Value>,
}

/// Refuses a write that grants more rights than the user has.
pub(crate) fn check_escalation(
    access: &Authorizer,
    user: &User,
    write: &RoleWrite<'_>,
) -> Result<(), Status> {
    if !access.is_enabled() || write.kind.group() != GROUP || user.is_in(User::MASTERS) {
        return Ok(());
    }
    let is_role = matches!(write.kind.plural(), "roles" | "clusterroles");
    // A refusal is recorded as a refusal of `escalate`, which would lift the check.
    let mut unlifted = write.asking("escalate", write.kind.plural(), write.name);
    if is_role && is_allowed(access, user, &unlifted) {
        return Ok(());
    }
    if write.old.is_some_and(|old| only_collector_fields(old, write.new)) {
        return Ok(());
    }
    let new = Value::Object(write.new.clone());
    let rules = if is_role {
        rules_of(&new)
    } else {
        // Validation refuses a binding without a role.
        let Some(role) = role_ref_of(&new) else { return Ok(()) };
        let plural = if &*role.kind == "Role" { "roles" } else { "clusterroles" };
        unlifted = write.asking("bind", plural, &role.name).into_owned();
        if is_allowed(access, user, &unlifted) {
            return Ok(());
        }
        write.rules_granted(access, &role)?
    };
    let atoms: Vec<Atom> = rules.iter().flat_map(Rule::atoms).collect();
    let mut needed = write.confirm(access, user, &atoms, &unlifted)?;
    let aggregates = |object: &Map<String, Value>| {
        let selectors =
            object.get("aggregationRule").and_then(|rule| rule.get("clusterRoleSelectors"));
        selectors.and_then(Value::as_array).is_some_and(|selectors| !selectors.is_empty())
    };
    if is_role && (aggregates(write.new) || write.old.is_some_and(aggregates)) {
        let why = "must have cluster-admin privileges to use the aggregationRule";
        let refused = Status::refused(GROUP, write.kind.plural(), write.object_name(), why);
        let whole =
            write.confirm(access, user, &full_authority(), &unlifted).map_err(|_| refused)?;
        needed.extend(whole);
    }
    access.note_held(user, &needed);
    Ok(())
}

fn full_authority() -> [Atom; 2] {
    let on = On::Resource { group: "*".into(), resource: "*".into(), name: None };
    [Atom { verb: "*".into(), on }, Atom { verb: "*".into(), on: On::Path("*".into()) }]
}

fn is_allowed(access: &Authorizer, user: &User, asked: &Attributes<'_>) -> bool {
    // A missing right is recorded as refused only if the request needed it.
    access.decide(user, asked).is_allowed() && access.authorize(user, asked).is_ok()
}

impl RoleWrite<'_> {
    fn object_name(&self) -> &str {
        let name = self.new.get("metadata").and_then(|metadata| metadata.get("name"));
        name.and_then(Value::as_str).unwrap_or_default()
    }

    fn asking<'a>(&'a self, verb: &'a str, plural: &'a str, name: &'a str) -> Attributes<'a> {
        Attributes::Resource {
            verb: verb.into(),
            group: GROUP.into(),
            resource: plural.into(),
            subresource: "".into(),
            namespace: self.namespace.into(),
            name: name.into(),
        }
    }

    fn rules_granted(&self, access: &Authorizer, role: &RoleRef) -> Result<Vec<Rule>, Status> {
        match access.rules_of(role, self.namespace) {
            Some(rules) => Ok(rules.to_vec()),
            // As upstream, the error names the kind of the written object.
            None => Err(Status::missing(GROUP, self.kind.plural(), &role.name)),
        }
    }

    /// `ConfirmNoEscalation`. Returns the user's grants that cover the granted rights. If there are
    /// none, it records the refusal of `unlifted`.
    fn confirm(
        &self,
        access: &Authorizer,
        user: &User,
        atoms: &[Atom],
        unlifted: &Attributes<'_>,
    ) -> Result<Vec<(Arc<Binding>, Atom)>, Status> {
        let held = access.held(user, self.namespace);
        let (mut needed, mut missing) = (Vec::new(), Vec::new());
        for atom in atoms {
            let covering = held.iter().find_map(|held| {
                let own = held.rules.iter().find_map(|rule| rule.covering(atom))?;
                Some((Arc::clone(&held.binding), own))
            });
            match covering {
                Some(covering) => needed.push(covering),
                None => missing.push(atom.clone()),
            }
        }
        if missing.is_empty() {
            return Ok(needed);
        }
        access.note_refused(user, unlifted);
        let groups: Vec<_> = user.groups().iter().map(|group| format!("{group:?}")).collect();
        let plural = self.kind.plural();
        let unresolved = access.missing(user, self.namespace);
        let unresolved: Vec<_> =
            unresolved.iter().map(|role| format!("{plural}.{GROUP} {role:?} not found")).collect();
        let unresolved = match &*unresolved {
            [] => String::new(),
            [one] => format!("; resolution errors: [{one}]"),
            several => format!("; resolution errors: [[{}]]", several.join(", ")),
        };
        let why = format!(
            "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}{unresolved}",
            user.name(),
            groups.join(" "),
            compact(&missing).join("\n")
        );
        Err(Status::refused(GROUP, self.kind.plural(), self.object_name(), &why))
    }
}

/// Whether only owners and finalizers change. The garbage collector may write them.
fn only_collector_fields(old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    let rest = |object: &Map<String, Value>| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for member in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
                metadata.remove(member);
            }
        }
        object
    };
    rest(old) == rest(new)
}
