//! ValidatingAdmissionPolicies and their bindings.
//!
//! Policies are of cluster scope: each selects the namespace of its case. The real server takes
//! about a second to know a new one.

mod compiling;
mod denying;
mod matching;
mod parameters;
mod seeing;

use http::Method;
use serde_json::{Value, json};

use crate::conformance::objects;
use crate::conformance::target::JSON;
use crate::conformance::waiting::eventually;
use crate::conformance::{Answer, Case, Outcome, Target};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = denying::cases();
    cases.extend(seeing::cases());
    cases.extend(matching::cases());
    cases.extend(parameters::cases());
    cases.extend(compiling::cases());
    cases
}

fn policies(rest: &str) -> String {
    format!("{GROUP}/validatingadmissionpolicies{rest}")
}

fn bindings(rest: &str) -> String {
    format!("{GROUP}/validatingadmissionpolicybindings{rest}")
}

/// The rules of a resource of the core group.
fn rules(operations: &[&str], resources: &[&str]) -> Value {
    json!([{
        "operations": operations, "apiGroups": [""], "apiVersions": ["v1"], "resources": resources,
    }])
}

/// What selects the namespace of the case.
fn own_namespace(t: &Target) -> Value {
    json!({ "matchLabels": { "kubernetes.io/metadata.name": t.namespace } })
}

/// A policy about ConfigMaps in the namespace of the case, with other members of its spec.
fn policy(t: &Target, spec: Value) -> Value {
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
fn binding(t: &Target, spec: Value) -> Value {
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
fn valid(expression: &str) -> Value {
    json!({ "validations": [{ "expression": expression }] })
}

/// Creates a policy about ConfigMaps and its binding.
async fn enforce(t: &Target, spec: Value, bound: Value) -> Outcome {
    // The next case in this namespace would meet a policy that is gone already.
    t.keep_namespace();
    t.make(&policies(""), policy(t, spec)).await?;
    t.make(&bindings(""), binding(t, bound)).await?;
    Ok(())
}

/// A ConfigMap with labels.
fn map(name: &str, labels: &[(&str, &str)]) -> Value {
    let mut map = objects::map(name, "v");
    for (label, value) in labels {
        map["metadata"]["labels"][label] = (*value).into();
    }
    map
}

/// Waits until a request, which changes nothing, is refused by the policy of the case. Returns the
/// refusal.
async fn until_refused(
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
async fn refused(t: &Target, map: &Value) -> Result<Answer, String> {
    until_refused(t, Method::POST, &t.maps(""), map).await
}

/// The create of a ConfigMap passes, without a warning.
async fn passes(t: &Target, map: &Value) -> Outcome {
    let answer = t.post(&t.maps("?dryRun=All"), map).await?;
    answer.is(201)?;
    crate::conformance::answer::same("warnings", answer.warnings(), Vec::<String>::new())
}

/// The message of a refusal of a ConfigMap.
fn message(t: &Target, map: &str, why: &str) -> String {
    let (policy, binding) = (t.own("policy"), t.own("binding"));
    format!(
        "configmaps \"{map}\" is forbidden: ValidatingAdmissionPolicy '{policy}' with binding \
         '{binding}' denied request: {why}"
    )
}

/// The create of a ConfigMap `no` is refused for this reason.
async fn denies(t: &Target, why: &str) -> Outcome {
    let status = refused(t, &map("no", &[])).await?.refused(422, "Invalid")?;
    let said = crate::conformance::answer::text(&status, "/message");
    crate::conformance::answer::same("the message", said, message(t, "no", why).as_str())
}
