//! Decisions while roles and bindings change.

use api_front::User;
use serde_json::{Value, json};

use super::{Place, Policy, Table};
use crate::access::attributes::Attributes;

fn place(namespace: &str, name: &str) -> Place {
    (namespace.into(), name.into())
}

fn get(resource: &'static str, namespace: &'static str) -> Attributes<'static> {
    Attributes::Resource {
        verb: "get".into(),
        group: "".into(),
        resource: resource.into(),
        subresource: "".into(),
        namespace: namespace.into(),
        name: "x".into(),
    }
}

fn role(resources: &[&str]) -> Value {
    json!({ "metadata": {}, "rules": [{ "apiGroups": [""], "resources": resources, "verbs": ["get"] }] })
}

fn binding(kind: &str, role: &str, subjects: Value) -> Value {
    json!({ "metadata": {}, "roleRef": { "kind": kind, "name": role }, "subjects": subjects })
}

fn bob() -> Value {
    json!([{ "kind": "User", "name": "bob" }])
}

impl Policy {
    fn put(&mut self, table: Table, namespace: &str, name: &str, object: Value) {
        self.change(table, &place(namespace, name), Some(&object));
        self.aggregate();
    }

    fn says(&self, user: &str, asked: &Attributes<'_>) -> (bool, String) {
        let decision = self.decide(&User::new(user), asked);
        (decision.is_allowed(), decision.reason().to_owned())
    }
}

#[test]
fn a_cluster_role_binding_holds_everywhere_and_a_role_binding_in_its_namespace() {
    let mut policy = Policy::default();
    policy.put(Table::Roles, "", "reader", role(&["pods"]));
    policy.put(Table::Bindings, "n", "b", binding("ClusterRole", "reader", bob()));
    assert_eq!(
        policy.says("bob", &get("pods", "n")),
        (
            true,
            r#"RBAC: allowed by RoleBinding "b/n" of ClusterRole "reader" to User "bob""#
                .to_owned()
        )
    );
    assert!(!policy.says("bob", &get("pods", "m")).0);
    assert!(!policy.says("bob", &get("pods", "")).0);
    assert!(!policy.says("alice", &get("pods", "n")).0);
    policy.put(Table::Bindings, "", "b", binding("ClusterRole", "reader", bob()));
    assert!(policy.says("bob", &get("pods", "m")).0);
    assert!(policy.says("bob", &get("nodes", "")) == (false, String::new()));
}

#[test]
fn subjects_are_users_groups_and_service_accounts_of_the_bindings_namespace_by_default() {
    let mut policy = Policy::default();
    policy.put(Table::Roles, "n", "r", role(&["pods"]));
    let subjects = json!([
        { "kind": "Group", "name": "dev" },
        { "kind": "ServiceAccount", "name": "here" },
        { "kind": "ServiceAccount", "name": "there", "namespace": "other" },
        { "kind": "Robot", "name": "nobody" },
    ]);
    policy.put(Table::Bindings, "n", "b", binding("Role", "r", subjects));
    let asked = get("pods", "n");
    assert!(policy.decide(&User::new("x").group("dev"), &asked).is_allowed());
    assert!(policy.says("system:serviceaccount:n:here", &asked).0);
    assert!(policy.says("system:serviceaccount:other:there", &asked).0);
    assert!(!policy.says("system:serviceaccount:n:there", &asked).0);
    assert!(!policy.says("nobody", &asked).0);
}

#[test]
fn masters_may_do_everything() {
    let policy = Policy::default();
    assert!(policy.decide(&User::admin(), &get("pods", "n")).is_allowed());
    assert!(!policy.says("bob", &get("pods", "n")).0);
}

#[test]
fn changes_and_removals_take_effect() {
    let mut policy = Policy::default();
    policy.put(Table::Bindings, "n", "b", binding("Role", "r", bob()));
    let asked = get("pods", "n");
    assert_eq!(
        policy.says("bob", &asked),
        (false, r#"RBAC: role.rbac.authorization.k8s.io "r" not found"#.to_owned())
    );
    policy.put(Table::Roles, "n", "r", role(&["pods"]));
    assert!(policy.says("bob", &asked).0);
    policy.put(Table::Roles, "n", "r", role(&["nodes"]));
    assert!(!policy.says("bob", &asked).0);
    policy.put(Table::Roles, "n", "r", role(&["pods"]));
    policy.put(
        Table::Bindings,
        "n",
        "b",
        binding("Role", "r", json!([{ "kind": "User", "name": "alice" }])),
    );
    assert!(!policy.says("bob", &asked).0);
    assert!(policy.says("alice", &asked).0);
    policy.change(Table::Bindings, &place("n", "b"), None);
    assert_eq!(policy.says("alice", &asked), (false, String::new()));
    assert!(!policy.index.contains_key("n"));
}

#[test]
fn several_missing_roles_are_all_named() {
    let mut policy = Policy::default();
    policy.put(Table::Bindings, "n", "b", binding("Role", "r", bob()));
    policy.put(Table::Bindings, "", "c", binding("ClusterRole", "s", bob()));
    let reason = policy.says("bob", &get("pods", "n")).1;
    let both = r#"RBAC: [clusterrole.rbac.authorization.k8s.io "s" not found, role.rbac.authorization.k8s.io "r" not found]"#;
    assert_eq!(reason, both);
}

#[test]
fn a_role_that_aggregates_has_the_rules_of_those_it_selects_through_others_too() {
    let mut policy = Policy::default();
    let labelled = |label: &str, mut object: Value| {
        object["metadata"]["labels"] = json!({ label: "true" });
        object
    };
    let aggregate = |label: &str| json!({ "metadata": {}, "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { label: "true" } }] } });
    policy.put(Table::Roles, "", "top", aggregate("to-top"));
    policy.put(Table::Roles, "", "middle", labelled("to-top", aggregate("to-middle")));
    policy.put(Table::Bindings, "", "b", binding("ClusterRole", "top", bob()));
    assert!(!policy.says("bob", &get("pods", "n")).0);
    policy.put(Table::Roles, "", "leaf", labelled("to-middle", role(&["pods"])));
    assert!(policy.says("bob", &get("pods", "n")).0);
    policy.change(Table::Roles, &place("", "leaf"), None);
    policy.aggregate();
    assert!(!policy.says("bob", &get("pods", "n")).0);
    // Two roles that select each other.
    policy.put(Table::Roles, "", "top", labelled("to-middle", aggregate("to-top")));
    assert!(!policy.says("bob", &get("pods", "n")).0);
}

#[test]
fn objects_that_are_no_roles_grant_nothing() {
    let mut policy = Policy::default();
    for odd in [
        json!({}),
        json!({ "rules": 5 }),
        json!({ "rules": [{ "verbs": [7] }] }),
        json!({ "metadata": null }),
    ] {
        policy.put(Table::Roles, "n", "r", odd.clone());
        policy.put(Table::Bindings, "n", "b", odd);
        assert!(!policy.says("bob", &get("pods", "n")).0);
    }
}

#[test]
fn a_decision_looks_at_the_bindings_of_its_user_alone() {
    let mut policy = Policy::default();
    policy.put(Table::Roles, "n", "r", role(&["pods"]));
    for at in 0..500 {
        let subjects = json!([{ "kind": "User", "name": format!("user-{at}") }]);
        policy.put(Table::Bindings, "n", &format!("b{at}"), binding("Role", "r", subjects));
    }
    let looked_at = policy.bindings_of(&User::new("user-7"), "n");
    assert_eq!(looked_at.iter().map(|binding| &*binding.name).collect::<Vec<_>>(), ["b7"]);
}
