//! Policies and bindings of a case, and waiting until they are in force.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::{same, text};
use crate::conformance::objects;
use crate::conformance::target::JSON;
use crate::conformance::waiting::eventually;
use crate::conformance::{Answer, Outcome, Target};

pub(super) const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

pub(super) fn policies(rest: &str) -> String {
    format!("{GROUP}/validatingadmissionpolicies{rest}")
}

pub(super) fn bindings(rest: &str) -> String {
    format!("{GROUP}/validatingadmissionpolicybindings{rest}")
}

/// The rules of a resource of the core group.
pub(super) fn rules(operations: &[&str], resources: &[&str]) -> Value {
    json!([{
        "operations": operations, "apiGroups": [""], "apiVersions": ["v1"], "resources": resources,
    }])
}

/// What selects the namespace of the case.
pub(super) fn own_namespace(t: &Target) -> Value {
    json!({ "matchLabels": { "kubernetes.io/metadata.name": t.namespace } })
}

/// A policy about ConfigMaps in the namespace of the case, with other members of its spec.
pub(super) fn policy(t: &Target, spec: Value) -> Value {
    let mut policy = json!({
        "metadata": { "name": t.own("policy") },
        "spec": {
            "matchConstraints": { "resourceRules": rules(&["CREATE", "UPDATE"], &["configmaps"]) },
        },
    });
    merge(&mut policy["spec"], spec);
    policy["spec"]["matchConstraints"]["namespaceSelector"] = own_namespace(t);
    policy
}

/// A binding of the policy, with other members of its spec.
pub(super) fn binding(t: &Target, spec: Value) -> Value {
    let mut binding = json!({
        "metadata": { "name": t.own("binding") },
        "spec": { "policyName": t.own("policy"), "validationActions": ["Deny"] },
    });
    merge(&mut binding["spec"], spec);
    binding
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        for (name, value) in from {
            match into.get_mut(&name) {
                Some(known @ Value::Object(_)) if value.is_object() => merge(known, value),
                _ => drop(into.insert(name, value)),
            }
        }
    }
}

/// A validation by an expression alone.
pub(super) fn valid(expression: &str) -> Value {
    json!({ "validations": [{ "expression": expression }] })
}

/// Creates a policy about ConfigMaps and its binding.
pub(super) async fn enforce(t: &Target, spec: Value, bound: Value) -> Outcome {
    // The next case in this namespace would meet a policy that is gone already.
    t.keep_namespace();
    t.make(&policies(""), policy(t, spec)).await?;
    t.make(&bindings(""), binding(t, bound)).await?;
    Ok(())
}

/// A ConfigMap with labels.
pub(super) fn map(name: &str, labels: &[(&str, &str)]) -> Value {
    let mut map = objects::map(name, "v");
    for (label, value) in labels {
        map["metadata"]["labels"][label] = (*value).into();
    }
    map
}

/// Waits until a request, which changes nothing, is refused by the policy of the case. Returns the
/// refusal.
pub(super) async fn until_refused(
    t: &Target,
    method: Method,
    path: &str,
    object: &Value,
) -> Result<Answer, String> {
    let separator = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{separator}dryRun=All");
    let merges = [("content-type", "application/merge-patch+json")];
    let headers = if method == Method::PATCH { merges } else { [JSON] };
    eventually(async || {
        let body = if object.is_null() { String::new() } else { object.to_string() };
        let answer = t.send(method.clone(), &path, &headers, body).await?;
        let is_refused = answer.text.contains("ValidatingAdmissionPolicy");
        Ok(if is_refused { Ok(answer) } else { Err(format!("{} {}", answer.code, answer.text)) })
    })
    .await
}

/// Waits until the create of a ConfigMap is refused, and returns the refusal.
pub(super) async fn refused(t: &Target, map: &Value) -> Result<Answer, String> {
    until_refused(t, Method::POST, &t.maps(""), map).await
}

/// The create of a ConfigMap passes, without a warning.
pub(super) async fn passes(t: &Target, map: &Value) -> Outcome {
    let answer = t.post(&t.maps("?dryRun=All"), map).await?;
    answer.is(201)?;
    same("warnings", answer.warnings(), Vec::<String>::new())
}

/// The message of a refusal of a ConfigMap.
pub(super) fn message(t: &Target, map: &str, why: &str) -> String {
    let (policy, binding) = (t.own("policy"), t.own("binding"));
    format!(
        "configmaps \"{map}\" is forbidden: ValidatingAdmissionPolicy '{policy}' with binding \
         '{binding}' denied request: {why}"
    )
}

/// The create of a ConfigMap `no` is refused for this reason.
pub(super) async fn denies(t: &Target, why: &str) -> Outcome {
    let status = refused(t, &map("no", &[])).await?.refused(422, "Invalid")?;
    let said = text(&status, "/message");
    same("the message", said, message(t, "no", why).as_str())
}
