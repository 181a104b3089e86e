//! What a policy answers: its messages, reasons, actions and failures.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::policies::fixture::{
    bindings, denies, enforce, map, message, passes, policies, policy, refused, valid,
};
use crate::conformance::waiting::eventually;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = answers();
    cases.extend(failures());
    cases
}

fn answers() -> Vec<Case> {
    vec![
        case(
            "a_broken_validation_refuses_and_shows_its_expression",
            "A write that breaks a validation answers 422 Invalid, with the policy, the binding and the expression.",
            async |t| {
                enforce(t, valid("object.metadata.name != 'no'"), json!({})).await?;
                let status = refused(t, &map("no", &[])).await?.refused(422, "Invalid")?;
                let why = message(t, "no", "failed expression: object.metadata.name != 'no'");
                let cause = why.split_once("forbidden: ").map_or("", |(_, cause)| cause);
                has(
                    &status,
                    json!({
                        "message": why,
                        "details": { "name": "no", "kind": "configmaps", "causes": [{ "message": cause }] },
                    }),
                )?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "a_message_takes_the_place_of_the_expression",
            "The trimmed message of a validation is what the refusal says.",
            async |t| {
                let validation = json!({ "expression": "false", "message": " never \t" });
                enforce(t, json!({ "validations": [validation] }), json!({})).await?;
                denies(t, "never").await
            },
        ),
        case(
            "an_expression_makes_the_message",
            "A messageExpression that makes a text takes the place of the message.",
            async |t| {
                let validation = json!({
                    "expression": "false", "message": "never",
                    "messageExpression": "'not ' + object.metadata.name",
                });
                enforce(t, json!({ "validations": [validation] }), json!({})).await?;
                denies(t, "not no").await
            },
        ),
        case(
            "an_expression_that_makes_no_message_is_ignored",
            "A messageExpression that fails, or makes blanks or two lines, leaves the message.",
            async |t| {
                for (at, makes) in
                    ["string(object.data.missing)", "'  '", r"'a\nb'"].into_iter().enumerate()
                {
                    let validation = json!({
                        "expression": format!("object.metadata.name != 'no{at}'"),
                        "message": format!("message {at}"), "messageExpression": makes,
                    });
                    let name = t.own(&format!("policy-{at}"));
                    let mut one = policy(t, json!({ "validations": [validation] }));
                    one["metadata"]["name"] = name.as_str().into();
                    t.keep_namespace();
                    t.make(&policies(""), one).await?;
                    let spec = json!({ "policyName": name, "validationActions": ["Deny"] });
                    let bound = json!({ "metadata": { "name": name }, "spec": spec });
                    t.make(&bindings(""), bound).await?;
                    let refusal = refused(t, &map(&format!("no{at}"), &[])).await?;
                    refusal.says(422, "Invalid", &format!("denied request: message {at}"))?;
                }
                Ok(())
            },
        ),
        case(
            "a_reason_sets_the_code",
            "Forbidden answers 403, RequestEntityTooLarge 413.",
            async |t| {
                let reasons = [("Forbidden", 403), ("RequestEntityTooLarge", 413)];
                let validations = reasons.map(|(reason, code)| {
                    let expression = format!("object.metadata.name != 'no{code}'");
                    json!({ "expression": expression, "reason": reason })
                });
                enforce(t, json!({ "validations": validations }), json!({})).await?;
                for (reason, code) in reasons {
                    refused(t, &map(&format!("no{code}"), &[])).await?.refused(code, reason)?;
                }
                Ok(())
            },
        ),
        case(
            "the_first_broken_validation_is_the_answer",
            "Of several broken validations only the first is told.",
            async |t| {
                let validations = json!([
                    { "expression": "true", "message": "holds" },
                    { "expression": "false", "message": "first", "reason": "Forbidden" },
                    { "expression": "false", "message": "second" },
                ]);
                enforce(t, json!({ "validations": validations }), json!({})).await?;
                let status = refused(t, &map("no", &[])).await?.refused(403, "Forbidden")?;
                same("the message", text(&status, "/message"), message(t, "no", "first").as_str())?;
                same("causes", items(&status, "/details/causes").len(), 1)
            },
        ),
        case(
            "a_warning_lets_the_write_pass",
            "With the action Warn the write passes and warns once for each broken validation.",
            async |t| {
                let validations = json!([
                    { "expression": "object.metadata.name != 'no'", "message": "first" },
                    { "expression": "object.metadata.name != 'no'", "message": "second" },
                ]);
                let warn = json!({ "validationActions": ["Warn", "Audit"] });
                enforce(t, json!({ "validations": validations }), warn).await?;
                let warned = eventually(async || {
                    let answer = t.post(&t.maps("?dryRun=All"), &map("no", &[])).await?;
                    answer.is(201)?;
                    let warned = !answer.warnings().is_empty();
                    Ok(if warned { Ok(answer) } else { Err("no warning".to_owned()) })
                })
                .await?;
                let (policy, binding) = (t.own("policy"), t.own("binding"));
                let wanted = ["first", "second"].map(|why| {
                    format!(
                        "299 - \"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {why}\""
                    )
                });
                same("warnings", warned.warnings(), wanted.to_vec())?;
                t.post(&t.maps(""), &map("no", &[])).await?.is(201)?;
                let patched = t.merge(&t.maps("/no"), json!({ "data": { "k": "w" } })).await?;
                patched.is(200)?;
                same("warnings", patched.warnings().len(), 2)?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "both_bindings_act",
            "A second binding of a policy warns of what the first refuses, in the refusal.",
            async |t| {
                enforce(t, valid("object.metadata.name != 'no'"), json!({})).await?;
                let spec = json!({ "policyName": t.own("policy"), "validationActions": ["Warn"] });
                let second = json!({ "metadata": { "name": t.own("second") }, "spec": spec });
                t.make(&bindings(""), second).await?;
                let refusal = eventually(async || {
                    let refusal = refused(t, &map("no", &[])).await?;
                    let warned = !refusal.warnings().is_empty();
                    Ok(if warned { Ok(refusal) } else { Err("no warning".to_owned()) })
                })
                .await?;
                let warning = format!("with binding '{}': failed expression", t.own("second"));
                holds("the second binding warns", refusal.warnings()[0].contains(&warning))
            },
        ),
    ]
}

fn failures() -> Vec<Case> {
    let with = |policy: &str, expression: &str| {
        let mut spec = valid(expression);
        spec["failurePolicy"] = policy.into();
        spec
    };
    vec![
        case(
            "an_expression_that_fails_refuses",
            "An expression without a value refuses with its error, unless the failure policy ignores it.",
            async move |t| {
                let fails = "object.data.k != 'v' || object.data.missing == 'x'";
                enforce(t, with("Fail", fails), json!({})).await?;
                let why = format!("expression '{fails}' resulted in error: no such key: missing");
                denies(t, &why).await
            },
        ),
        case(
            "a_failure_may_be_ignored",
            "With failurePolicy Ignore an expression that fails lets the write pass; one that is false does not.",
            async move |t| {
                let mut spec = with("Ignore", "object.data.missing == 'x'");
                let more = json!({ "expression": "object.metadata.name != 'no'" });
                let fails = spec["validations"][0].take();
                spec["validations"] = json!([fails, more]);
                enforce(t, spec, json!({})).await?;
                denies(t, "failed expression: object.metadata.name != 'no'").await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "an_expression_that_costs_too_much_is_stopped",
            "An expression beyond the limit of one evaluation fails.",
            async move |t| {
                let long = "lists.range(1000).all(x, lists.range(1000).all(y, true))";
                enforce(t, with("Fail", long), json!({})).await?;
                let why = "operation cancelled: actual cost limit exceeded";
                denies(t, &format!("expression '{long}' resulted in error: {why}")).await
            },
        ),
        case(
            "the_validations_of_a_policy_share_a_budget",
            "Validations that together cost too much refuse the write.",
            async move |t| {
                let long = "lists.range(1000).all(x, lists.range(200).all(y, true))";
                let validations = vec![json!({ "expression": long }); 16];
                enforce(t, json!({ "validations": validations }), json!({})).await?;
                let why = "validation failed due to running out of cost budget, no further \
                           validation rules will be run";
                denies(t, why).await
            },
        ),
        case(
            "an_audit_annotation_that_fails_refuses",
            "An audit annotation without a value refuses, whatever the actions of the binding.",
            async move |t| {
                let fails = "object.data.missing";
                let annotation =
                    json!({ "key": "a", "valueExpression": format!("string({fails})") });
                let warn = json!({ "validationActions": ["Warn"] });
                enforce(t, json!({ "auditAnnotations": [annotation] }), warn).await?;
                let why =
                    format!("expression 'string({fails})' resulted in error: no such key: missing");
                denies(t, &why).await
            },
        ),
    ]
}
