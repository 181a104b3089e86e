//! Continue tokens and the versions of lists: where pages go on, what is said of tokens and options
//! that cannot be.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::Target;
use crate::conformance::{Case, Outcome, case};

/// Tokens by hand, in the base64 of URLs.
const NO_VERSION: &str = "e30";
const NO_REVISION: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ";
const NO_START: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mn0";
const OTHER_VERSION: &str = "eyJ2IjoidjkiLCJydiI6Miwic3RhcnQiOiIvYSJ9";
const CUT_SHORT: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mg";
const UPWARDS: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Miwic3RhcnQiOiIuLi8uLi8uLi9hIn0";
/// From `b` on, at whatever is newest.
const NEWEST_FROM_B: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiL2IifQ";
const FUTURE: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OTk5OSwic3RhcnQiOiIvYSJ9";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = tokens();
    cases.extend(versions());
    cases
}

async fn fill(t: &Target, names: &[&str]) -> Outcome {
    for name in names {
        t.labelled(name, "l", "1").await?;
    }
    Ok(())
}

async fn token_of_two(t: &Target) -> Result<String, String> {
    let page = t.get(&t.maps("?limit=2")).await?.is(200)?;
    Ok(text(&page, "/metadata/continue").to_owned())
}

fn tokens() -> Vec<Case> {
    vec![
        case(
            "a_token_takes_another_selector",
            "A continue token goes on with whatever selector the page names.",
            async |t| {
                fill(t, &["a", "b", "c", "d"]).await?;
                let token = token_of_two(t).await?;
                let none = t
                    .get(&t.maps(&format!("?continue={token}&labelSelector=l%3D2")))
                    .await?
                    .is(200)?;
                same("none", names(&none), String::new())?;
                let one = t
                    .get(&t.maps(&format!("?continue={token}&labelSelector=l%3D1&limit=1")))
                    .await?
                    .is(200)?;
                same("one", names(&one), "c".to_owned())?;
                holds("there is another page", !text(&one, "/metadata/continue").is_empty())
            },
        ),
        case(
            "a_token_names_a_place_below_the_collection",
            "A continue token of one namespace goes on at the same name in another one.",
            async |t| {
                fill(t, &["a", "b", "c"]).await?;
                let token = token_of_two(t).await?;
                let other = t
                    .get(&format!("/api/v1/namespaces/kube-system/secrets?continue={token}"))
                    .await?
                    .is(200)?;
                holds(
                    "nothing before the place is there",
                    items(&other, "/items").iter().all(|item| text(item, "/metadata/name") > "b"),
                )
            },
        ),
        case(
            "a_token_keeps_its_revision",
            "Every page carries the resourceVersion of the first one, whatever was written since.",
            async |t| {
                fill(t, &["a", "b", "c"]).await?;
                let first = t.get(&t.maps("?limit=1")).await?.is(200)?;
                t.map("later", "v").await?;
                let second =
                    t.get(&t.maps(&format!(
                        "?limit=1&continue={}",
                        text(&first, "/metadata/continue")
                    )))
                    .await?
                    .is(200)?;
                same("version", version(&second), version(&first))
            },
        ),
        case(
            "a_token_that_is_no_base64_is_400",
            "A continue token that is no base64 answers 400.",
            async |t| {
                for token in ["x", "abc.def"] {
                    let answer = t.get(&t.maps(&format!("?continue={token}"))).await?;
                    answer.says(400, "BadRequest", "invalid continue token")?;
                }
                Ok(())
            },
        ),
        case(
            "a_token_without_its_form_is_400",
            "A continue token without version, revision or place, or of another version, answers 400.",
            async |t| {
                for token in [NO_VERSION, OTHER_VERSION, NO_REVISION, NO_START, CUT_SHORT] {
                    let answer = t.get(&t.maps(&format!("?continue={token}"))).await?;
                    answer.says(400, "BadRequest", "invalid continue token")?;
                }
                Ok(())
            },
        ),
        case(
            "a_token_that_points_upwards_is_400",
            "A continue token whose place leads out of the collection answers 400.",
            async |t| {
                let answer = t.get(&t.maps(&format!("?continue={UPWARDS}"))).await?;
                answer.says(400, "BadRequest", "invalid continue token").map(drop)
            },
        ),
        case(
            "a_token_of_revision_minus_one_is_of_the_newest",
            "A continue token with revision -1 lists what is there now from its place on, at the newest revision.",
            async |t| {
                fill(t, &["a", "b", "c"]).await?;
                let rest = t.get(&t.maps(&format!("?continue={NEWEST_FROM_B}"))).await?.is(200)?;
                same("rest", names(&rest), "b,c".to_owned())
            },
        ),
        case(
            "a_token_from_the_future_is_504",
            "A continue token of a revision that was not written yet answers 504.",
            async |t| {
                t.get(&t.maps(&format!("?continue={FUTURE}"))).await?.says(
                    504,
                    "Timeout",
                    "Too large resource version",
                )?;
                Ok(())
            },
        ),
        case("pages_of_metadata", "A list of metadata alone comes in pages too.", async |t| {
            fill(t, &["a", "b", "c"]).await?;
            let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
            let page = t.get_as(&t.maps("?limit=2"), accept).await?.is(200)?;
            has(
                &page,
                json!({ "kind": "PartialObjectMetadataList", "metadata": { "continue": "*", "remainingItemCount": 1 } }),
            )?;
            same("page", names(&page), "a,b".to_owned())
        }),
        case(
            "pages_of_custom_objects",
            "Custom kinds come in pages, with the number of remaining items.",
            async |t| {
                for name in ["a", "b", "c"] {
                    t.make(&t.widgets(""), widget(name, json!({}))).await?;
                }
                let page = t.get(&t.widgets("?limit=1")).await?.is(200)?;
                has(&page, json!({ "metadata": { "remainingItemCount": 2 } }))?;
                let next = t
                    .get(&t.widgets(&format!("?continue={}", text(&page, "/metadata/continue"))))
                    .await?
                    .is(200)?;
                same("next", names(&next), "b,c".to_owned())
            },
        ),
        case(
            "a_list_of_all_namespaces_is_in_the_order_of_keys",
            "A list over all namespaces is in the order of `namespace/name` as text: the namespace `n-b` comes before `n`.",
            async |t| {
                let mut found = Vec::new();
                for name in ["n", "n-b"] {
                    let name = t.own(name);
                    t.make("/api/v1/namespaces", named(&name)).await?;
                    let mut object = map("m", "v");
                    object["metadata"]["labels"] = json!({ "order": t.class });
                    t.make(&format!("/api/v1/namespaces/{name}/configmaps"), object).await?;
                    found.insert(0, name);
                }
                let list = t
                    .get(&format!("/api/v1/configmaps?labelSelector=order%3D{}", t.class))
                    .await?
                    .is(200)?;
                let namespaces: Vec<_> = items(&list, "/items")
                    .iter()
                    .map(|item| text(item, "/metadata/namespace").to_owned())
                    .collect();
                for name in &found {
                    t.delete(&format!("/api/v1/namespaces/{name}/configmaps/m")).await?.is(200)?;
                    t.delete(&format!("/api/v1/namespaces/{name}")).await?.is(200)?;
                }
                same("namespaces", namespaces, found)
            },
        ),
    ]
}

