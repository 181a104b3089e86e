//! Classes: defaults, checks, what may change.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::storage::objects::with;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_class_has_defaults",
            "A new class deletes its volumes and binds at once.",
            async |t| {
                let made = t.make(&t.classes(""), class(&t.own("c"))).await?;
                has(&made, json!({ "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate" }))
            },
        ),
        case(
            "a_class_is_checked",
            "A class without a provisioner, with an odd one, or with an unknown policy or mode answers 422.",
            async |t| {
                let name = t.own("c");
                for (object, cause) in [
                    (named(&name), "FieldValueRequired provisioner"),
                    (
                        with(class(&name), "/provisioner", json!("a b")),
                        "FieldValueInvalid provisioner",
                    ),
                    (
                        with(class(&name), "/reclaimPolicy", json!("Recycle")),
                        "FieldValueNotSupported reclaimPolicy",
                    ),
                    (
                        with(class(&name), "/volumeBindingMode", json!("Odd")),
                        "FieldValueNotSupported volumeBindingMode",
                    ),
                ] {
                    t.post(&t.classes("?dryRun=All"), &object).await?.invalid(&[cause])?;
                }
                Ok(())
            },
        ),
        case(
            "a_class_cannot_be_changed",
            "A change of a class's provisioner, parameters, policy or mode answers 422: field is immutable.",
            async |t| {
                let name = t.own("c");
                t.make(&t.classes(""), class(&name)).await?;
                let path = t.classes(&format!("/{name}"));
                for (patch, field) in [
                    (json!({ "provisioner": "q" }), "provisioner"),
                    (json!({ "parameters": { "a": "b" } }), "parameters"),
                    (json!({ "reclaimPolicy": "Retain" }), "reclaimPolicy"),
                    (json!({ "volumeBindingMode": "WaitForFirstConsumer" }), "volumeBindingMode"),
                ] {
                    let status = t
                        .merge(&path, patch)
                        .await?
                        .invalid(&[&format!("FieldValueInvalid {field}")])?;
                    holds(
                        "the message says so",
                        text(&status, "/message").ends_with("field is immutable"),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "the_rest_of_a_class_can_be_changed",
            "A class's expansion, mount options, topologies and annotations can be changed.",
            async |t| {
                let name = t.own("c");
                t.make(&t.classes(""), class(&name)).await?;
                let path = t.classes(&format!("/{name}"));
                let topologies =
                    json!([{ "matchLabelExpressions": [{ "key": "k", "values": ["v"] }] }]);
                for patch in [
                    json!({ "allowVolumeExpansion": true }),
                    json!({ "mountOptions": ["ro"] }),
                    json!({ "allowedTopologies": topologies }),
                    json!({ "metadata": { "annotations": { "a": "b" } } }),
                ] {
                    t.merge(&path, patch).await?.is(200)?;
                }
                Ok(())
            },
        ),
    ]
}
