//! Refusals of webhooks.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::Target;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Answer, Case, case};

/// The answer to a create that a webhook refuses with this status.
async fn denied(t: &Target, status: Value) -> Result<Answer, String> {
    let hooks = hooks(t, move |seen| deny(seen, status.clone())).await?;
    hooks.one(VALIDATING, "no", json!({})).await?;
    t.post(&t.maps(""), &map("x", "v")).await
}

const DENIED: &str = "admission webhook \"no.example.com\" denied the request";

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_refusal_has_the_code_and_the_reason_of_the_webhook",
            "A refusal has the code, the reason and the message of the webhook's status.",
            async |t| {
                let status = json!({ "code": 409, "reason": "Conflict", "message": "it is taken" });
                let answer = denied(t, status).await?;
                let refused = answer.refused(409, "Conflict")?;
                same("message", text(&refused, "/message"), format!("{DENIED}: it is taken"))?;
                t.get(&t.maps("/x")).await?.is(404).map(drop)
            },
        ),
        case(
            "a_refusal_without_a_status_has_no_explanation",
            "A refusal without a status answers 400 and says that there is no explanation.",
            async |t| {
                let hooks = hooks(t, |seen| respond(seen, json!({ "allowed": false }))).await?;
                hooks.one(VALIDATING, "no", json!({})).await?;
                let refused = t.post(&t.maps(""), &map("x", "v")).await?.refused(400, "")?;
                same("message", text(&refused, "/message"), format!("{DENIED} without explanation"))
            },
        ),
        case(
            "a_refusal_with_a_reason_alone_says_the_reason",
            "A refusal with a reason and no message says the reason.",
            async |t| {
                let refused =
                    denied(t, json!({ "reason": "Expired" })).await?.refused(400, "Expired")?;
                same("message", text(&refused, "/message"), format!("{DENIED}: Expired"))
            },
        ),
        case(
            "a_refusal_is_never_a_success",
            "A refusal with a code below 400 or the status Success answers 400.",
            async |t| {
                let status = json!({ "code": 200, "status": "Success", "message": "fine" });
                let refused = denied(t, status).await?.refused(400, "")?;
                same("message", text(&refused, "/message"), format!("{DENIED}: fine"))
            },
        ),
        case(
            "a_refusal_has_the_details_of_the_webhook",
            "A refusal has the details of the webhook's status.",
            async |t| {
                let causes =
                    json!([{ "reason": "FieldValueInvalid", "message": "bad", "field": "data.k" }]);
                let details = json!({ "name": "x", "kind": "ConfigMap", "causes": causes });
                let status = json!({ "code": 422, "reason": "Invalid", "message": "bad", "details": details });
                has(
                    &denied(t, status).await?.refused(422, "Invalid")?,
                    json!({ "details": details }),
                )
            },
        ),
        case(
            "no_failure_policy_ignores_a_refusal",
            "A refusal counts with failurePolicy Ignore too.",
            async |t| {
                let hooks = hooks(t, |seen| deny(seen, json!({ "message": "no" }))).await?;
                hooks.one(MUTATING, "no", json!({ "failurePolicy": "Ignore" })).await?;
                let refused = t.post(&t.maps(""), &map("x", "v")).await?;
                refused.says(400, "", &format!("{DENIED}: no")).map(drop)
            },
        ),
        case(
            "a_refused_update_changes_nothing",
            "An object whose update a webhook refuses keeps its version.",
            async |t| {
                let made = t.map("x", "v").await?;
                let hooks =
                    hooks(t, |seen| deny(seen, json!({ "message": "no", "code": 403 }))).await?;
                let rules = rules(&["UPDATE"], "/v1", &["configmaps"]);
                hooks.one(VALIDATING, "no", json!({ "rules": rules })).await?;
                let refused = t.merge(&t.maps("/x"), json!({ "data": { "k": "w" } })).await?;
                refused.says(403, "", &format!("{DENIED}: no"))?;
                let now = t.get(&t.maps("/x")).await?.is(200)?;
                same("version", version(&now), version(&made))
            },
        ),
    ]
}