fn versions() -> Vec<Case> {
    vec![
        case(
            "all_that_is_wrong_with_a_match_is_said",
            "An unknown resourceVersionMatch without a resourceVersion answers 422 with both causes.",
            async |t| {
                t.get(&t.maps("?resourceVersionMatch=Foo")).await?.says(
                422,
                "Invalid",
                "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"]",
            )?;
                Ok(())
            },
        ),
        case(
            "an_exact_list_from_the_future_is_504",
            "A list of exactly a revision that was not written yet answers 504 with the cause ResourceVersionTooLarge.",
            async |t| {
                let status = t
                    .get(&t.maps("?resourceVersion=9999999999&resourceVersionMatch=Exact"))
                    .await?
                    .refused(504, "Timeout")?;
                has(
                    &status,
                    json!({ "details": { "retryAfterSeconds": 1, "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }] } }),
                )
            },
        ),
        case(
            "not_older_with_a_limit_comes_in_pages",
            "A list that is not older than a version comes in pages if it has a limit.",
            async |t| {
                fill(t, &["a", "b", "c"]).await?;
                let list = t.get(&t.maps("")).await?.is(200)?;
                let page = t
                    .get(&t.maps(&format!(
                        "?resourceVersion={}&resourceVersionMatch=NotOlderThan&limit=2",
                        version(&list)
                    )))
                    .await?
                    .is(200)?;
                same("page", names(&page), "a,b".to_owned())?;
                has(&page, json!({ "metadata": { "continue": "*", "remainingItemCount": 1 } }))
            },
        ),
        case(
            "not_older_than_zero_is_any",
            "A list that is not older than 0 answers what there is.",
            async |t| {
                let made = t.map("a", "v").await?;
                // The watch cache of the real server has seen it by then.
                t.get(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?.is(200)?;
                let list = t
                    .get(&t.maps("?resourceVersion=0&resourceVersionMatch=NotOlderThan"))
                    .await?
                    .is(200)?;
                same("names", names(&list), "a".to_owned())
            },
        ),
        case(
            "a_version_in_the_query_of_a_delete_is_a_precondition",
            "A DELETE without a body whose query names a resourceVersion deletes only that version.",
            async |t| {
                let made = t.map("a", "v").await?;
                for wrong in ["1", "0"] {
                    let why = format!(
                        "the ResourceVersion in the precondition ({wrong}) does not match the ResourceVersion in record"
                    );
                    t.delete(&t.maps(&format!("/a?resourceVersion={wrong}")))
                        .await?
                        .says(409, "Conflict", &why)?;
                }
                t.delete(&t.maps(&format!("/a?resourceVersion={}", version(&made))))
                    .await?
                    .is(200)?;
                Ok(())
            },
        ),
        case(
            "a_uid_in_the_query_of_a_delete_is_a_precondition",
            "A DELETE without a body whose query names a uid deletes only that object.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.delete(&t.maps("/a?uid=x")).await?.says(
                    409,
                    "Conflict",
                    "the UID in the precondition (x) does not match the UID in record",
                )?;
                t.delete(&t.maps(&format!("/a?uid={}", text(&made, "/metadata/uid"))))
                    .await?
                    .is(200)?;
                Ok(())
            },
        ),
        case(
            "a_body_of_a_delete_hides_its_query",
            "A DELETE with a body takes no precondition from its query.",
            async |t| {
                t.map("a", "v").await?;
                t.delete_with(&t.maps("/a?uid=x&resourceVersion=1"), json!({})).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_gated_option_of_a_delete_is_ignored",
            "ignoreStoreReadErrorWithClusterBreakingPotential does nothing: its feature gate is off.",
            async |t| {
                t.map("a", "v").await?;
                t.delete(&t.maps("/a?ignoreStoreReadErrorWithClusterBreakingPotential=true"))
                    .await?
                    .is(200)?;
                Ok(())
            },
        ),
        case(
            "a_version_of_a_collection_is_a_precondition_too",
            "A deletecollection without a body whose query names a resourceVersion deletes only objects of that version.",
            async |t| {
                t.map("a", "v").await?;
                let list = t.map("b", "v").await?;
                t.delete(&t.maps(&format!("?resourceVersion={}", version(&list)))).await?.says(
                    409,
                    "Conflict",
                    "the ResourceVersion in the precondition",
                )?;
                t.get(&t.maps("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "list_options_of_a_collection_are_checked",
            "The options of a deletecollection are checked as those of a list.",
            async |t| {
                t.map("a", "v").await?;
                t.delete(&t.maps("?resourceVersionMatch=Exact"))
                    .await?
                    .invalid(&["FieldValueForbidden resourceVersionMatch"])?;
                t.delete(&t.maps("?sendInitialEvents=true"))
                    .await?
                    .invalid(&["FieldValueForbidden sendInitialEvents"])?;
                t.delete(&t.maps("?continue=x")).await?.refused(400, "BadRequest")?;
                t.delete(&t.maps("?limit=x")).await?.refused(400, "BadRequest")?;
                t.get(&t.maps("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_collection_of_a_missing_namespace_is_empty",
            "A deletecollection in a namespace that does not exist answers 200 and no items.",
            async |t| {
                let gone =
                    t.delete("/api/v1/namespaces/conformance-missing/configmaps").await?.is(200)?;
                has(&gone, json!({ "kind": "ConfigMapList", "items": [] }))
            },
        ),
        case(
            "a_collection_answers_metadata_alone",
            "A deletecollection answers metadata alone to who asks for it.",
            async |t| {
                t.map("a", "v").await?;
                t.map("b", "v").await?;
                let path = t.maps("?limit=1");
                let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
                let gone = t
                    .send(http::Method::DELETE, &path, &[("accept", accept)], "")
                    .await?
                    .is(200)?;
                has(
                    &gone,
                    json!({ "kind": "PartialObjectMetadataList", "metadata": { "continue": "*", "remainingItemCount": 1 }, "items": [{ "metadata": { "name": "a" }, "data": null }] }),
                )
            },
        ),
    ]
}
