//! Questions that are answered at once: access reviews, rules, who am I, whose token is this.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::access::users::{by, get_by, grant, own_user, rule};
use crate::conformance::answer::*;
use crate::conformance::target::Target;
use crate::conformance::{Answer, Case, case};

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";
const AUTHENTICATION: &str = "/apis/authentication.k8s.io/v1";

async fn ask(t: &Target, user: &str, plural: &str, question: Value) -> Result<Answer, String> {
    by(t, user, Method::POST, &format!("{AUTHORIZATION}/{plural}"), &question).await
}

async fn ask_local(t: &Target, question: Value) -> Result<Answer, String> {
    let path = format!("{AUTHORIZATION}/namespaces/{}/localsubjectaccessreviews", t.namespace);
    t.post(&path, &question).await
}

fn about(verb: &str, resource: &str, namespace: &str) -> Value {
    json!({ "resourceAttributes": { "verb": verb, "resource": resource, "namespace": namespace } })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = own();
    cases.extend(others());
    cases.extend(who());
    cases
}

fn own() -> Vec<Case> {
    let own = "selfsubjectaccessreviews";
    vec![
        case(
            "what_may_not_be_done_is_not_allowed_without_a_reason",
            "A SelfSubjectAccessReview of something nobody granted answers 201 with allowed false and no reason.",
            async move |t| {
                let said =
                    ask(t, "bob", own, json!({ "spec": about("get", "pods", &t.namespace) }))
                        .await?
                        .is(201)?;
                same("the status", &said["status"], &json!({ "allowed": false }))
            },
        ),
        case(
            "what_was_granted_is_allowed_with_the_binding_as_reason",
            "It names the binding, the role and the subject by which it is allowed.",
            async move |t| {
                grant(t, "bob", json!([rule(&["get"], "", &["pods"])])).await?;
                let said =
                    ask(t, "bob", own, json!({ "spec": about("get", "pods", &t.namespace) }))
                        .await?
                        .is(201)?;
                let reason = format!(
                    "RBAC: allowed by RoleBinding \"bob/{}\" of Role \"bob\" to User \"{}\"",
                    t.namespace,
                    t.own("bob")
                );
                same("the status", &said["status"], &json!({ "allowed": true, "reason": reason }))
            },
        ),
        case(
            "the_question_comes_back_with_the_answer",
            "Kind, apiVersion and spec of a review are in its answer.",
            async move |t| {
                let spec = about("get", "pods", &t.namespace);
                let said = ask(t, "bob", own, json!({ "spec": spec })).await?.is(201)?;
                has(
                    &said,
                    json!({ "kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": spec }),
                )
            },
        ),
        case(
            "an_administrator_is_allowed_without_a_reason",
            "A member of system:masters is allowed everything, without a word why.",
            async move |t| {
                let path = format!("{AUTHORIZATION}/{own}");
                let said = t
                    .post(&path, &json!({ "spec": about("anything", "whatever", "") }))
                    .await?
                    .is(201)?;
                same("the status", &said["status"], &json!({ "allowed": true }))
            },
        ),
        case(
            "a_path_can_be_asked_about",
            "nonResourceAttributes ask about a path, which system:public-info-viewer may allow.",
            async move |t| {
                let spec =
                    json!({ "nonResourceAttributes": { "verb": "get", "path": "/version" } });
                let said = ask(t, "bob", own, json!({ "spec": spec })).await?.is(201)?;
                has(&said["status"], json!({ "allowed": true, "reason": "*" }))?;
                let spec =
                    json!({ "nonResourceAttributes": { "verb": "get", "path": "/metrics" } });
                let said = ask(t, "bob", own, json!({ "spec": spec })).await?.is(201)?;
                same("the status", &said["status"], &json!({ "allowed": false }))
            },
        ),
        case(
            "the_subresource_is_asked_about_apart",
            "The subresource of a question is not its resource.",
            async move |t| {
                grant(t, "bob", json!([rule(&["get"], "", &["pods/log"])])).await?;
                let mut spec = about("get", "pods", &t.namespace);
                let said = ask(t, "bob", own, json!({ "spec": spec })).await?.is(201)?;
                same("pods", &said["status"]["allowed"], &json!(false))?;
                spec["resourceAttributes"]["subresource"] = json!("log");
                let said = ask(t, "bob", own, json!({ "spec": spec })).await?.is(201)?;
                same("pods/log", &said["status"]["allowed"], &json!(true))
            },
        ),
        case(
            "a_role_in_a_namespace_is_no_answer_for_all",
            "A question without a namespace is about all of them.",
            async move |t| {
                grant(t, "bob", json!([rule(&["get"], "", &["pods"])])).await?;
                let said = ask(t, "bob", own, json!({ "spec": about("get", "pods", "") }))
                    .await?
                    .is(201)?;
                same("the status", &said["status"]["allowed"], &json!(false))
            },
        ),
        case(
            "a_question_about_nothing_is_invalid",
            "Without attributes a review is 422, and names no kind.",
            async move |t| {
                for body in [json!({}), json!({ "spec": {} })] {
                    let status = ask(t, "bob", own, body)
                        .await?
                        .invalid(&["FieldValueInvalid spec.resourceAttributes"])?;
                    same(
                        "the message",
                        text(&status, "/message"),
                        ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
                    )?;
                    holds("there is no kind", status["details"].get("kind").is_none())?;
                }
                Ok(())
            },
        ),
        case(
            "a_question_about_two_things_is_invalid",
            "With resourceAttributes and nonResourceAttributes a review is 422.",
            async move |t| {
                let mut spec = about("get", "pods", "");
                spec["nonResourceAttributes"] = json!({ "verb": "get", "path": "/" });
                let answer = ask(t, "bob", own, json!({ "spec": spec })).await?;
                let status = answer.invalid(&["FieldValueInvalid spec.nonResourceAttributes"])?;
                holds(
                    "it shows the value",
                    text(&status, "/message")
                        .contains("Invalid value: {\"Path\":\"/\",\"Verb\":\"get\"}: cannot be"),
                )
            },
        ),
        case(
            "a_review_has_no_name",
            "Metadata in a SelfSubjectAccessReview are 422.",
            async move |t| {
                let question =
                    json!({ "metadata": { "name": "x" }, "spec": about("get", "pods", "") });
                ask(t, "bob", own, question).await?.invalid(&["FieldValueInvalid metadata"])?;
                Ok(())
            },
        ),
        case(
            "types_in_a_review_are_checked",
            "A wrong type answers 400, an unknown member with fieldValidation=Strict too.",
            async move |t| {
                let wrong = json!({ "spec": { "resourceAttributes": { "verb": 5 } } });
                ask(t, "bob", own, wrong).await?.says(
                    400,
                    "BadRequest",
                    "SelfSubjectAccessReview in version \"v1\" cannot be handled as a SelfSubjectAccessReview: ",
                )?;
                let mut unknown = json!({ "spec": about("get", "pods", "") });
                unknown["spec"]["resourceAttributes"]["nothing"] = json!(1);
                let strict = format!("{own}?fieldValidation=Strict");
                ask(t, "bob", &strict, unknown.clone()).await?.says(
                    400,
                    "BadRequest",
                    "strict decoding error: unknown field \"spec.resourceAttributes.nothing\"",
                )?;
                let answer = ask(t, "bob", own, unknown).await?;
                answer.is(201)?;
                same(
                    "the warnings",
                    answer.warnings(),
                    ["299 - \"unknown field \\\"spec.resourceAttributes.nothing\\\"\""],
                )
            },
        ),
        case(
            "a_review_may_come_with_a_status",
            "A status in a question is read and has no effect; what it has that is unknown is warned of.",
            async move |t| {
                let mut question =
                    json!({ "spec": about("get", "pods", ""), "status": { "allowed": true } });
                let answer = ask(t, "bob", own, question.clone()).await?;
                same("the status", &answer.is(201)?["status"], &json!({ "allowed": false }))?;
                same("the warnings", answer.warnings().len(), 0)?;
                question["status"]["odd"] = json!(1);
                let answer = ask(t, "bob", own, question.clone()).await?;
                answer.is(201)?;
                same(
                    "the warnings",
                    answer.warnings(),
                    ["299 - \"unknown field \\\"status.odd\\\"\""],
                )?;
                question["status"]["allowed"] = json!("yes");
                ask(t, "bob", own, question).await?.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "another_kind_of_review_is_refused",
            "A body of another kind or version answers 400.",
            async move |t| {
                let other = json!({ "kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {} });
                ask(t, "bob", own, other).await?.says(400, "BadRequest", "unknown conversion")?;
                let old = json!({ "apiVersion": "authorization.k8s.io/v1beta1", "spec": {} });
                ask(t, "bob", own, old).await?.says(
                    400,
                    "BadRequest",
                    "the API version in the data (authorization.k8s.io/v1beta1) does not match the expected API version",
                )?;
                Ok(())
            },
        ),
        case(
            "reviews_can_only_be_posted",
            "GET of a review's collection is 405, and of a name below it 404.",
            async move |t| {
                t.get(&format!("{AUTHORIZATION}/{own}")).await?.refused(405, "MethodNotAllowed")?;
                t.get(&format!("{AUTHORIZATION}/{own}/x")).await?.refused(404, "NotFound")?;
                t.delete(&format!("{AUTHENTICATION}/tokenreviews"))
                    .await?
                    .refused(405, "MethodNotAllowed")?;
                Ok(())
            },
        ),
        case(
            "discovery_lists_reviews_with_create_alone",
            "The groups of reviews are served, and their only verb is create.",
            async move |t| {
                for (path, plurals) in [
                    (
                        AUTHORIZATION,
                        &[
                            "localsubjectaccessreviews",
                            own,
                            "selfsubjectrulesreviews",
                            "subjectaccessreviews",
                        ][..],
                    ),
                    (AUTHENTICATION, &["selfsubjectreviews", "tokenreviews"][..]),
                ] {
                    let list = t.get(path).await?.is(200)?;
                    let resources = items(&list, "/resources");
                    let names: Vec<_> = resources.iter().map(|one| text(one, "/name")).collect();
                    same("the names", &names[..], plurals)?;
                    for resource in resources {
                        same("the verbs", &resource["verbs"], &json!(["create"]))?;
                    }
                }
                Ok(())
            },
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case(
            "a_right_is_needed_to_ask_about_others",
            "A SubjectAccessReview by a user without rights is 403.",
            async |t| {
                let mut spec = about("get", "pods", "");
                spec["user"] = json!("alice");
                ask(t, "bob", "subjectaccessreviews", json!({ "spec": spec }))
                    .await?
                    .refused(403, "Forbidden")?;
                Ok(())
            },
        ),
        case(
            "others_are_asked_about_by_name_and_groups",
            "A SubjectAccessReview is answered for exactly the user and the groups that it names.",
            async |t| {
                grant(t, "bob", json!([rule(&["get"], "", &["pods"])])).await?;
                let path = format!("{AUTHORIZATION}/subjectaccessreviews");
                let mut spec = about("get", "pods", &t.namespace);
                spec["user"] = json!(own_user(t, "bob"));
                let said = t.post(&path, &json!({ "spec": spec })).await?.is(201)?;
                same("bob", &said["status"]["allowed"], &json!(true))?;
                spec["user"] = json!("alice");
                let said = t.post(&path, &json!({ "spec": spec })).await?.is(201)?;
                same("alice", &said["status"]["allowed"], &json!(false))?;
                spec["groups"] = json!(["system:masters"]);
                let said = t.post(&path, &json!({ "spec": spec })).await?.is(201)?;
                same("alice, a master", &said["status"]["allowed"], &json!(true))?;
                same("what was asked", &said["spec"], &spec)
            },
        ),
        case(
            "a_user_that_is_named_has_no_group_by_itself",
            "Without its groups a user is not even authenticated in a SubjectAccessReview.",
            async |t| {
                let path = format!("{AUTHORIZATION}/subjectaccessreviews");
                let of_path = json!({ "verb": "get", "path": "/version" });
                let spec = json!({ "user": "x", "nonResourceAttributes": of_path });
                let said = t.post(&path, &json!({ "spec": spec })).await?.is(201)?;
                same("the user alone", &said["status"]["allowed"], &json!(false))?;
                let spec =
                    json!({ "groups": ["system:authenticated"], "nonResourceAttributes": of_path });
                let said = t.post(&path, &json!({ "spec": spec })).await?.is(201)?;
                same("the group", &said["status"]["allowed"], &json!(true))
            },
        ),
        case(
            "somebody_must_be_asked_about",
            "A SubjectAccessReview without user and groups is 422.",
            async |t| {
                let path = format!("{AUTHORIZATION}/subjectaccessreviews");
                let answer = t.post(&path, &json!({ "spec": about("get", "pods", "") })).await?;
                answer.invalid(&["FieldValueInvalid spec.user"])?;
                Ok(())
            },
        ),
        case(
            "a_local_review_is_about_its_namespace",
            "A LocalSubjectAccessReview takes its namespace from the path, and asks about no other and about no path.",
            async |t| {
                let mut spec = about("get", "pods", &t.namespace);
                spec["user"] = json!("alice");
                let said = ask_local(t, json!({ "spec": spec })).await?.is(201)?;
                same("the namespace", text(&said, "/metadata/namespace"), t.namespace.as_str())?;
                same("the status", &said["status"], &json!({ "allowed": false }))?;
                let elsewhere = json!({ "metadata": { "namespace": "other" }, "spec": spec });
                ask_local(t, elsewhere).await?.refused(400, "BadRequest")?;
                spec["resourceAttributes"]["namespace"] = json!("other");
                ask_local(t, json!({ "spec": spec }))
                    .await?
                    .invalid(&["FieldValueInvalid spec.resourceAttributes.namespace"])?;
                let spec = json!({ "user": "alice", "nonResourceAttributes": { "verb": "get", "path": "/" } });
                ask_local(t, json!({ "spec": spec }))
                    .await?
                    .invalid(&["FieldValueInvalid spec.nonResourceAttributes"])?;
                Ok(())
            },
        ),
        case(
            "a_local_review_needs_no_namespace_that_exists",
            "A review in a namespace that does not exist is answered.",
            async |t| {
                let mut spec = about("get", "pods", "not-there-at-all");
                spec["user"] = json!("alice");
                let path = format!(
                    "{AUTHORIZATION}/namespaces/not-there-at-all/localsubjectaccessreviews"
                );
                t.post(&path, &json!({ "spec": spec })).await?.is(201)?;
                t.post(
                    &format!("{AUTHORIZATION}/localsubjectaccessreviews"),
                    &json!({ "spec": spec }),
                )
                .await?
                .refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "the_rules_of_a_user_are_listed",
            "A SelfSubjectRulesReview has the rules of all roles of the user in one namespace, those of every user among them.",
            async |t| {
                let mut named = rule(&["get"], "", &["pods"]);
                named["resourceNames"] = json!(["p"]);
                grant(t, "bob", json!([named.clone()])).await?;
                let question = json!({ "spec": { "namespace": t.namespace } });
                let said = ask(t, "bob", "selfsubjectrulesreviews", question).await?.is(201)?;
                let rules = items(&said, "/status/resourceRules");
                holds("its own rule is there", rules.contains(&named))?;
                let reviews = rule(
                    &["create"],
                    "authorization.k8s.io",
                    &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                );
                holds("that of every user is there", rules.contains(&reviews))?;
                let paths = items(&said, "/status/nonResourceRules");
                holds("paths are there", paths.iter().any(|one| one["verbs"] == json!(["get"])))?;
                same("whether it is all", &said["status"]["incomplete"], &json!(false))?;
                same("the spec", &said["spec"], &json!({}))?;
                let elsewhere = json!({ "spec": { "namespace": "default" } });
                let said = ask(t, "bob", "selfsubjectrulesreviews", elsewhere).await?.is(201)?;
                holds(
                    "it does not hold elsewhere",
                    !items(&said, "/status/resourceRules").contains(&named),
                )
            },
        ),
        case(
            "rules_are_asked_for_in_a_namespace",
            "A SelfSubjectRulesReview without a namespace answers 400.",
            async |t| {
                ask(t, "bob", "selfsubjectrulesreviews", json!({ "spec": {} })).await?.says(
                    400,
                    "BadRequest",
                    "no namespace on request",
                )?;
                Ok(())
            },
        ),
    ]
}

fn who() -> Vec<Case> {
    let mine = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
    vec![
        case(
            "who_asks_is_told_name_and_groups",
            "A SelfSubjectReview answers with the user's name and groups, a time, and without a spec.",
            async move |t| {
                let said = by(t, "bob", Method::POST, mine, &json!({})).await?.is(201)?;
                let info = json!({ "username": t.own("bob"), "groups": ["system:authenticated"] });
                same("the user", &said["status"]["userInfo"], &info)?;
                has(
                    &said,
                    json!({ "kind": "SelfSubjectReview", "metadata": { "creationTimestamp": "*" }, "spec": null }),
                )
            },
        ),
        case(
            "a_token_is_needed_in_a_token_review",
            "A TokenReview without a token answers 400.",
            async move |t| {
                t.post(tokens, &json!({ "spec": {} })).await?.says(
                    400,
                    "BadRequest",
                    "token is required for TokenReview in authentication",
                )?;
                Ok(())
            },
        ),
        case(
            "an_unknown_token_is_nobodys",
            "A TokenReview of an unknown token answers 201 with an error and no user.",
            async move |t| {
                let said =
                    t.post(tokens, &json!({ "spec": { "token": "nobodys" } })).await?.is(201)?;
                let status = json!({ "user": {}, "error": "invalid bearer token" });
                same("the status", &said["status"], &status)
            },
        ),
        case(
            "a_right_is_needed_to_ask_whose_token_it_is",
            "A TokenReview by a user without rights is 403.",
            async move |t| {
                let answer =
                    by(t, "bob", Method::POST, tokens, &json!({ "spec": { "token": "x" } }))
                        .await?;
                answer.refused(403, "Forbidden")?;
                get_by(t, "bob", tokens).await?.refused(403, "Forbidden")?;
                Ok(())
            },
        ),
    ]
}
