//! What random calls found of Events, which have two groups and the words of one.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "what_stays_of_an_event_is_named_as_in_the_older_group",
            "An update of an Event of events.k8s.io/v1 is told what may not change by its name in core/v1, and shown \
             objects as Go has them; only who reports has its name of the younger group.",
            async |t| {
                t.make(&t.new_events(""), new_event("e", &t.namespace)).await?;
                let patch = json!({
                    "note": "other", "reportingController": "example.com/d", "deprecatedCount": 3,
                    "regarding": { "name": "q" }, "deprecatedSource": { "host": "h" },
                });
                let answer = t.merge(&t.new_events("/e"), patch).await?;
                let fields = ["involvedObject", "message", "source", "count", "reportingController"];
                let status = answer.refused(422, "Invalid")?;
                let causes = items(&status, "/details/causes");
                let named: Vec<_> = causes.iter().map(|cause| text(cause, "/field")).collect();
                same("the fields", named, fields)?;
                let source = "source: Invalid value: {\"Component\":\"\",\"Host\":\"h\"}: field is immutable";
                answer.says(422, "Invalid", source)?;
                answer.says(422, "Invalid", "{\"Kind\":\"Pod\",\"Namespace\":").map(drop)
            },
        ),
        case(
            "nothing_is_shown_of_a_text_that_an_event_loses",
            "An update of an Event of events.k8s.io/v1 that takes its note away is shown an empty text.",
            async |t| {
                t.make(&t.new_events(""), new_event("e", &t.namespace)).await?;
                let answer = t.merge(&t.new_events("/e"), json!({ "note": null })).await?;
                answer.says(422, "Invalid", "message: Invalid value: \"\": field is immutable").map(drop)
            },
        ),
        case(
            "an_event_that_nobody_reports_is_told_all_that_is_wrong_with_no_name",
            "An Event with a time of its own and without a controller answers 422 with each rule that an empty name breaks.",
            async |t| {
                let mut event = new_event("e", &t.namespace);
                event["reportingController"] = json!("");
                let answer = t.post(&t.new_events(""), &event).await?;
                answer.says(422, "Invalid", "reportingController: Required value")?;
                answer.says(
                    422,
                    "Invalid",
                    "reportingController: Invalid value: \"\": name part must be non-empty",
                )?;
                let word = "reportingController: Invalid value: \"\": name part must consist of";
                answer.says(422, "Invalid", word).map(drop)
            },
        ),
    ]
}
