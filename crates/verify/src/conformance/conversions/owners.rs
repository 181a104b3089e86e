//! Owners of fields, in versions that call them otherwise.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::conversions::hook::Hook;
use crate::conformance::conversions::writes::is_everywhere;
use crate::conformance::{APPLY, Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_apply_in_another_version_is_stored_converted",
            "An apply in another version changes the stored object.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let path = hook.things("v2", "/a?fieldManager=m&force=true");
                let new = t.patch(&path, APPLY, &hook.thing("v2", "a", "blue")).await?.is(200)?;
                same("the spec", &new["spec"], &json!({ "colour": "blue" }))?;
                is_everywhere(t, &hook, "a", "blue").await
            },
        ),
        case(
            "fields_keep_their_owners_across_versions",
            "A field that one version calls otherwise conflicts with its owner in the other version.",
            async |t| {
                let hook = Hook::served(t).await?;
                let path = hook.things("v1", "/a?fieldManager=one");
                t.patch(&path, APPLY, &hook.thing("v1", "a", "red")).await?.is(201)?;
                let path = hook.things("v2", "/a?fieldManager=two");
                let thing = hook.thing("v2", "a", "blue");
                let refused = t.patch(&path, APPLY, &thing).await?.refused(409, "Conflict")?;
                let why = "Apply failed with 1 conflict: conflict with \"one\": .spec.color";
                same("the message", text(&refused, "/message"), why)?;
                let new = t.patch(&format!("{path}&force=true"), APPLY, &thing).await?.is(200)?;
                let owners: Vec<_> = items(&new, "/metadata/managedFields")
                    .iter()
                    .map(|entry| (text(entry, "/manager"), &entry["fieldsV1"]))
                    .collect();
                let own = json!({ "f:spec": { "f:colour": {} } });
                same("the owners", owners, vec![("two", &own)])?;
                t.delete(&hook.things("v2", "/a")).await?.is(200).map(drop)
            },
        ),
        case(
            "what_a_manager_drops_in_another_version_goes",
            "A field goes when its manager applies in another version without it.",
            async |t| {
                let hook = Hook::served(t).await?;
                let mut thing = hook.thing("v1", "a", "red");
                thing["spec"]["size"] = 1.into();
                let path = hook.things("v1", "/a?fieldManager=one");
                t.patch(&path, APPLY, &thing).await?.is(201)?;
                let mut thing = hook.thing("v2", "a", "red");
                thing["spec"] = json!({ "size": 1 });
                let path = hook.things("v2", "/a?fieldManager=one");
                let new = t.patch(&path, APPLY, &thing).await?.is(200)?;
                same("the spec", &new["spec"], &json!({ "size": 1 }))?;
                t.delete(&hook.things("v2", "/a")).await?.is(200).map(drop)
            },
        ),
        case(
            "an_update_takes_fields_from_owners_in_another_version",
            "An update takes a field from its owner, whatever the owner's version calls it.",
            async |t| {
                let hook = Hook::served(t).await?;
                let path = hook.things("v1", "/a?fieldManager=one");
                t.patch(&path, APPLY, &hook.thing("v1", "a", "red")).await?.is(201)?;
                let path = hook.things("v2", "/a?fieldManager=two");
                let patch = json!({ "spec": { "colour": "blue" } });
                let new = t.merge(&path, patch).await?.is(200)?;
                let managers: Vec<_> = items(&new, "/metadata/managedFields")
                    .iter()
                    .map(|entry| (text(entry, "/manager"), &entry["fieldsV1"]))
                    .collect();
                let own = json!({ "f:spec": { "f:colour": {} } });
                same("the owners", managers, vec![("two", &own)])?;
                t.delete(&hook.things("v2", "/a")).await?.is(200).map(drop)
            },
        ),
    ]
}
