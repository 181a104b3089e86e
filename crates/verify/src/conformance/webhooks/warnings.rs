//! Warnings of webhooks.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

fn header(text: &str) -> String {
    format!("299 - {text:?}")
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "warnings_are_headers",
            "The warnings of webhooks come as Warning headers, those of mutating ones first, each once.",
            async |t| {
                let hooks = hooks(t, |seen| {
                    let all: Value = match name(seen) {
                        "a" => json!(["from \"a\"", "both"]),
                        _ => json!(["both", "from b", ""]),
                    };
                    respond(seen, json!({ "allowed": true, "warnings": all }))
                })
                .await?;
                hooks.one(VALIDATING, "b", json!({})).await?;
                hooks.one(MUTATING, "a", json!({})).await?;
                let made = t.post(&t.maps(""), &map("x", "v")).await?;
                made.is(201)?;
                same("warnings", made.warnings(), ["from \"a\"", "both", "from b"].map(header))
            },
        ),
        case(
            "a_warning_of_control_characters_is_dropped",
            "A warning of a webhook that has a control character is no header, and the write is answered.",
            async |t| {
                let hooks = hooks(t, |seen| {
                    let all = json!(["two\nlines", "a\u{7}bell", "a \\ and a '"]);
                    respond(seen, json!({ "allowed": true, "warnings": all }))
                })
                .await?;
                hooks.one(VALIDATING, "b", json!({})).await?;
                let made = t.post(&t.maps(""), &map("x", "v")).await?;
                made.is(201)?;
                same("warnings", made.warnings(), [header("a \\ and a '")])
            },
        ),
        case(
            "a_refusal_warns_too",
            "The answer to a refused write has the warnings of the webhook that refused it.",
            async |t| {
                let hooks = hooks(t, |seen| {
                    let status = json!({ "message": "no" });
                    respond(
                        seen,
                        json!({ "allowed": false, "status": status, "warnings": ["beware"] }),
                    )
                })
                .await?;
                hooks.one(MUTATING, "a", json!({})).await?;
                let refused = t.post(&t.maps(""), &map("x", "v")).await?;
                refused.is(400)?;
                same("warnings", refused.warnings(), [header("beware")])
            },
        ),
        case(
            "a_delete_warns_too",
            "The answer to a delete has the warnings of webhooks.",
            async |t| {
                t.map("x", "v").await?;
                let hooks = hooks(t, |seen| {
                    respond(seen, json!({ "allowed": true, "warnings": ["it is gone"] }))
                })
                .await?;
                let rules = rules(&["DELETE"], "/v1", &["configmaps"]);
                hooks.one(VALIDATING, "a", json!({ "rules": rules })).await?;
                let deleted = t.delete(&t.maps("/x")).await?;
                deleted.is(200)?;
                same("warnings", deleted.warnings(), [header("it is gone")])
            },
        ),
        case(
            "a_long_warning_is_whole",
            "A warning of 300 characters is not shortened, and many of them are.",
            async |t| {
                let hooks = hooks(t, |seen| {
                    let count = match text(&seen.review, "/request/name") {
                        "one" => 1,
                        _ => 20,
                    };
                    let all: Vec<String> = (0..count).map(|at| format!("{at:0>300}")).collect();
                    respond(seen, json!({ "allowed": true, "warnings": all }))
                })
                .await?;
                hooks.one(VALIDATING, "a", json!({})).await?;
                let one = t.post(&t.maps(""), &map("one", "v")).await?;
                same("one", one.warnings(), [header(&format!("{:0>300}", 0))])?;
                let many = t.post(&t.maps(""), &map("many", "v")).await?;
                // Cut to 256 characters, all begin alike.
                same(
                    "length",
                    many.warnings().first().map(String::len),
                    Some(header("").len() + 256),
                )
            },
        ),
    ]
}
