//! The expressions of policies and webhooks are compiled when these are written.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::policies::fixture::{GROUP, policies, policy};
use crate::conformance::{Case, Outcome, Target, case};

/// The create of a policy is refused for these causes: each a field and the beginning of its
/// message.
async fn wrong(t: &Target, spec: Value, causes: &[(&str, &str)]) -> Outcome {
    let answer = t.post(&policies("?dryRun=All"), &policy(t, spec)).await?;
    let status = answer.refused(422, "Invalid")?;
    let found: Vec<_> = items(&status, "/details/causes")
        .iter()
        .map(|cause| (text(cause, "/field").to_owned(), text(cause, "/message").to_owned()))
        .collect();
    let fits = found.len() == causes.len()
        && found.iter().zip(causes).all(|((field, message), (wanted, begins))| {
            field == wanted && message.starts_with(begins)
        });
    holds(&format!("{found:#?} are {causes:#?}"), fits)
}

fn validation(members: Value) -> Value {
    json!({ "validations": [members] })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = validations();
    cases.extend(others());
    cases
}

fn validations() -> Vec<Case> {
    vec![
        case(
            "an_expression_must_compile",
            "A validation that does not compile is refused, with cel-go's error and its place.",
            async |t| {
                let why = "Invalid value: \"object.a ==\": compilation failed: ERROR: <input>:1:12: \
                           Syntax error: mismatched input '<EOF>' expecting";
                let spec = validation(json!({ "expression": "object.a ==" }));
                wrong(t, spec, &[("spec.validations[0].expression", why)]).await?;
                let why = "Invalid value: \"foo\": compilation failed: ERROR: <input>:1:1: undeclared \
                           reference to 'foo' (in container '')\n | foo\n | ^";
                let spec = validation(json!({ "expression": "foo" }));
                wrong(t, spec, &[("spec.validations[0].expression", why)]).await
            },
        ),
        case(
            "a_validation_must_be_a_bool",
            "A validation of another type is refused, `dyn` too.",
            async |t| {
                for (source, of) in [
                    ("'a'", "string"),
                    ("object.spec", "dyn"),
                    ("request.userInfo.groups", "list(string)"),
                    ("request.userInfo.extra", "map(string, list(string))"),
                    ("request.kind", "kubernetes.GroupVersionKind"),
                    ("namespaceObject.metadata.creationTimestamp", "google.protobuf.Timestamp"),
                    ("authorizer", "kubernetes.authorization.Authorizer"),
                    ("authorizer.requestResource", "kubernetes.authorization.ResourceCheck"),
                    ("null", "null_type"),
                    ("optional.of(1)", "optional_type(int)"),
                ] {
                    let why =
                        format!("Invalid value: {source:?}: must evaluate to bool but got {of}");
                    let spec = validation(json!({ "expression": source }));
                    wrong(t, spec, &[("spec.validations[0].expression", &why)]).await?;
                }
                Ok(())
            },
        ),
        case(
            "the_members_of_the_request_are_known",
            "`request` and `namespaceObject` have their members and no others.",
            async |t| {
                let why = |source: &str, at: usize, member: &str| {
                    format!(
                        "Invalid value: {source:?}: compilation failed: ERROR: <input>:1:{at}: \
                         undefined field '{member}'"
                    )
                };
                for (source, at, member) in [
                    ("request.object == null", 8, "object"),
                    ("request.uid == ''", 8, "uid"),
                    ("request.userInfo.name == ''", 17, "name"),
                    ("namespaceObject.metadata.uid == ''", 25, "uid"),
                    ("namespaceObject.kind == ''", 16, "kind"),
                ] {
                    let why = why(source, at, member);
                    let spec = validation(json!({ "expression": source }));
                    wrong(t, spec, &[("spec.validations[0].expression", &why)]).await?;
                }
                Ok(())
            },
        ),
        case(
            "a_message_expression_must_be_a_text",
            "A messageExpression of another type is refused, and so is the authorizer in it.",
            async |t| {
                let message = |source: &str| {
                    validation(json!({ "expression": "true", "messageExpression": source }))
                };
                let place = "spec.validations[0].messageExpression";
                let why = "Invalid value: \"1\": must evaluate to string but got int";
                wrong(t, message("1"), &[(place, why)]).await?;
                let source = "authorizer.path('/').check('get').reason()";
                let why = format!(
                    "Invalid value: {source:?}: compilation failed: ERROR: <input>:1:1: undeclared \
                     reference to 'authorizer' (in container '')"
                );
                wrong(t, message(source), &[(place, &why)]).await
            },
        ),
        case(
            "the_checker_says_what_does_not_fit",
            "Errors of types are told where they are, in cel-go's words.",
            async |t| {
                let filtered = |of: &str, result: &str| {
                    format!(
                        "found no matching overload for '_?_:_' applied to '({of}, {result}, {result})'"
                    )
                };
                let authorizer = "'kubernetes.authorization.Authorizer'";
                for (source, at, why) in [
                    ("-has(-object.a)", 6, "invalid argument to has() macro".to_owned()),
                    (
                        "authorizer.a == 1",
                        11,
                        format!("unexpected failed resolution of {authorizer}"),
                    ),
                    ("[1].filter(x, 'a') == []", 11, filtered("string", "list(int)")),
                    ("[1].map(x, 'a', true) == []", 8, filtered("string", "list(bool)")),
                    ("[1].exists_one(x, 'a')", 15, filtered("string", "int")),
                    ("[1].map(x.a, 1) == []", 10, "argument is not an identifier".to_owned()),
                    ("[1].all(x.a, true)", 10, "argument must be a simple name".to_owned()),
                    (
                        "1 ? 2 : (1 && true)",
                        3,
                        "found no matching overload for '_?_:_' applied to '(int, int, !error!)'"
                            .to_owned(),
                    ),
                ] {
                    let why = format!(
                        "Invalid value: {source:?}: compilation failed: ERROR: <input>:1:{at}: {why}\n"
                    );
                    let spec = validation(json!({ "expression": source }));
                    wrong(t, spec, &[("spec.validations[0].expression", &why)]).await?;
                }
                Ok(())
            },
        ),
        case("params_need_a_kind", "`params` is declared only with a paramKind.", async |t| {
            let spec = validation(json!({ "expression": "params.a == 1" }));
            let why = "Invalid value: \"params.a == 1\": compilation failed: ERROR: <input>:1:1: \
                           undeclared reference to 'params' (in container '')";
            wrong(t, spec.clone(), &[("spec.validations[0].expression", why)]).await?;
            let mut spec = spec;
            spec["paramKind"] = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
            t.post(&policies("?dryRun=All"), &policy(t, spec)).await?.is(201)?;
            Ok(())
        }),
        case(
            "a_literal_that_cannot_be_converted_is_an_internal_error",
            "A conversion of a literal that fails is answered as an error of the server's own.",
            async |t| {
                let spec = validation(json!({ "expression": "int('x') == 1" }));
                let why = "Internal error: program instantiation failed: ";
                wrong(t, spec, &[("spec.validations[0].expression", why)]).await
            },
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case(
            "a_variable_must_compile_and_knows_those_before",
            "A variable that does not compile is refused; it does not know the variables after it.",
            async |t| {
                let spec = json!({
                    "variables": [
                        { "name": "first", "expression": "variables.second" },
                        { "name": "second", "expression": "1 + 'a'" },
                        { "name": "third", "expression": "[1, 2]" },
                    ],
                    "validations": [{ "expression": "variables.third[0] == 'a' || variables.fourth" }],
                });
                let causes = [
                    (
                        "spec.variables[0].expression",
                        "Invalid value: \"variables.second\": compilation failed: ERROR: <input>:1:10: undefined \
                         field 'second'",
                    ),
                    (
                        "spec.variables[1].expression",
                        "Invalid value: \"1 + 'a'\": compilation failed: ERROR: <input>:1:3: found no matching \
                         overload for '_+_' applied to '(int, string)'",
                    ),
                    (
                        "spec.validations[0].expression",
                        "Invalid value: \"variables.third[0] == 'a' || variables.fourth\": compilation failed: \
                         ERROR: <input>:1:20: found no matching overload for '_==_' applied to '(int, string)'",
                    ),
                ];
                wrong(t, spec, &causes).await
            },
        ),
        case(
            "conditions_know_no_variables",
            "A matchCondition must be a bool and does not know `variables`.",
            async |t| {
                let spec = json!({
                    "variables": [{ "name": "a", "expression": "true" }],
                    "matchConditions": [
                        { "name": "a", "expression": " variables.a " },
                        { "name": "b", "expression": "'b'" },
                    ],
                    "validations": [{ "expression": "variables.a" }],
                });
                let causes = [
                    (
                        "spec.matchConditions[0].expression",
                        "Invalid value: \"variables.a\": compilation failed: ERROR: <input>:1:1: undeclared \
                         reference to 'variables' (in container '')",
                    ),
                    (
                        "spec.matchConditions[1].expression",
                        "Invalid value: \"'b'\": must evaluate to bool but got string",
                    ),
                ];
                wrong(t, spec, &causes).await
            },
        ),
        case(
            "an_audit_annotation_must_be_a_text_or_null",
            "The value of an audit annotation of another type is refused.",
            async |t| {
                let spec = json!({ "auditAnnotations": [
                    { "key": "a", "valueExpression": "1" },
                    { "key": "b", "valueExpression": "null" },
                    { "key": "c", "valueExpression": "'c'" },
                ] });
                let why =
                    "Invalid value: \"1\": must evaluate to one of [string null_type] but got int";
                wrong(t, spec, &[("spec.auditAnnotations[0].valueExpression", why)]).await
            },
        ),
        case(
            "conditions_that_were_stored_are_not_compiled_again",
            "An update compiles what has changed.",
            async |t| {
                let spec = json!({
                    "matchConditions": [{ "name": "a", "expression": "true" }],
                    "validations": [{ "expression": "true" }],
                });
                let mut made = t.make(&policies(""), policy(t, spec)).await?;
                let path = policies(&format!("/{}", t.own("policy")));
                made["spec"]["matchConditions"][0]["expression"] = "1".into();
                t.put(&path, &made)
                    .await?
                    .invalid(&["FieldValueInvalid spec.matchConditions[0].expression"])?;
                Ok(())
            },
        ),
        case(
            "conditions_of_webhooks_must_compile",
            "The matchConditions of webhooks know neither parameters nor variables.",
            async |t| {
                let hook = |condition: &str| {
                    json!({
                        "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                        "clientConfig": { "url": "https://localhost/" },
                        "matchConditions": [{ "name": "a", "expression": condition }],
                    })
                };
                for kind in ["validating", "mutating"] {
                    let path = format!("{GROUP}/{kind}webhookconfigurations?dryRun=All");
                    let configuration = json!({
                        "metadata": { "name": t.own("hooks") },
                        "webhooks": [hook("params == null")],
                    });
                    let answer = t.post(&path, &configuration).await?;
                    answer.invalid(&[
                        "FieldValueInvalid webhooks[0].matchConditions[0].expression",
                    ])?;
                    answer.says(422, "Invalid", "undeclared reference to 'params'")?;
                }
                Ok(())
            },
        ),
    ]
}
