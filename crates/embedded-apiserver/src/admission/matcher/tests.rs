//! Rules, selectors and match policies, held against writes.

use std::sync::Arc;

use api_front::User;
use serde_json::{Value, json};

use crate::admission::matcher::{Matcher, NoNamespace};
use crate::admission::subject::{Matched, Subject};
use crate::admission::{AdmissionRequest, Operation};
use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::strategy::resource::ServedResource;

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("no object: {value}") };
    object
}

fn served(kind: Kind) -> Arc<ServedResource> {
    Arc::new(ServedResource::new(kind))
}

/// An update of the widget `a` in the namespace `ns`.
fn request() -> AdmissionRequest {
    AdmissionRequest {
        operation: Operation::Update,
        user: User::admin(),
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "Widget".to_owned(),
        resource: "widgets".to_owned(),
        subresource: None,
        namespace: Some("ns".to_owned()),
        name: "a".to_owned(),
        object: json!({ "metadata": { "labels": { "tier": "new" } } }),
        old_object: json!({ "metadata": { "labels": { "tier": "old" } } }),
        dry_run: false,
        options: Value::Null,
    }
}

fn rule(rule: Value) -> Value {
    let mut whole = object(json!({
        "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"],
    }));
    whole.extend(object(rule));
    Value::Object(whole)
}

fn found(matcher: &Matcher, request: &AdmissionRequest) -> Result<Option<Matched>, NoNamespace> {
    let kinds = ["v1", "v2"].map(|version| {
        served(Kind::namespaced("example.com", version, "Widget", "widgets").status(true))
    });
    let namespace = object(json!({ "metadata": { "labels": { "team": "blue" } } }));
    let namespace = Some(&namespace).filter(|_| request.namespace.as_deref() != Some("gone"));
    let kind = &kinds[0];
    matcher.matches(&Subject { request, kind, seen: kind, namespace, versions: &kinds })
}

fn matches(matcher: &Matcher, request: &AdmissionRequest) -> bool {
    found(matcher, request).unwrap().is_some()
}

#[test]
fn all_parts_of_a_rule_must_match() {
    let matches = |said: Value, request: &AdmissionRequest| {
        matches(&Matcher::of_webhook(&json!({ "rules": [rule(said)] })), request)
    };
    let status = AdmissionRequest { subresource: Some("status".to_owned()), ..request() };
    for (said, of_object, of_status) in [
        (json!({}), true, false),
        (json!({ "operations": ["CREATE", "UPDATE"] }), true, false),
        (json!({ "operations": ["DELETE"] }), false, false),
        (json!({ "apiGroups": [""] }), false, false),
        (json!({ "apiGroups": ["", "example.com"] }), true, false),
        (json!({ "apiVersions": ["v2"] }), false, false),
        (json!({ "resources": ["widgets"] }), true, false),
        (json!({ "resources": ["gadgets", "widgets/status"] }), false, true),
        (json!({ "resources": ["*/*"] }), true, true),
        (json!({ "resources": ["widgets/*"] }), true, true),
        (json!({ "resources": ["*/status"] }), false, true),
        (json!({ "resources": ["*/scale"] }), false, false),
        (json!({ "scope": "Namespaced" }), true, false),
        (json!({ "scope": "Cluster" }), false, false),
        (json!({ "resourceNames": ["a"] }), true, false),
        (json!({ "resourceNames": ["b"] }), false, false),
    ] {
        assert_eq!(matches(said.clone(), &request()), of_object, "{said}");
        assert_eq!(matches(said.clone(), &status), of_status, "{said}");
    }
}

#[test]
fn a_namespace_is_of_cluster_scope_and_selected_by_its_own_labels() {
    let namespaces = served(Kind::cluster_scoped("", "v1", "Namespace", "namespaces"));
    let request = AdmissionRequest {
        group: String::new(),
        kind: "Namespace".to_owned(),
        resource: "namespaces".to_owned(),
        namespace: None,
        ..request()
    };
    let stored = object(json!({ "metadata": { "labels": { "tier": "stored" } } }));
    let matches = |tier: &str, scope: &str, operation: Operation| {
        let matcher = Matcher::of_webhook(&json!({
            "rules": [rule(json!({ "scope": scope }))],
            "namespaceSelector": { "matchLabels": { "tier": tier } },
        }));
        let request = AdmissionRequest { operation, ..request.clone() };
        let (kind, namespace) = (&*namespaces, Some(&stored));
        let subject = Subject { request: &request, kind, seen: kind, namespace, versions: &[] };
        matcher.matches(&subject).unwrap().is_some()
    };
    assert!(matches("new", "*", Operation::Update));
    assert!(matches("new", "Cluster", Operation::Create));
    assert!(!matches("new", "Namespaced", Operation::Update));
    assert!(!matches("stored", "*", Operation::Update));
    assert!(matches("stored", "*", Operation::Delete));
}

#[test]
fn selectors_select_the_namespace_and_either_object() {
    let matches = |selectors: Value| {
        let mut webhook = object(json!({ "rules": [rule(json!({}))] }));
        webhook.extend(object(selectors));
        matches(&Matcher::of_webhook(&Value::Object(webhook)), &request())
    };
    let team = |team: &str| json!({ "namespaceSelector": { "matchLabels": { "team": team } } });
    assert!(matches(team("blue")));
    assert!(!matches(team("red")));
    let tier = |tier: &str| json!({ "objectSelector": { "matchLabels": { "tier": tier } } });
    assert!(matches(tier("new")));
    assert!(matches(tier("old")));
    assert!(!matches(tier("other")));
}

#[test]
fn a_missing_namespace_is_an_error_only_if_all_else_matches() {
    let selector = json!({ "matchLabels": { "team": "blue" } });
    let matcher = |resource: &str| {
        Matcher::of_webhook(&json!({
            "rules": [rule(json!({ "resources": [resource] }))],
            "namespaceSelector": selector,
        }))
    };
    let request = AdmissionRequest { namespace: Some("gone".to_owned()), ..request() };
    let why = found(&matcher("widgets"), &request).unwrap_err();
    assert_eq!(why.to_string(), "namespaces \"gone\" not found");
    assert!(found(&matcher("gadgets"), &request).unwrap().is_none());
}

#[test]
fn only_a_policy_without_rules_matches_everything_and_exclusions_come_first() {
    assert!(matches(&Matcher::of_resources(&json!({})), &request()));
    assert!(!matches(&Matcher::of_webhook(&json!({})), &request()));
    let excluding = |name: &str| {
        Matcher::of_resources(&json!({
            "resourceRules": [rule(json!({}))],
            "excludeResourceRules": [rule(json!({ "resourceNames": [name] }))],
        }))
    };
    assert!(!matches(&excluding("a"), &request()));
    assert!(matches(&excluding("b"), &request()));
}

#[test]
fn an_equivalent_version_is_the_one_that_matches() {
    let matcher = |policy: &str, version: &str| {
        Matcher::of_webhook(&json!({
            "rules": [rule(json!({ "apiVersions": [version] }))],
            "matchPolicy": policy,
        }))
    };
    let version = |matcher: &Matcher| {
        let matched = found(matcher, &request()).unwrap()?;
        Some(matched.0.map(|other| other.version().to_owned()))
    };
    assert_eq!(version(&matcher("Equivalent", "v2")), Some(Some("v2".to_owned())));
    assert_eq!(version(&matcher("Equivalent", "*")), Some(None));
    assert_eq!(version(&matcher("Equivalent", "v3")), None);
    assert_eq!(version(&matcher("Exact", "v2")), None);
}
