//! Paths and parameters that are not about one kind: health, the root, old paths of watches,
//! time-outs.

use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Outcome, Target, case};

/// The events of a watch that ends by itself, as `TYPE name`.
async fn events(t: &Target, path: &str) -> Result<Vec<String>, String> {
    let answer = t.get(path).await?;
    same("code", answer.code, 200).map_err(|why| format!("{path}: {why}: {:.300}", answer.text))?;
    let lines = answer.text.lines().map(|line| {
        let event: serde_json::Value =
            serde_json::from_str(line).map_err(|error| format!("{error} in {line:.300}"))?;
        Ok(format!("{} {}", text(&event, "/type"), text(&event, "/object/metadata/name")))
    });
    lines.collect()
}

/// A 404 that is no Status.
fn is_plain_404(answer: &Answer) -> Outcome {
    same("code", answer.code, 404)?;
    same("body", answer.text.as_str(), "404 page not found\n")
        .map_err(|why| format!("{}: {why}", answer.request))
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "the_root_lists_paths",
            "`/` lists the paths of groups, versions, health and OpenAPI.",
            async |t| {
                let root = t.get("/").await?.is(200)?;
                for path in [
                    "/api",
                    "/api/v1",
                    "/apis",
                    "/apis/coordination.k8s.io/v1",
                    "/healthz",
                    "/livez/ping",
                    "/openapi/v3",
                    "/version",
                ] {
                    holds(
                        "it is listed",
                        items(&root, "/paths").iter().any(|listed| listed == path),
                    )
                    .map_err(|why| format!("{path}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "one_health_check",
            "`/livez/CHECK` answers 200 and `ok`; a check that there is not answers a plain 404.",
            async |t| {
                for path in ["/livez/ping", "/readyz/etcd", "/healthz/log", "/readyz/informer-sync"]
                {
                    let answer = t.get(path).await?;
                    answer.is(200)?;
                    same("body", answer.text.as_str(), "ok")?;
                }
                is_plain_404(&t.get("/livez/nothing").await?)?;
                is_plain_404(&t.get("/livez/ping/more").await?)
            },
        ),
        case("health_to_any_method", "Health answers to a POST as to a GET.", async |t| {
            t.send(Method::POST, "/healthz", &[], "").await?.is(200).map(drop)
        }),
        case(
            "methods_of_discovery",
            "A POST to /version, /api, /api/v1 answers 405; /, /apis and /apis/GROUP do not look at the method.",
            async |t| {
                for path in ["/version", "/api", "/api/v1", "/apis/coordination.k8s.io/v1"] {
                    t.send(Method::POST, path, &[], "")
                        .await?
                        .refused(405, "MethodNotAllowed")
                        .map_err(|why| format!("{path}: {why}"))?;
                }
                for path in
                    ["/", "/apis", "/apis/coordination.k8s.io", "/apis/conformance.example.com/v1"]
                {
                    t.send(Method::POST, path, &[], "")
                        .await?
                        .is(200)
                        .map_err(|why| format!("{path}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "a_version_that_a_group_does_not_have",
            "An unknown version of one of Kubernetes' groups answers a 404 Status, of a custom group a plain 404.",
            async |t| {
                t.get("/apis/coordination.k8s.io/v7").await?.says(
                    404,
                    "NotFound",
                    "the server could not find the requested resource",
                )?;
                is_plain_404(&t.get("/apis/conformance.example.com/v7").await?)
            },
        ),
        case(
            "a_resource_that_a_group_does_not_have",
            "An unknown resource of one of Kubernetes' groups answers a 404 Status, of a custom group a plain 404.",
            async |t| {
                t.get("/apis/coordination.k8s.io/v1/nothings").await?.says(
                    404,
                    "NotFound",
                    "the server could not find the requested resource",
                )?;
                is_plain_404(&t.get("/apis/conformance.example.com/v1/nothings").await?)?;
                is_plain_404(&t.get("/apis/conformance.example.com/v1/widgets/a").await?)
            },
        ),
        case(
            "a_group_that_is_not_there",
            "Anything below an unknown group answers a plain 404.",
            async |t| {
                is_plain_404(&t.get("/apis/nothing.example.com/v1/things").await?)?;
                is_plain_404(&t.get("/nothing").await?)
            },
        ),
        case(
            "a_subresource_that_a_kind_does_not_have",
            "An unknown subresource answers 404: of a built-in kind without details, of a custom one about the object.",
            async |t| {
                t.map("a", "v").await?;
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                for path in
                    [t.maps("/a/status"), t.maps("/a/nothing"), t.core("pods", "/a/nothing")]
                {
                    t.get(&path).await?.says(
                        404,
                        "NotFound",
                        "the server could not find the requested resource",
                    )?;
                }
                let status = t.get(&t.widgets("/a/nothing")).await?.refused(404, "NotFound")?;
                has(
                    &status,
                    json!({ "message": "widgets.conformance.example.com \"a\" not found", "details": { "name": "a", "kind": "widgets", "group": "conformance.example.com" } }),
                )
            },
        ),
        case(
            "watch_of_an_object_is_a_get",
            "`watch=true` on an object's own path is ignored.",
            async |t| {
                t.map("a", "v").await?;
                has(
                    &t.get(&t.maps("/a?watch=true&timeoutSeconds=1")).await?.is(200)?,
                    json!({ "kind": "ConfigMap" }),
                )
            },
        ),
        case(
            "a_time_out_that_is_none",
            "`timeout` that is no duration answers 400, on any path.",
            async |t| {
                for value in ["bla", "5", "5d"] {
                    let answer = t.get(&t.maps(&format!("?timeout={value}"))).await?;
                    answer.refused(400, "BadRequest")?;
                }
                t.delete(&t.maps("/nothing?timeout=bla")).await?.refused(400, "BadRequest")?;
                t.get("/version?timeout=bla").await?.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "time_outs_that_are_fine",
            "`timeout` may be zero, negative, or longer than the server's own.",
            async |t| {
                for value in ["0", "0s", "-1s", "1m30s", "120h"] {
                    t.get(&t.maps(&format!("?timeout={value}")))
                        .await?
                        .is(200)
                        .map_err(|why| format!("{value}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "the_time_out_of_a_watch_is_not_read",
            "`timeout` of a watch may be anything.",
            async |t| {
                t.map("a", "v").await?;
                same(
                    "events",
                    events(t, &t.maps("?watch=true&timeoutSeconds=1&timeout=bla")).await?,
                    ["ADDED a"],
                )
            },
        ),
        case("parameters_that_nobody_knows", "Unknown query parameters are ignored.", async |t| {
            t.map("a", "v").await?;
            same(
                "names",
                names(&t.get(&t.maps("?nothing=true&Limit=0")).await?.is(200)?),
                "a".to_owned(),
            )?;
            t.post(&t.maps("?nothing=1"), &map("b", "v")).await?.is(201).map(drop)
        }),
        case(
            "letters_of_field_managers",
            "A fieldManager may hold spaces and any letters, but nothing that cannot be printed: 422.",
            async |t| {
                for fine in ["a%20b", "%C3%A4", "a%2Fb", "kubectl-edit"] {
                    t.post(&t.maps(&format!("?dryRun=All&fieldManager={fine}")), &map("a", "v"))
                        .await?
                        .is(201)
                        .map_err(|why| format!("{fine}: {why}"))?;
                }
                let refused = t.post(&t.maps("?fieldManager=a%00b"), &map("a", "v")).await?;
                refused.says(422, "Invalid", "invalid character U+0000 (at position 1)")?;
                refused.invalid(&["FieldValueInvalid fieldManager"])?;
                t.post(&t.maps("?fieldManager=a%0Ab"), &map("a", "v"))
                    .await?
                    .says(422, "Invalid", "invalid character U+000A (at position 1)")
                    .map(drop)
            },
        ),
        case(
            "numbers_that_are_empty",
            "An empty limit or timeoutSeconds is no number: 400.",
            async |t| {
                for option in ["limit", "timeoutSeconds"] {
                    t.get(&t.maps(&format!("?{option}=")))
                        .await?
                        .refused(400, "BadRequest")
                        .map_err(|why| format!("{option}: {why}"))?;
                }
                Ok(())
            },
        ),
    ]
}
