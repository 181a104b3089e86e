//! Lists: their shape, pages, and at which revision they are.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

async fn fill(t: &Target, all: &[&str]) -> Result<serde_json::Value, String> {
    let mut last = json!({});
    for name in all {
        last = t.map(name, "v").await?;
    }
    Ok(last)
}

fn token(list: &serde_json::Value) -> String {
    text(list, "/metadata/continue").replace('=', "%3D").replace('+', "%2B").replace('/', "%2F")
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = shapes();
    cases.extend(pages());
    cases.extend(revisions());
    cases
}

fn shapes() -> Vec<Case> {
    vec![
        case(
            "a_list_is_ordered_by_name",
            "A list is ordered by namespace and name, whatever the order of creation.",
            async |t| {
                fill(t, &["c", "a", "b", "a.b", "a-b"]).await?;
                same(
                    "names",
                    names(&t.get(&t.maps("")).await?.is(200)?),
                    "a,a-b,a.b,b,c".to_owned(),
                )
            },
        ),
        case(
            "a_list_says_its_kind",
            "A list has kind and apiVersion of the list, a resourceVersion, and an items array even when empty.",
            async |t| {
                let list = t.get(&t.maps("")).await?.is(200)?;
                has(
                    &list,
                    json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": { "resourceVersion": "*", "continue": null, "remainingItemCount": null }, "items": [] }),
                )?;
                let list = t.get(&t.widgets("")).await?.is(200)?;
                has(
                    &list,
                    json!({ "kind": "WidgetList", "apiVersion": "conformance.example.com/v1", "items": [] }),
                )
            },
        ),
        case(
            "items_of_built_in_kinds_do_not_say_their_kind",
            "Items of a list of a built-in kind have neither kind nor apiVersion.",
            async |t| {
                t.map("a", "v").await?;
                let list = t.get(&t.maps("")).await?.is(200)?;
                has(&list, json!({ "items": [{ "kind": null, "apiVersion": null }] }))
            },
        ),
        case(
            "items_of_custom_kinds_say_their_kind",
            "Items of a list of a custom kind have kind and apiVersion.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let list = t.get(&t.widgets("")).await?.is(200)?;
                has(
                    &list,
                    json!({ "items": [{ "kind": "Widget", "apiVersion": "conformance.example.com/v1" }] }),
                )
            },
        ),
        case(
            "a_list_of_all_namespaces_holds_each",
            "A list without a namespace holds the objects of every namespace.",
            async |t| {
                t.labelled("a", "conformance-all", &t.namespace).await?;
                let list = t
                    .get(&format!(
                        "/api/v1/configmaps?labelSelector=conformance-all%3D{}",
                        t.namespace
                    ))
                    .await?
                    .is(200)?;
                has(
                    &list,
                    json!({ "items": [{ "metadata": { "name": "a", "namespace": t.namespace } }] }),
                )
            },
        ),
        case(
            "a_list_in_a_missing_namespace_is_empty",
            "A list in a namespace that does not exist answers 200 and no items; a get 404.",
            async |t| {
                let list =
                    t.get("/api/v1/namespaces/conformance-missing/configmaps").await?.is(200)?;
                has(&list, json!({ "items": [] }))?;
                t.get("/api/v1/namespaces/conformance-missing/configmaps/a").await?.says(
                    404,
                    "NotFound",
                    "configmaps \"a\" not found",
                )?;
                Ok(())
            },
        ),
    ]
}

