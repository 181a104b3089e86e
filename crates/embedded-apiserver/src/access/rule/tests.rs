//! Matching, atoms and coverage of rules.

use std::sync::Arc;

use super::{Atom, On, Rule, compact};
use crate::access::attributes::Attributes;

fn set(texts: &[&str]) -> Vec<Arc<str>> {
    texts.iter().map(|text| Arc::from(*text)).collect()
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> Rule {
    Rule {
        verbs: set(verbs),
        groups: set(groups),
        resources: set(resources),
        names: set(names),
        paths: Vec::new(),
    }
}

fn paths(verbs: &[&str], paths: &[&str]) -> Rule {
    Rule { verbs: set(verbs), paths: set(paths), ..Rule::default() }
}

/// `get pods/log apps n`: verb, resource, group, name.
fn ask(text: &str) -> Attributes<'_> {
    let mut words = text.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (verb, resource) = (word(), word());
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let (group, name) = (word(), word());
    Attributes::Resource {
        verb: verb.into(),
        group: group.into(),
        resource: resource.into(),
        subresource: subresource.into(),
        namespace: "".into(),
        name: name.into(),
    }
}

#[test]
fn a_rule_allows_what_all_its_parts_name() {
    let one = rule(&["get"], &["apps"], &["deployments"], &[]);
    assert!(one.allows(&ask("get deployments apps x")).is_some());
    for other in [
        "list deployments apps",
        "get deployments",
        "get replicasets apps",
        "get deployments/scale apps x",
    ] {
        assert!(one.allows(&ask(other)).is_none(), "{other}");
    }
}

#[test]
fn a_star_stands_for_everything_and_a_subresource_must_be_named() {
    let all = rule(&["*"], &["*"], &["*"], &[]);
    assert!(all.allows(&ask("anything pods/log core x")).is_some());
    let of_any = rule(&["get"], &[""], &["*/status"], &[]);
    assert!(of_any.allows(&ask("get pods/status")).is_some());
    assert!(of_any.allows(&ask("get pods")).is_none());
    let of_pods = rule(&["get"], &[""], &["pods/status"], &[]);
    assert!(of_pods.allows(&ask("get pods/status")).is_some());
    assert!(of_pods.allows(&ask("get nodes/status")).is_none());
}

#[test]
fn a_name_is_needed_where_names_are_given_so_a_create_is_not_allowed() {
    let named = rule(&["get", "create", "list"], &[""], &["pods"], &["a", "b"]);
    assert!(named.allows(&ask("get pods  b")).is_some());
    assert!(named.allows(&ask("get pods  c")).is_none());
    assert!(named.allows(&ask("create pods")).is_none());
    // A list with a field selector of that name.
    assert!(named.allows(&ask("list pods  a")).is_some());
}

#[test]
fn paths_match_whole_or_up_to_a_star() {
    let some = paths(&["get"], &["/healthz", "/apis/*"]);
    let asked = |path: &'static str| Attributes::Path { verb: "get".into(), path: path.into() };
    assert!(some.allows(&asked("/healthz")).is_some());
    assert!(some.allows(&asked("/apis/apps/v1")).is_some());
    assert!(some.allows(&asked("/healthz/etcd")).is_none());
    assert!(some.allows(&asked("/apis")).is_none());
    assert!(some.allows(&ask("get pods")).is_none());
}

#[test]
fn what_allowed_it_is_told_as_one_of_the_atoms() {
    let many = rule(&["get", "*"], &["", "apps"], &["pods", "*"], &[]);
    let atoms: Vec<_> = many.atoms().collect();
    assert_eq!(atoms.len(), 8);
    for asked in ["get pods", "list pods apps", "list nodes"] {
        let atom = many.allows(&ask(asked)).expect(asked);
        assert!(atoms.contains(&atom), "{atom:?}");
    }
    let get_pods = many.allows(&ask("get pods")).expect("allowed");
    assert_eq!(&*get_pods.verb, "get");
}

fn atom(verb: &str, group: &str, resource: &str, name: Option<&str>) -> Atom {
    let on =
        On::Resource { group: group.into(), resource: resource.into(), name: name.map(Arc::from) };
    Atom { verb: verb.into(), on }
}

#[test]
fn a_rule_covers_no_more_than_it_grants() {
    let covers = |rule: &Rule, atom: &Atom| rule.covering(atom).is_some();
    let own = rule(&["get"], &[""], &["pods", "*/status"], &["a"]);
    assert!(covers(&own, &atom("get", "", "pods", Some("a"))));
    assert!(covers(&own, &atom("get", "", "nodes/status", Some("a"))));
    assert!(!covers(&own, &atom("get", "", "pods", None)));
    assert!(!covers(&own, &atom("get", "", "pods", Some("b"))));
    assert!(!covers(&own, &atom("*", "", "pods", Some("a"))));
    assert!(covers(&rule(&["*"], &["*"], &["*"], &[]), &atom("get", "x", "y/z", Some("a"))));
    assert!(covers(
        &paths(&["get"], &["/a/*"]),
        &Atom { verb: "get".into(), on: On::Path("/a/b/*".into()) }
    ));
    assert!(!covers(
        &paths(&["get"], &["/a/b"]),
        &Atom { verb: "get".into(), on: On::Path("/a/*".into()) }
    ));
}

#[test]
fn missing_rights_are_listed_by_resource() {
    let missing = [
        atom("get", "", "secrets", None),
        atom("list", "", "secrets", None),
        atom("get", "apps", "x", Some("n")),
        Atom { verb: "get".into(), on: On::Path("/x".into()) },
    ];
    assert_eq!(
        compact(&missing),
        [
            r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#,
            r#"{APIGroups:["apps"], Resources:["x"], ResourceNames:["n"], Verbs:["get"]}"#,
            r#"{NonResourceURLs:["/x"], Verbs:["get"]}"#,
        ]
    );
}
