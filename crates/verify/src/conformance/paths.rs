//! Paths with something odd in them: dots, empty parts, signs that no name has; and bodies and
//! tokens as odd as they.

use base64::Engine as _;
use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::{Case, Outcome, Target, case};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
const MERGE: [(&str, &str); 1] = [("content-type", "application/merge-patch+json")];

/// A plain text that says that there is nothing.
async fn is_nowhere(t: &Target, path: &str) -> Outcome {
    let answer = t.get(path).await?;
    same(path, (answer.code, answer.text.as_str()), (404, "404 page not found\n"))
}

/// A path that Go's server, or the first filter behind it, does not read.
async fn is_said(t: &Target, path: &str, code: u16, text: &str) -> Outcome {
    let answer = t.get(path).await?;
    same(path, (answer.code, answer.text.as_str()), (code, text))
}

async fn message(
    t: &Target,
    method: Method,
    path: &str,
    code: u16,
    reason: &str,
) -> Result<String, String> {
    let answer = match method {
        Method::PATCH => t.send(method, path, &MERGE, "{}".to_owned()).await?,
        Method::POST => {
            t.send(method, path, &JSON, r#"{"metadata":{"name":"a"}}"#.to_owned()).await?
        }
        method => t.send(method, path, &[], String::new()).await?,
    };
    Ok(text(&answer.refused(code, reason)?, "/message").to_owned())
}

/// Sends a continue token with this inside, which is refused.
async fn token(t: &Target, inside: &str) -> Outcome {
    let token = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(inside);
    let answer = t.get(&t.maps(&format!("?limit=1&continue={token}"))).await?;
    answer.says(400, "BadRequest", "invalid continue token").map(drop)
}

pub(super) fn cases() -> Vec<Case> {
    [dots(), slashes(), signs(), bodies()].into_iter().flatten().collect()
}

fn dots() -> Vec<Case> {
    vec![
        case("a_name_of_dots", "A name of one or two dots: 400, which says which.", async |t| {
            for (name, shown) in [(".", "."), ("..", ".."), ("%2e%2e", "..")] {
                for method in [Method::GET, Method::DELETE, Method::PATCH] {
                    let said =
                        message(t, method, &t.maps(&format!("/{name}")), 400, "BadRequest").await?;
                    same(
                        "message",
                        said,
                        format!("Name parameter invalid: {shown:?}: may not be '{shown}'"),
                    )?;
                }
            }
            Ok(())
        }),
        case("a_name_with_a_percent_sign", "A name with a percent sign in it: 400.", async |t| {
            let said = message(t, Method::GET, &t.maps("/a%252fb"), 400, "BadRequest").await?;
            same("message", said, "Name parameter invalid: \"a%2fb\": may not contain '%'")
        }),
        case(
            "objects_in_a_namespace_of_dots",
            "No key has `.` or `..` in it: 500 without a reason.",
            async |t| {
                for path in [
                    "/api/v1/namespaces/../secrets",
                    "/api/v1/namespaces/./configmaps/x",
                    "/api/v1/namespaces/%2e%2e/services",
                    "/apis/apps/v1/namespaces/../deployments/x/status",
                    "/apis/conformance.example.com/v1/namespaces/../widgets",
                ] {
                    message(t, Method::GET, path, 500, "").await?;
                }
                for method in [Method::DELETE, Method::PATCH] {
                    message(t, method, "/api/v1/namespaces/../configmaps/x", 500, "").await?;
                }
                Ok(())
            },
        ),
        case(
            "a_request_that_is_wrong_too",
            "What else is wrong is said before the namespace of dots.",
            async |t| {
                for query in ["labelSelector=%21%21", "resourceVersion=x", "limit=x", "continue=x"]
                {
                    let path = format!("/api/v1/namespaces/../configmaps?{query}");
                    message(t, Method::GET, &path, 400, "BadRequest").await?;
                }
                Ok(())
            },
        ),
        case(
            "new_objects_in_a_namespace_of_dots",
            "A create there fails where the namespace is looked up.",
            async |t| {
                for (namespace, why) in
                    [("..", "may not be '..'"), ("a%25b", "may not contain '%'")]
                {
                    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
                    let said = message(t, Method::POST, &path, 500, "InternalError").await?;
                    let shown = namespace.replace("%25", "%");
                    let what = format!("invalid resource name {shown:?}: [{why}]");
                    same("message", said, format!("Internal error occurred: {what}"))?;
                }
                Ok(())
            },
        ),
    ]
}

fn slashes() -> Vec<Case> {
    vec![
        case(
            "slashes_at_the_end",
            "Slashes at the end of a resource's path are forgiven, however many.",
            async |t| {
                t.map("a", "1").await?;
                for path in
                    [t.maps("//"), t.maps("/a//"), "/api/v1///".to_owned(), "/version//".to_owned()]
                {
                    t.get(&path).await?.is(200)?;
                }
                t.get("/apis/apps/v1//").await?.is(200)?;
                t.get(&t.widgets("//")).await?.is(200).map(drop)
            },
        ),
        case(
            "slashes_where_none_may_be",
            "Health checks and lists of groups forgive no slash too many.",
            async |t| {
                for path in ["//", "/apis//", "/healthz/", "/livez/", "/healthz/ping/"] {
                    is_nowhere(t, path).await?;
                }
                Ok(())
            },
        ),
        case("an_empty_group", "An empty group is no group.", async |t| {
            for path in ["/apis//v1", "/apis//apps/v1", "/apis//apps/v1/deployments"] {
                is_nowhere(t, path).await?;
            }
            Ok(())
        }),
        case(
            "an_empty_namespace_is_all",
            "A list in an empty namespace is one over all namespaces.",
            async |t| {
                t.labelled("a", "case", &t.class).await?;
                let path =
                    format!("/api/v1/namespaces//configmaps?labelSelector=case%3D{}", t.class);
                same("names", names(&t.get(&path).await?.is(200)?), "a")?;
                t.get("/apis/conformance.example.com/v1/namespaces//widgets")
                    .await?
                    .is(200)
                    .map(drop)
            },
        ),
        case(
            "an_empty_namespace_holds_nothing",
            "Nothing but a list is to be had of an empty namespace.",
            async |t| {
                let path = "/api/v1/namespaces//configmaps";
                for (method, rest) in [
                    (Method::GET, "/a"),
                    (Method::DELETE, "/a"),
                    (Method::DELETE, ""),
                    (Method::PATCH, "/a"),
                ] {
                    let said =
                        message(t, method, &format!("{path}{rest}"), 400, "BadRequest").await?;
                    same("message", said, "Namespace parameter required.")?;
                }
                message(t, Method::POST, &format!("{path}/a"), 405, "MethodNotAllowed").await?;
                let answer = t.post(path, &json!({ "metadata": { "name": "a" } })).await?;
                answer.invalid(&["FieldValueRequired metadata.namespace"])?;
                is_nowhere(t, "/apis/conformance.example.com/v1/namespaces//widgets/x").await
            },
        ),
        case(
            "an_update_in_an_empty_namespace",
            "Of an update in an empty namespace, its body and its name are looked at first.",
            async |t| {
                for path in [
                    "/api/v1/namespaces//configmaps/a",
                    "/apis/apps/v1/namespaces//deployments/a/status",
                ] {
                    for (name, why) in [
                        (
                            "",
                            "the name of the object (a based on URL) was undeterminable: name must be provided",
                        ),
                        ("b", "the name of the object (b) does not match the name on the URL (a)"),
                        ("a", "Namespace parameter required."),
                    ] {
                        let answer = t.put(path, &json!({ "metadata": { "name": name } })).await?;
                        answer.says(400, "BadRequest", why)?;
                    }
                }
                let nameless = t.post("/api/v1/namespaces//configmaps", &json!({})).await?;
                let causes =
                    ["FieldValueRequired metadata.name", "FieldValueRequired metadata.namespace"];
                nameless.invalid(&causes)?;
                let whole = t.put("/api/v1/namespaces//configmaps", &json!({})).await?;
                whole.refused(405, "MethodNotAllowed").map(drop)
            },
        ),
        case(
            "a_subresource_of_nothing",
            "A subresource of an empty name: 405 for what it is not asked by, else 400.",
            async |t| {
                for path in [
                    "/api/v1/namespaces//status".to_owned(),
                    "/api/v1/nodes//status".to_owned(),
                    t.of_group("apps/v1", "deployments", "//status"),
                    t.of_group("apps/v1", "deployments", "//scale"),
                    "/apis/apps/v1/namespaces//deployments//status".to_owned(),
                    t.widgets("//status"),
                ] {
                    if !path.contains("widgets") {
                        t.get(&path).await?.says(400, "BadRequest", "name must be provided")?;
                    }
                    t.put(&path, &json!({})).await?.says(
                        400,
                        "BadRequest",
                        "name must be provided",
                    )?;
                    t.merge(&path, json!({})).await?.says(
                        400,
                        "BadRequest",
                        "name must be provided",
                    )?;
                    t.delete(&path).await?.refused(405, "MethodNotAllowed")?;
                }
                t.get("/api/v1/namespaces//finalize").await?.refused(405, "MethodNotAllowed")?;
                let list = t.get(&t.widgets("//status")).await?.refused(405, "MethodNotAllowed")?;
                let of =
                    "is not supported on resources of kind \"widgets.conformance.example.com\"";
                same("message", text(&list, "/message"), format!("list {of}"))?;
                t.get("/api/v1/nodes//bogus").await?.refused(404, "NotFound").map(drop)
            },
        ),
        case("empty_parts_elsewhere", "An empty part elsewhere: no such resource.", async |t| {
            for path in [
                "/api/v1//namespaces".to_owned(),
                "/apis/apps/v1//deployments".to_owned(),
                format!("/api/v1/namespaces/{}//configmaps", t.namespace),
                t.maps("//a"),
                t.core("pods", "/a//status"),
                "/api/v1/namespaces//nodes".to_owned(),
            ] {
                t.get(&path).await?.refused(404, "NotFound")?;
            }
            is_nowhere(t, "/apis/conformance.example.com/v1//widgets").await?;
            let status = t.get(&t.widgets("//a")).await?.refused(404, "NotFound")?;
            same(
                "message",
                text(&status, "/message"),
                "widgets.conformance.example.com \"\" not found",
            )
        }),
        case(
            "a_group_that_nobody_serves",
            "Of a group that is not served there is nothing, for any method.",
            async |t| {
                for path in ["", "/v1", "/v1/things", "/v1/namespaces/default/things/x"] {
                    let path = format!("/apis/nobody.example.com{path}");
                    is_nowhere(t, &path).await?;
                    for method in [Method::POST, Method::DELETE] {
                        let answer = t.send(method, &path, &JSON, "{}".to_owned()).await?;
                        same(
                            &path,
                            (answer.code, answer.text.as_str()),
                            (404, "404 page not found\n"),
                        )?;
                    }
                }
                Ok(())
            },
        ),
        case(
            "a_document_that_nobody_has",
            "Of an OpenAPI document that is not there: 404 and nothing.",
            async |t| {
                for path in ["/openapi/v3/", "/openapi/v3/nobody", "/openapi/v3//api/v1"] {
                    is_said(t, path, 404, "").await?;
                }
                Ok(())
            },
        ),
        case("the_index_is_a_page_too", "`/index.html` is what `/` is.", async |t| {
            has(&t.get("/index.html").await?.is(200)?, t.get("/").await?.is(200)?)
        }),
    ]
}

fn signs() -> Vec<Case> {
    vec![
        case("a_name_that_cannot_be_printed", "Names are shown as Go quotes them.", async |t| {
            for (name, shown) in [
                ("%00", "\\x00"),
                ("a%0ab", "a\\nb"),
                ("a%7f", "a\\x7f"),
                ("a%22", "a\\\""),
                ("%c3%a9", "é"),
                ("%e2%80%8b", "\\u200b"),
            ] {
                let said =
                    message(t, Method::GET, &t.maps(&format!("/{name}")), 404, "NotFound").await?;
                same(name, said, format!("configmaps \"{shown}\" not found"))?;
            }
            Ok(())
        }),
        case(
            "a_name_that_is_no_text",
            "A name whose bytes are no UTF-8 is one that nothing has: 404.",
            async |t| {
                for name in ["a%ff", "%c3%28", "%ed%a0%80"] {
                    for method in [Method::GET, Method::DELETE] {
                        let path = t.maps(&format!("/{name}"));
                        message(t, method, &path, 404, "NotFound").await?;
                    }
                }
                message(t, Method::GET, &t.maps("?limit=%ff"), 400, "BadRequest").await.map(drop)
            },
        ),
        case(
            "options_that_cannot_be_read",
            "An option with a semicolon, or a percent sign without two digits, is as if it were not there.",
            async |t| {
                t.labelled("a", "k", "v").await?;
                let path = t.maps(
                    "?labelSelector=%zz&limit=1;x&fieldSelector=%&watch=1;&resourceVersion=x%",
                );
                same("names", names(&t.get(&path).await?.is(200)?).contains('a'), true)?;
                let answer = t.get(&t.maps("?a%zz=1&;&limit=x")).await?;
                answer.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "a_percent_sign_alone",
            "A percent sign without two digits: 400, a text.",
            async |t| {
                for name in ["/a%zz", "/a%", "/%4"] {
                    is_said(t, &t.maps(name), 400, "400 Bad Request").await?;
                }
                Ok(())
            },
        ),
    ]
}

fn bodies() -> Vec<Case> {
    vec![
        case(
            "a_token_of_wrong_types",
            "A continue token whose members have wrong types: 400.",
            async |t| {
                let numbers =
                    ["9223372036854775808", "18446744073709551616", "1.5", "1000.0", "1e3"];
                for rv in numbers.into_iter().chain(["\"x\"", "true", "[]"]) {
                    token(t, &format!(r#"{{"v":"meta.k8s.io/v1","rv":{rv},"start":"a"}}"#)).await?;
                }
                token(t, r#"{"v":1,"rv":5,"start":"a"}"#).await
            },
        ),
        case("a_token_of_something_else", "A continue token that is no object: 400.", async |t| {
            for inside in ["[]", "1", "\"x\"", "null", "nul"] {
                token(t, inside).await?;
            }
            token(t, r#"{"v":"meta.k8s.io/v1","rv":5,"start":"a"}x"#).await
        }),
        case(
            "a_token_in_capitals",
            "The members of a continue token may be in capitals.",
            async |t| {
                let (made, _) = (t.map("a", "1").await?, t.map("b", "1").await?);
                let inside =
                    format!(r#"{{"V":"meta.k8s.io/v1","RV":{},"Start":"a"}}"#, version(&made));
                let token = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(inside);
                let list = t.get(&t.maps(&format!("?limit=5&continue={token}"))).await?.is(200)?;
                same("names", names(&list), "a")
            },
        ),
        case(
            "json_that_breaks_off",
            "JSON that breaks off in a word or a number: 400.",
            async |t| {
                for body in ["{\"a\":tru", "-", "{\"a\":1.", "1e", "{\"a\":\"\\", "{\"a\":\"\\u1"] {
                    let answer = t.send(Method::POST, &t.maps(""), &JSON, body.to_owned()).await?;
                    answer.refused(400, "BadRequest")?;
                }
                Ok(())
            },
        ),
        case("a_scale_that_is_no_json", "A Scale that is no JSON: 400.", async |t| {
            let path = t.of_group("apps/v1", "deployments", "/a/scale");
            let answer = t.send(Method::PUT, &path, &JSON, "[".to_owned()).await?;
            answer.refused(400, "BadRequest").map(drop)
        }),
        case("json_beyond_all_depth", "More than 10,000 levels of JSON: 400.", async |t| {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let nested = format!("{}1{}", open.repeat(10_001), close.repeat(10_001));
                let answer = t.send(Method::POST, &t.maps(""), &JSON, nested).await?;
                answer.refused(400, "BadRequest")?;
            }
            Ok(())
        }),
    ]
}
