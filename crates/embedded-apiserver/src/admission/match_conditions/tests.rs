//! Conditions that hold, do not hold, and fail.

use std::sync::Arc;

use api_front::User;
use k8s_cel::{Asked, Authorizer, Decision};
use serde_json::json;

use crate::admission::expressions::Variables;
use crate::admission::match_conditions::MatchConditions;
use crate::admission::subject::{Matched, Subject};
use crate::admission::{AdmissionRequest, Operation};
use crate::api::kind::Kind;
use crate::strategy::expressions::environment;
use crate::strategy::resource::ServedResource;

#[derive(Debug)]
struct Nobody;

impl Authorizer for Nobody {
    fn authorize(&self, _account: Option<(&str, &str)>, asked: &Asked<'_>) -> Decision {
        let allowed = matches!(asked, Asked::Resource { of, .. } if of.name == "a");
        Decision { allowed, ..Decision::default() }
    }
}

/// Holds conditions against the create of a ConfigMap by alice.
fn hold(expressions: &[&str], policy: &str) -> Result<bool, String> {
    let conditions: Vec<_> =
        expressions.iter().map(|source| json!({ "name": "a", "expression": source })).collect();
    let webhook = json!({ "matchConditions": conditions, "failurePolicy": policy });
    let conditions = MatchConditions::read(&webhook, &environment(false, true));
    let request = AdmissionRequest {
        operation: Operation::Create,
        user: User::new("alice").group("dev"),
        group: String::new(),
        version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        resource: "configmaps".to_owned(),
        subresource: None,
        namespace: Some("ns".to_owned()),
        name: "a".to_owned(),
        object: json!({ "metadata": { "name": "a" }, "data": { "x": "1" } }),
        old_object: serde_json::Value::Null,
        dry_run: false,
        options: serde_json::Value::Null,
    };
    let kind = ServedResource::new(Kind::namespaced("", "v1", "ConfigMap", "configmaps"));
    let subject =
        Subject { request: &request, kind: &kind, seen: &kind, namespace: None, versions: &[] };
    let nobody: Arc<dyn Authorizer> = Arc::new(Nobody);
    let variables = Variables::of(&subject, &Matched::default(), &nobody);
    conditions.hold(&variables.of_conditions(None))
}

#[test]
fn conditions_see_the_write() {
    for source in [
        "object.data.x == '1' && oldObject == null",
        "request.operation == 'CREATE' && request.name == 'a' && request.namespace == 'ns'",
        "request.kind.kind == 'ConfigMap' && request.requestResource.resource == 'configmaps'",
        "request.userInfo.username == 'alice' && 'dev' in request.userInfo.groups",
        "!has(request.subResource) && !request.dryRun",
        "namespaceObject == null",
        "authorizer.requestResource.check('create').allowed()",
        "!authorizer.group('').resource('pods').check('create').allowed()",
    ] {
        assert_eq!(hold(&[source], "Fail"), Ok(true), "{source}");
    }
}

#[test]
fn one_that_does_not_hold_decides_and_failures_follow_the_policy() {
    let fails = "object.other == '1'";
    assert_eq!(hold(&["true", "false"], "Fail"), Ok(false));
    assert_eq!(hold(&[fails, "false"], "Fail"), Ok(false));
    assert_eq!(hold(&[fails, "true"], "Ignore"), Ok(false));
    let why = "expression 'object.other == '1'' resulted in error: no such key: other";
    assert_eq!(hold(&[fails, "true", fails], "Fail"), Err(why.to_owned()));
    let both = hold(&[fails, "object.more"], "Fail").unwrap_err();
    assert!(
        both.starts_with(&format!("[{why}, compilation error: must evaluate to bool")),
        "{both}"
    );
    assert_eq!(hold(&["1 + 'a' == 2"], "Ignore"), Ok(false));
}

#[test]
fn conditions_have_a_budget_together() {
    let long = "lists.range(1000).all(x, lists.range(100).all(y, true))";
    assert_eq!(hold(&[long; 2], "Fail"), Ok(true));
    let why = "validation failed due to running out of cost budget, no further validation rules \
               will be run";
    assert_eq!(hold(&[long; 9], "Fail"), Err(why.to_owned()));
    assert_eq!(hold(&[long; 9], "Ignore"), Ok(false));
}
