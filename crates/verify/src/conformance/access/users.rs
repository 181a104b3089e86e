//! Users of a case: what they ask, and the roles and bindings that give them rights.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::{Answer, Outcome, same, text};
use crate::conformance::target::{JSON, Target};
use crate::conformance::waiting::eventually;

pub(in crate::conformance) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
pub(super) const GROUP: &str = "rbac.authorization.k8s.io";
pub(in crate::conformance) const USER: &str = "impersonate-user";

/// A request in the name of a user that is the case's own.
pub(in crate::conformance) async fn by(
    t: &Target,
    user: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Answer, String> {
    let user = own_user(t, user);
    let body = if body.is_null() { String::new() } else { typed(path, body).to_string() };
    t.send(method, path, &[JSON, (USER, &user)], body).await
}

/// A role or a binding, with its kind.
fn typed(path: &str, object: &Value) -> Value {
    let mut object = object.clone();
    let plural = path.rsplit('/').next().unwrap_or_default();
    let kinds = [
        ("roles", "Role"),
        ("clusterroles", "ClusterRole"),
        ("rolebindings", "RoleBinding"),
        ("clusterrolebindings", "ClusterRoleBinding"),
    ];
    if let Some((_, kind)) = kinds.iter().find(|(of, _)| *of == plural) {
        object["apiVersion"] = format!("{GROUP}/v1").into();
        object["kind"] = (*kind).into();
    }
    object
}

pub(in crate::conformance) async fn make(
    t: &Target,
    path: &str,
    object: Value,
) -> Result<Value, String> {
    t.make(path, typed(path, &object)).await
}

pub(in crate::conformance) async fn get_by(
    t: &Target,
    user: &str,
    path: &str,
) -> Result<Answer, String> {
    by(t, user, Method::GET, path, &Value::Null).await
}

/// The real name of a user of the case.
pub(in crate::conformance) fn own_user(t: &Target, user: &str) -> String {
    if user.starts_with("system:") { user.to_owned() } else { t.own(user) }
}

pub(in crate::conformance) fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({ "verbs": verbs, "apiGroups": [group], "resources": resources })
}

pub(super) fn path(t: &Target, plural: &str, rest: &str) -> String {
    format!("{RBAC}/namespaces/{}/{plural}{rest}", t.namespace)
}

pub(super) fn user_subject(name: &str) -> Value {
    json!({ "kind": "User", "apiGroup": GROUP, "name": name })
}

pub(in crate::conformance) fn binding(
    name: &str,
    kind: &str,
    role: &str,
    subjects: Value,
) -> Value {
    json!({
        "metadata": { "name": name }, "subjects": subjects,
        "roleRef": { "apiGroup": GROUP, "kind": kind, "name": role },
    })
}

/// Grants a user of the case these rules in the case's namespace, by a Role and a RoleBinding of
/// its name; waits until the server knows.
pub(in crate::conformance) async fn grant(t: &Target, user: &str, rules: Value) -> Outcome {
    let name = own_user(t, user);
    make(t, &path(t, "roles", ""), json!({ "metadata": { "name": user }, "rules": rules })).await?;
    make(
        t,
        &path(t, "rolebindings", ""),
        binding(user, "Role", user, json!([user_subject(&name)])),
    )
    .await?;
    until_known(t, user, &rules[0]).await
}

/// The real server's authorizer hears of roles by watches.
pub(super) async fn until_known(t: &Target, user: &str, rule: &Value) -> Outcome {
    let first = |member: &str| rule[member][0].as_str().unwrap_or_default().to_owned();
    let resource = first("resources");
    let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
    let name = rule["resourceNames"][0].as_str().unwrap_or_default();
    let asked = json!({
        "spec": {
            "resourceAttributes": {
                "verb": first("verbs"), "group": first("apiGroups"), "resource": resource,
                "subresource": subresource, "namespace": t.namespace, "name": name,
            },
        },
    });
    eventually(async || {
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let said = by(t, user, Method::POST, path, &asked).await?.is(201)?;
        let is_allowed = said["status"]["allowed"] == true;
        Ok(if is_allowed {
            Ok(())
        } else {
            Err(format!("{user} is not allowed what was granted: {asked}"))
        })
    })
    .await
}

pub(super) fn message(answer: &Answer, expected: &str) -> Outcome {
    let status = answer.refused(403, "Forbidden")?;
    same("the message", text(&status, "/message"), expected)
}
