//! What random calls found of Events, which have two groups and the words of one.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

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
                let fields =
                    ["involvedObject", "message", "source", "count", "reportingController"];
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
                answer
                    .says(422, "Invalid", "message: Invalid value: \"\": field is immutable")
                    .map(drop)
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
        case(
            "the_instance_that_reports_is_a_source_like_a_host",
            "A table of Events has the reporting instance where there is no host.",
            async |t| {
                t.make(&t.new_events(""), new_event("e", &t.namespace)).await?;
                let path = t.new_events("/e");
                let table = t.send(Method::GET, &path, &[("accept", TABLE)], "").await?.is(200)?;
                let both =
                    |cell: &Value| cell.as_str().is_some_and(|source| source.ends_with(", i"));
                holds("a cell has the instance", items(&table, "/rows/0/cells").iter().any(both))
            },
        ),
        case(
            "lists_of_events_have_pages_at_any_version",
            "A list of Events with a limit and the resourceVersion 0 has pages: no cache answers it.",
            async |t| {
                for name in ["e", "f"] {
                    t.make(&t.new_events(""), new_event(name, &t.namespace)).await?;
                }
                for list in [t.new_events(""), t.core("events", "")] {
                    let page =
                        t.get(&format!("{list}?limit=1&resourceVersion=0")).await?.is(200)?;
                    same("how many", items(&page, "/items").len(), 1)?;
                    holds("there is more", !text(&page, "/metadata/continue").is_empty())?;
                }
                Ok(())
            },
        ),
        case(
            "a_name_that_was_made_up_is_taken_in_the_older_group",
            "A create of an Event of events.k8s.io/v1 with a generateName and a name that is taken answers 409 without the \
             group.",
            async |t| {
                let mut event = new_event("e", &t.namespace);
                event["metadata"]["generateName"] = "e-".into();
                t.make(&t.new_events(""), event.clone()).await?;
                let answer = t.post(&t.new_events(""), &event).await?;
                let status = answer.says(
                    409,
                    "AlreadyExists",
                    "events \"e\" already exists, the server was not",
                )?;
                holds("no group is named", status["details"]["group"].is_null())
            },
        ),
    ]
}
