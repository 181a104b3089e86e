//! ResourceQuotas and LimitRanges: names and amounts of resources, and the scopes of quotas.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::{Case, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn quota(spec: Value) -> Value {
    json!({ "metadata": { "name": "a" }, "spec": spec })
}

fn limits(limit: Value) -> Value {
    json!({ "metadata": { "name": "a" }, "spec": { "limits": [limit] } })
}

async fn refuses_quota(t: &Target, spec: Value, cause: &str, why: &str) -> Outcome {
    let answer = t.post(&t.core("resourcequotas", "?dryRun=All"), &quota(spec)).await?;
    let status = answer.invalid(&[cause])?;
    holds(why, text(&status, "/message").contains(why))
}

async fn refuses_limit(t: &Target, limit: Value, cause: &str, why: &str) -> Outcome {
    let answer = t.post(&t.core("limitranges", "?dryRun=All"), &limits(limit)).await?;
    let status = answer.invalid(&[cause])?;
    holds(why, text(&status, "/message").contains(why))
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_quota_is_made_unused",
            "A new ResourceQuota has an empty status and no generation.",
            async |t| {
                let mut object = quota(json!({ "hard": { "pods": "5", "requests.cpu": "1500m" } }));
                object["status"] = json!({ "used": { "pods": "1" } });
                let made = t.make(&t.core("resourcequotas", "?dryRun=All"), object).await?;
                has(&made, json!({ "metadata": { "generation": null } }))?;
                same("status", made["status"].clone(), json!({}))
            },
        ),
        case(
            "a_quota_limits_known_resources",
            "A ResourceQuota names resources that are known or qualified.",
            async |t| {
                let hard = |name: &str| json!({ "hard": { name: "1" } });
                for (name, why) in [
                    ("odd", "must be a standard resource type or fully qualified"),
                    ("odd", "must be a standard resource for quota"),
                    ("storage", "must be a standard resource for quota"),
                    ("a b", "name part must consist of alphanumeric characters"),
                ] {
                    refuses_quota(
                        t,
                        hard(name),
                        &format!("FieldValueInvalid spec.hard[{name}]"),
                        why,
                    )
                    .await?;
                }
                for name in [
                    "count/things.example.com",
                    "requests.example.com/gpu",
                    "requests.storage",
                    "hugepages-2Mi",
                    "gold.storageclass.storage.k8s.io/requests.storage",
                ] {
                    t.make(&t.core("resourcequotas", "?dryRun=All"), quota(hard(name))).await?;
                }
                Ok(())
            },
        ),
        case(
            "amounts_of_a_quota_are_checked",
            "Amounts of a ResourceQuota are not negative, and whole numbers of what is counted.",
            async |t| {
                let hard = |name: &str, amount: &str| json!({ "hard": { name: amount } });
                let why = "Invalid value: \"-1\": must be greater than or equal to 0";
                refuses_quota(t, hard("cpu", "-1"), "FieldValueInvalid spec.hard[cpu]", why)
                    .await?;
                for name in ["pods", "example.com/gpu"] {
                    let cause = format!("FieldValueInvalid spec.hard[{name}]");
                    let why = "Invalid value: \"500m\": must be an integer";
                    refuses_quota(t, hard(name, "500m"), &cause, why).await?;
                }
                Ok(())
            },
        ),
        case(
            "scopes_of_a_quota_fit_its_resources",
            "Scopes of a ResourceQuota are known, do not exclude each other, and apply to its resources.",
            async |t| {
                let path = "FieldValueInvalid spec.scopes";
                for (scopes, why) in [
                    (json!(["Odd"]), "Invalid value: [\"Odd\"]: unsupported scope"),
                    (json!(["Terminating", "NotTerminating"]), "conflicting scopes"),
                    (json!(["BestEffort"]), "unsupported scope applied to resource"),
                ] {
                    let spec = json!({ "hard": { "cpu": "1" }, "scopes": scopes });
                    refuses_quota(t, spec, path, why).await?;
                }
                let spec = json!({ "hard": { "pods": "1" }, "scopes": ["BestEffort"] });
                t.make(&t.core("resourcequotas", "?dryRun=All"), quota(spec)).await?;
                Ok(())
            },
        ),
        case(
            "a_scope_selector_is_checked",
            "A scope selector of a ResourceQuota has known scopes, and operators that fit them.",
            async |t| {
                let path = "spec.scopeSelector.matchExpressions";
                for (requirement, cause) in [
                    (
                        json!({ "scopeName": "Odd", "operator": "Exists" }),
                        format!("FieldValueInvalid {path}.scopeName"),
                    ),
                    (
                        json!({ "scopeName": "BestEffort", "operator": "In", "values": ["a"] }),
                        format!("FieldValueInvalid {path}.operator"),
                    ),
                    (
                        json!({ "scopeName": "PriorityClass", "operator": "Odd" }),
                        format!("FieldValueInvalid {path}.operator"),
                    ),
                    (
                        json!({ "scopeName": "PriorityClass", "operator": "In" }),
                        format!("FieldValueRequired {path}.values"),
                    ),
                    (
                        json!({ "scopeName": "PriorityClass", "operator": "Exists", "values": ["a"] }),
                        format!("FieldValueInvalid {path}.values"),
                    ),
                ] {
                    let spec = json!({ "hard": { "pods": "1" }, "scopeSelector": { "matchExpressions": [requirement] } });
                    t.post(&t.core("resourcequotas", "?dryRun=All"), &quota(spec))
                        .await?
                        .invalid(&[&cause])?;
                }
                let requirement = json!({ "scopeName": "PriorityClass", "operator": "Exists" });
                let spec = json!({ "hard": { "services": "1" }, "scopeSelector": { "matchExpressions": [requirement] } });
                let why = "Invalid value: {\"MatchExpressions\":[{\"ScopeName\":\"PriorityClass\",\"Operator\":\"Exists\",\"Values\":null}]}: unsupported scope applied to resource";
                refuses_quota(t, spec, &format!("FieldValueInvalid {path}"), why).await
            },
        ),
        case(
            "scopes_of_a_quota_stay",
            "The limits of a ResourceQuota can be changed, its scopes cannot, but for their order.",
            async |t| {
                let path = t.core("resourcequotas", "/a");
                let spec =
                    json!({ "hard": { "pods": "1" }, "scopes": ["NotBestEffort", "Terminating"] });
                t.make(&t.core("resourcequotas", ""), quota(spec)).await?;
                let patch = json!({ "spec": { "hard": { "pods": "2" }, "scopes": ["Terminating", "NotBestEffort"] } });
                t.merge(&path, patch).await?.is(200)?;
                let status = t
                    .merge(&path, json!({ "spec": { "scopes": ["Terminating"] } }))
                    .await?
                    .invalid(&["FieldValueInvalid spec.scopes"])?;
                let why = "Invalid value: [\"Terminating\"]: field is immutable";
                same("message", text(&status, "/details/causes/0/message"), why)
            },
        ),
        case(
            "the_status_of_a_quota_is_shown",
            "The status of a ResourceQuota says how much is used, which its table shows, limits apart.",
            async |t| {
                let hard = json!({ "requests.storage": "5Gi", "limits.memory": "1Gi", "count/x.example.com": "3" });
                t.make(&t.core("resourcequotas", ""), quota(json!({ "hard": hard }))).await?;
                let path = t.core("resourcequotas", "/a/status");
                let wrong =
                    json!({ "status": { "hard": { "odd": "1" }, "used": { "pods": "-1" } } });
                t.merge(&path, wrong).await?.invalid(&[
                    "FieldValueInvalid status.hard[odd]",
                    "FieldValueInvalid status.used[pods]",
                ])?;
                let used = json!({ "requests.storage": "1Gi", "limits.memory": "512Mi" });
                t.merge(&path, json!({ "status": { "hard": hard, "used": used } }))
                    .await?
                    .is(200)?;
                let table = t.get_as(&t.core("resourcequotas", "/a"), TABLE).await?.is(200)?;
                let requests = "count/x.example.com: 0/3, requests.storage: 1Gi/5Gi";
                has(
                    &table["rows"][0]["cells"],
                    json!(["a", requests, "limits.memory: 512Mi/1Gi", "*"]),
                )
            },
        ),
        case(
            "requests_above_limits_are_warned_of",
            "A ResourceQuota that allows more requests than limits is accepted with a Warning.",
            async |t| {
                let hard = json!({ "cpu": "2", "limits.cpu": "1" });
                let answer = t
                    .post(&t.core("resourcequotas", "?dryRun=All"), &quota(json!({ "hard": hard })))
                    .await?;
                answer.is(201)?;
                let warning = "299 - \"ResourceQuota cpu (2) should be less than limits.cpu (1)\"";
                same("warnings", answer.warnings(), vec![warning.to_owned()])
            },
        ),
        case(
            "a_quota_answers_itself",
            "The delete of a ResourceQuota answers the object; that of a LimitRange a Status.",
            async |t| {
                t.make(&t.core("resourcequotas", ""), quota(json!({}))).await?;
                let answer = t.delete(&t.core("resourcequotas", "/a")).await?.is(200)?;
                has(&answer, json!({ "kind": "ResourceQuota" }))?;
                t.make(&t.core("limitranges", ""), limits(json!({ "type": "example.com/x" })))
                    .await?;
                has(
                    &t.delete(&t.core("limitranges", "/a")).await?.is(200)?,
                    json!({ "kind": "Status" }),
                )
            },
        ),
        case(
            "limits_of_containers_are_completed",
            "Limits of containers default to the largest ones, and their requests to the limits, else to the least.",
            async |t| {
                let limit = json!({ "type": "Container", "max": { "cpu": "2" }, "min": { "memory": "1Mi" } });
                let made = t.make(&t.core("limitranges", "?dryRun=All"), limits(limit)).await?;
                has(
                    &made["spec"]["limits"][0],
                    json!({ "default": { "cpu": "2" }, "defaultRequest": { "cpu": "2", "memory": "1Mi" } }),
                )?;
                let limit = json!({ "type": "Pod", "max": { "cpu": "2" } });
                let made = t.make(&t.core("limitranges", "?dryRun=All"), limits(limit)).await?;
                has(&made["spec"]["limits"][0], json!({ "default": null, "defaultRequest": null }))
            },
        ),
        case(
            "limits_do_not_contradict_each_other",
            "The least, the default and the largest amount of a LimitRange are in this order.",
            async |t| {
                let of = |list: &str| format!("FieldValueInvalid spec.limits[0].{list}[cpu]");
                let limit = json!({ "type": "Pod", "min": { "cpu": "2" }, "max": { "cpu": "1" } });
                let why = "Invalid value: \"2\": min value 2 is greater than max value 1";
                refuses_limit(t, limit, &of("min"), why).await?;
                let limit = json!({ "type": "Container", "defaultRequest": { "cpu": "2" }, "default": { "cpu": "1" } });
                let why = "Invalid value: \"2\": default request value 2 is greater than default limit value 1";
                refuses_limit(t, limit, &of("defaultRequest"), why).await?;
                let limit = json!({ "type": "Container", "defaultRequest": { "cpu": "1" }, "default": { "cpu": "3" }, "max": { "cpu": "2" } });
                let why = "Invalid value: \"2\": default value 3 is greater than max value 2";
                refuses_limit(t, limit, &of("default"), why).await?;
                let limit = json!({ "type": "Pod", "default": { "cpu": "1" } });
                let cause = "FieldValueForbidden spec.limits[0].default";
                refuses_limit(t, limit, cause, "may not be specified when `type` is 'Pod'").await
            },
        ),
        case(
            "a_ratio_of_limits_is_checked",
            "The ratio of limit and request is at least one, and at most that of the largest and the least amount.",
            async |t| {
                let cause = "FieldValueInvalid spec.limits[0].maxLimitRequestRatio[cpu]";
                let limit = json!({ "type": "Pod", "maxLimitRequestRatio": { "cpu": "500m" } });
                let why = "Invalid value: \"500m\": ratio 500m is less than 1";
                refuses_limit(t, limit, cause, why).await?;
                let limit = json!({ "type": "Pod", "min": { "cpu": "2" }, "max": { "cpu": "3" }, "maxLimitRequestRatio": { "cpu": "2" } });
                let why = "Invalid value: \"2\": ratio 2 is greater than max/min = 1.500000";
                refuses_limit(t, limit, cause, why).await
            },
        ),
        case(
            "limits_have_types_and_resources",
            "Types of limits are known or qualified and come once; their resources fit them.",
            async |t| {
                let path = "spec.limits[0]";
                let limit = json!({ "type": "Odd" });
                let why = "must be a standard limit type or fully qualified";
                refuses_limit(t, limit, &format!("FieldValueInvalid {path}.type"), why).await?;
                let limit = json!({ "type": "Pod", "max": { "storage": "1" } });
                let why = "must be a standard resource for containers";
                refuses_limit(t, limit, &format!("FieldValueInvalid {path}.max[storage]"), why)
                    .await?;
                let limit = json!({ "type": "PersistentVolumeClaim" });
                let why =
                    "either minimum or maximum storage value is required, but neither was provided";
                refuses_limit(t, limit, &format!("FieldValueRequired {path}.limits"), why).await?;
                let twice = json!([{ "type": "example.com/x" }, { "type": "example.com/x" }]);
                let object = json!({ "metadata": { "name": "a" }, "spec": { "limits": twice } });
                t.post(&t.core("limitranges", "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueDuplicate spec.limits[1].type"])?;
                Ok(())
            },
        ),
        case(
            "a_limit_range_needs_no_name",
            "A LimitRange without a name gets a uid as its name, and PUT of a missing one creates it.",
            async |t| {
                let mut object = limits(json!({ "type": "example.com/x" }));
                object["metadata"] = json!({});
                let made = t.make(&t.core("limitranges", "?dryRun=All"), object.clone()).await?;
                same("length of the name", text(&made, "/metadata/name").len(), 36)?;
                object["metadata"] = json!({ "name": "a" });
                t.put(&t.core("limitranges", "/a"), &object).await?.is(201)?;
                Ok(())
            },
        ),
    ]
}