fn pages() -> Vec<Case> {
    vec![
        case(
            "a_page_has_a_token_and_a_rest",
            "A list with a limit has that many items, a continue token, and the number of remaining items.",
            async |t| {
                fill(t, &["a", "b", "c"]).await?;
                let page = t.get(&t.maps("?limit=2")).await?.is(200)?;
                same("names", names(&page), "a,b".to_owned())?;
                has(&page, json!({ "metadata": { "continue": "*", "remainingItemCount": 1 } }))
            },
        ),
        case(
            "the_last_page_has_no_token",
            "The page that ends a list has neither a continue token nor a count, and the resourceVersion of the first.",
            async |t| {
                fill(t, &["a", "b", "c"]).await?;
                let one = t.get(&t.maps("?limit=2")).await?.is(200)?;
                let two =
                    t.get(&t.maps(&format!("?limit=2&continue={}", token(&one)))).await?.is(200)?;
                same("names", names(&two), "c".to_owned())?;
                has(&two, json!({ "metadata": { "continue": null, "remainingItemCount": null } }))?;
                same("version", version(&two), version(&one))
            },
        ),
        case(
            "an_exact_page_has_no_token",
            "A list whose limit is the number of objects has no continue token.",
            async |t| {
                fill(t, &["a", "b"]).await?;
                let page = t.get(&t.maps("?limit=2")).await?.is(200)?;
                has(&page, json!({ "metadata": { "continue": null, "remainingItemCount": null } }))
            },
        ),
        case(
            "pages_are_of_one_snapshot",
            "Later pages show the objects as they were at the first page: without what was created, with what was deleted.",
            async |t| {
                fill(t, &["a", "b", "d", "e"]).await?;
                let one = t.get(&t.maps("?limit=1")).await?.is(200)?;
                t.map("c", "v").await?;
                t.delete(&t.maps("/d")).await?.is(200)?;
                t.merge(&t.maps("/e"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                let rest = t.get(&t.maps(&format!("?continue={}", token(&one)))).await?.is(200)?;
                same("names", names(&rest), "b,d,e".to_owned())?;
                same("data", text(&rest, "/items/2/data/k"), "v")?;
                same("version", version(&rest), version(&one))
            },
        ),
        case(
            "a_page_with_a_selector_does_not_count",
            "A page of a list with a selector has no remainingItemCount.",
            async |t| {
                for name in ["a", "b", "c"] {
                    t.labelled(name, "l", "1").await?;
                }
                let page = t.get(&t.maps("?limit=2&labelSelector=l%3D1")).await?.is(200)?;
                same("names", names(&page), "a,b".to_owned())?;
                has(&page, json!({ "metadata": { "continue": "*", "remainingItemCount": null } }))
            },
        ),
        case(
            "a_page_skips_what_does_not_match",
            "A page is filled with objects that match, however many lie between.",
            async |t| {
                for (name, value) in [("a", "1"), ("b", "2"), ("c", "2"), ("d", "1"), ("e", "1")] {
                    t.labelled(name, "l", value).await?;
                }
                let one = t.get(&t.maps("?limit=2&labelSelector=l%3D1")).await?.is(200)?;
                same("names", names(&one), "a,d".to_owned())?;
                let two = t
                    .get(&t.maps(&format!("?limit=2&labelSelector=l%3D1&continue={}", token(&one))))
                    .await?
                    .is(200)?;
                same("names", names(&two), "e".to_owned())
            },
        ),
        case(
            "a_token_takes_another_limit",
            "A continue token can be used with another limit, or with none.",
            async |t| {
                fill(t, &["a", "b", "c", "d"]).await?;
                let one = t.get(&t.maps("?limit=1")).await?.is(200)?;
                same(
                    "names",
                    names(
                        &t.get(&t.maps(&format!("?limit=2&continue={}", token(&one))))
                            .await?
                            .is(200)?,
                    ),
                    "b,c".to_owned(),
                )?;
                same(
                    "names",
                    names(&t.get(&t.maps(&format!("?continue={}", token(&one)))).await?.is(200)?),
                    "b,c,d".to_owned(),
                )
            },
        ),
        case("a_malformed_token_is_400", "A continue token that is none answers 400.", async |t| {
            let status =
                t.get(&t.maps("?limit=1&continue=nonsense")).await?.refused(400, "BadRequest")?;
            holds(
                "the message says so",
                text(&status, "/message").contains("invalid continue token"),
            )
            .map_err(|e| format!("{e}: {status}"))
        }),
        case(
            "a_token_and_a_version_are_400",
            "A continue token beside a resourceVersion answers 400; beside 0 it is fine.",
            async |t| {
                let last = fill(t, &["a", "b"]).await?;
                let one = t.get(&t.maps("?limit=1")).await?.is(200)?;
                let path = t.maps(&format!("?limit=1&continue={}", token(&one)));
                t.get(&format!("{path}&resourceVersion={}", version(&last))).await?.says(
                    400,
                    "BadRequest",
                    "specifying resource version is not allowed when using continue",
                )?;
                t.get(&format!("{path}&resourceVersion=0")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_token_works_on_another_resource",
            "A continue token of one resource is taken by another one's list.",
            async |t| {
                fill(t, &["a", "b"]).await?;
                let one = t.get(&t.maps("?limit=1")).await?.is(200)?;
                t.get(&t.core("secrets", &format!("?limit=1&continue={}", token(&one))))
                    .await?
                    .is(200)?;
                Ok(())
            },
        ),
        case(
            "an_odd_limit_is_no_limit",
            "limit 0 and -1 list everything; a limit that is no number answers 400.",
            async |t| {
                fill(t, &["a", "b"]).await?;
                for limit in ["0", "-1"] {
                    let list = t.get(&t.maps(&format!("?limit={limit}"))).await?.is(200)?;
                    same("names", names(&list), "a,b".to_owned())?;
                }
                t.get(&t.maps("?limit=x")).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "any_version_with_a_limit_lists_everything",
            "resourceVersion=0 with a limit lists everything, in one page.",
            async |t| {
                let last = fill(t, &["a", "b", "c"]).await?;
                // The watch cache has to have seen the objects.
                t.get(&t.maps(&format!(
                    "?resourceVersion={}&resourceVersionMatch=NotOlderThan",
                    version(&last)
                )))
                .await?
                .is(200)?;
                let list = t.get(&t.maps("?resourceVersion=0&limit=1")).await?.is(200)?;
                same("names", names(&list), "a,b,c".to_owned())?;
                has(&list, json!({ "metadata": { "continue": null } }))
            },
        ),
        case(
            "a_page_in_a_namespace_ends_with_it",
            "Pages of one namespace do not run on into the next.",
            async |t| {
                fill(t, &["a", "b"]).await?;
                let page = t.get(&t.maps("?limit=1")).await?.is(200)?;
                has(&page, json!({ "metadata": { "remainingItemCount": 1 } }))?;
                let rest = t.get(&t.maps(&format!("?continue={}", token(&page)))).await?.is(200)?;
                same("names", names(&rest), "b".to_owned())
            },
        ),
    ]
}

fn revisions() -> Vec<Case> {
    vec![
        case(
            "an_exact_list_is_of_that_revision",
            "A list with resourceVersionMatch=Exact shows the objects as they were at that revision, and says it.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.map("b", "v").await?;
                let list = t
                    .get(&t.maps(&format!(
                        "?resourceVersion={}&resourceVersionMatch=Exact",
                        version(&made)
                    )))
                    .await?
                    .is(200)?;
                same("names", names(&list), "a".to_owned())?;
                same("data", text(&list, "/items/0/data/k"), "v")?;
                same("version", version(&list), version(&made))
            },
        ),
        case(
            "a_list_that_is_not_older_is_current",
            "A list with resourceVersionMatch=NotOlderThan is at least that new.",
            async |t| {
                let made = t.map("a", "v").await?;
                let list = t
                    .get(&t.maps(&format!(
                        "?resourceVersion={}&resourceVersionMatch=NotOlderThan",
                        version(&made)
                    )))
                    .await?
                    .is(200)?;
                same("names", names(&list), "a".to_owned())?;
                holds("it is not older", number(&list) >= number(&made))
            },
        ),
        case(
            "a_version_without_a_match_is_not_older",
            "A list with only a resourceVersion is at least that new.",
            async |t| {
                let made = t.map("a", "v").await?;
                let last = t.map("b", "v").await?;
                let list = t
                    .get(&t.maps(&format!("?resourceVersion={}", version(&made))))
                    .await?
                    .is(200)?;
                holds("it is not older", number(&list) >= number(&made))?;
                let list = t
                    .get(&t.maps(&format!("?resourceVersion={}", version(&last))))
                    .await?
                    .is(200)?;
                same("names", names(&list), "a,b".to_owned())
            },
        ),
        case(
            "a_version_with_a_limit_is_exact",
            "A list with a resourceVersion and a limit, and no match, is of exactly that revision.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.map("b", "v").await?;
                let list = t
                    .get(&t.maps(&format!("?limit=5&resourceVersion={}", version(&made))))
                    .await?
                    .is(200)?;
                same("names", names(&list), "a".to_owned())?;
                same("version", version(&list), version(&made))
            },
        ),
        case(
            "a_list_from_the_future_is_504",
            "A list at a resourceVersion that was not written yet answers 504 Timeout with Retry-After.",
            async |t| {
                let answer = t.get(&t.maps("?resourceVersion=9999999999")).await?;
                answer.says(504, "Timeout", "Too large resource version: 9999999999")?;
                same("Retry-After", answer.header("retry-after"), "1")
            },
        ),
        case(
            "a_list_with_a_version_that_is_no_number_is_400",
            "A list with a resourceVersion that is no number answers 400.",
            async |t| {
                t.get(&t.maps("?resourceVersion=x")).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "exact_zero_is_422",
            "resourceVersionMatch=Exact with resourceVersion 0, or with none, answers 422.",
            async |t| {
                t.get(&t.maps("?resourceVersion=0&resourceVersionMatch=Exact"))
                    .await?
                    .invalid(&["FieldValueForbidden resourceVersionMatch"])?;
                t.get(&t.maps("?resourceVersionMatch=Exact"))
                    .await?
                    .invalid(&["FieldValueForbidden resourceVersionMatch"])?;
                t.get(&t.maps("?resourceVersionMatch=NotOlderThan"))
                    .await?
                    .invalid(&["FieldValueForbidden resourceVersionMatch"])?;
                Ok(())
            },
        ),
        case(
            "an_unknown_match_is_422",
            "resourceVersionMatch of another word answers 422.",
            async |t| {
                t.get(&t.maps("?resourceVersion=1&resourceVersionMatch=Maybe"))
                    .await?
                    .invalid(&["FieldValueNotSupported resourceVersionMatch"])?;
                Ok(())
            },
        ),
        case(
            "a_match_with_a_token_is_422",
            "resourceVersionMatch beside a continue token answers 422.",
            async |t| {
                fill(t, &["a", "b"]).await?;
                let one = t.get(&t.maps("?limit=1")).await?.is(200)?;
                let path = t.maps(&format!(
                    "?resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=1&continue={}",
                    token(&one)
                ));
                t.get(&path).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "initial_events_of_a_list_are_422",
            "sendInitialEvents of a list that is no watch answers 422.",
            async |t| {
                t.get(&t.maps("?sendInitialEvents=true"))
                    .await?
                    .invalid(&["FieldValueForbidden sendInitialEvents"])?;
                Ok(())
            },
        ),
        case(
            "a_too_old_list_is_410",
            "A list at an exact revision whose history is gone answers 410 Expired.",
            async |t| {
                let answer =
                    t.get(&t.maps("?resourceVersion=1&resourceVersionMatch=Exact")).await?;
                answer.refused(410, "Expired")?;
                Ok(())
            },
        ),
    ]
}
