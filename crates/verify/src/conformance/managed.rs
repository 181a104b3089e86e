//! `metadata.managedFields`: who owns what after each sort of write.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![case(
        "an_empty_list_resets",
        "An update with an empty list of managedFields leaves an object that nobody owns anything of.",
        async |t| {
            let mut made = t.map("a", "v").await?;
            made["metadata"]["managedFields"] = json!([]);
            let written = t.put(&t.maps("/a"), &made).await?.is(200)?;
            has(&written, json!({ "metadata": { "managedFields": null } }))
        },
    )]
}
