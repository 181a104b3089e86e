//! Claims: defaults, checks, what may change.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::storage::objects::{lone_claim, with, wrong_claim};
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_claim_is_made_pending",
            "A new claim is Pending, of volume mode Filesystem, and has the finalizer kubernetes.io/pvc-protection.",
            async |t| {
                let made = lone_claim(t, "a").await?;
                has(
                    &made,
                    json!({ "metadata": { "finalizers": ["kubernetes.io/pvc-protection"] }, "spec": { "volumeMode": "Filesystem" }, "status": { "phase": "Pending" } }),
                )
            },
        ),
        case(
            "a_claim_needs_access_modes_and_a_size",
            "A claim without access modes, or without a requested size, answers 422.",
            async |t| {
                wrong_claim(
                    t,
                    "/spec/accessModes",
                    Value::Null,
                    &["FieldValueRequired spec.accessModes"],
                )
                .await?;
                wrong_claim(
                    t,
                    "/spec/resources",
                    Value::Null,
                    &["FieldValueRequired spec.resources[storage]"],
                )
                .await?;
                wrong_claim(
                    t,
                    "/spec",
                    Value::Null,
                    &[
                        "FieldValueRequired spec.accessModes",
                        "FieldValueRequired spec.resources[storage]",
                    ],
                )
                .await
            },
        ),
        case(
            "a_claims_size_is_positive",
            "A claim of size 0 answers 422; one that is no quantity 400.",
            async |t| {
                wrong_claim(
                    t,
                    "/spec/resources/requests/storage",
                    json!("0"),
                    &["FieldValueInvalid spec.resources[storage]"],
                )
                .await?;
                let object =
                    with(claim("a", &t.class), "/spec/resources/requests/storage", json!("x"));
                t.post(&t.claims("?dryRun=All"), &object).await?.says(
                    400,
                    "BadRequest",
                    "quantities must match the regular expression",
                )?;
                Ok(())
            },
        ),
        case(
            "words_of_a_claim_are_checked",
            "An unknown access mode or volume mode, or a class that is no name, answers 422.",
            async |t| {
                wrong_claim(
                    t,
                    "/spec/accessModes",
                    json!(["Odd"]),
                    &["FieldValueNotSupported spec.accessModes"],
                )
                .await?;
                wrong_claim(
                    t,
                    "/spec/volumeMode",
                    json!("Odd"),
                    &["FieldValueNotSupported spec.volumeMode"],
                )
                .await?;
                wrong_claim(
                    t,
                    "/spec/storageClassName",
                    json!("A B"),
                    &["FieldValueInvalid spec.storageClassName"],
                )
                .await
            },
        ),
        case(
            "a_claims_spec_cannot_be_changed",
            "A change of a claim's class, access modes, selector or size answers 422 Forbidden about spec.",
            async |t| {
                lone_claim(t, "a").await?;
                for spec in [
                    json!({ "storageClassName": "other" }),
                    json!({ "accessModes": ["ReadWriteMany"] }),
                    json!({ "selector": { "matchLabels": { "a": "b" } } }),
                    json!({ "resources": { "requests": { "storage": "2Gi" } } }),
                    json!({ "resources": { "requests": { "storage": "512Mi" } } }),
                    json!({ "resources": { "limits": { "storage": "9Gi" } } }),
                    json!({ "volumeAttributesClassName": "x" }),
                ] {
                    let answer = t.merge(&t.claims("/a"), json!({ "spec": spec })).await?;
                    let status = answer
                        .invalid(&["FieldValueForbidden spec"])
                        .map_err(|why| format!("{spec}: {why}"))?;
                    let why = "PersistentVolumeClaim \"a\" is invalid: spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
                    holds("the message says so", text(&status, "/message").starts_with(why))?;
                }
                Ok(())
            },
        ),
        case(
            "a_claims_volume_mode_cannot_be_changed",
            "A change of a claim's volume mode answers 422 about spec and volumeMode.",
            async |t| {
                lone_claim(t, "a").await?;
                let answer =
                    t.merge(&t.claims("/a"), json!({ "spec": { "volumeMode": "Block" } })).await?;
                answer.invalid(&["FieldValueForbidden spec", "FieldValueInvalid volumeMode"])?;
                Ok(())
            },
        ),
        case(
            "a_claims_volume_is_set_once",
            "A claim's volumeName can be set where there is none, and not changed or removed then.",
            async |t| {
                lone_claim(t, "a").await?;
                let name = t.own("none");
                let patched = t
                    .merge(&t.claims("/a"), json!({ "spec": { "volumeName": name } }))
                    .await?
                    .is(200)?;
                has(&patched, json!({ "spec": { "volumeName": name } }))?;
                for value in [json!("other"), Value::Null] {
                    let answer = t
                        .merge(&t.claims("/a"), json!({ "spec": { "volumeName": value } }))
                        .await?;
                    answer.invalid(&["FieldValueForbidden spec"])?;
                }
                Ok(())
            },
        ),
        case(
            "a_claims_class_is_set_once",
            "A claim without a class can be given one, once.",
            async |t| {
                let object = with(claim("a", ""), "/spec/storageClassName", Value::Null);
                t.make(&t.claims(""), object).await?;
                t.merge(&t.claims("/a"), json!({ "spec": { "storageClassName": t.class } }))
                    .await?
                    .is(200)?;
                t.merge(&t.claims("/a"), json!({ "spec": { "storageClassName": "other" } }))
                    .await?
                    .invalid(&["FieldValueForbidden spec"])?;
                Ok(())
            },
        ),
        case(
            "an_equal_size_is_no_change",
            "A size in another notation is the same size: it is no change of the spec.",
            async |t| {
                lone_claim(t, "a").await?;
                let patch =
                    json!({ "spec": { "resources": { "requests": { "storage": "1024Mi" } } } });
                has(
                    &t.merge(&t.claims("/a"), patch).await?.is(200)?,
                    json!({ "spec": { "resources": { "requests": { "storage": "1Gi" } } } }),
                )
            },
        ),
        case(
            "quantities_have_one_form",
            "Quantities are shown in their shortest form: 1024Mi is 1Gi, 1.5Gi is 1536Mi.",
            async |t| {
                for (sent, shown) in [
                    ("1024Mi", "1Gi"),
                    ("1.5Gi", "1536Mi"),
                    ("1000Mi", "1000Mi"),
                    ("1000000k", "1G"),
                    ("1073741824", "1073741824"),
                    ("2000", "2k"),
                    ("0.5Gi", "512Mi"),
                    ("1e3", "1e3"),
                ] {
                    let object =
                        with(claim("a", &t.class), "/spec/resources/requests/storage", json!(sent));
                    let made = t.post(&t.claims("?dryRun=All"), &object).await?.is(201)?;
                    same(sent, text(&made, "/spec/resources/requests/storage"), shown)?;
                }
                Ok(())
            },
        ),
        case(
            "labels_of_a_claim_can_be_changed",
            "Labels and annotations of a claim can be changed.",
            async |t| {
                lone_claim(t, "a").await?;
                t.merge(
                    &t.claims("/a"),
                    json!({ "metadata": { "labels": { "l": "1" }, "annotations": { "a": "1" } } }),
                )
                .await?
                .is(200)?;
                Ok(())
            },
        ),
        case(
            "no_class_is_a_class_that_a_claim_is_given",
            "A claim without a class can be given the empty one, which is no other afterwards.",
            async |t| {
                let object = with(claim("a", ""), "/spec/storageClassName", Value::Null);
                t.make(&t.claims(""), object).await?;
                t.merge(&t.claims("/a"), json!({ "spec": { "storageClassName": "" } }))
                    .await?
                    .is(200)?;
                let other = json!({ "spec": { "storageClassName": t.class } });
                t.merge(&t.claims("/a"), other)
                    .await?
                    .invalid(&["FieldValueForbidden spec"])
                    .map(drop)
            },
        ),
        case(
            "a_claim_that_shrinks_to_nothing_has_as_much",
            "A claim without a capacity that is to ask for nothing is told that this is no more than its capacity, too.",
            async |t| {
                lone_claim(t, "a").await?;
                let patch = json!({ "spec": { "resources": { "requests": { "storage": "0" } } } });
                let causes = [
                    "FieldValueInvalid spec.resources[storage]",
                    "FieldValueForbidden spec",
                    "FieldValueForbidden spec.resources.requests.storage",
                ];
                t.merge(&t.claims("/a"), patch).await?.invalid(&causes).map(drop)
            },
        ),
        case(
            "a_capacity_of_a_claim_is_not_negative",
            "A status of a claim with less than nothing of something answers 422, and shows it as a whole number.",
            async |t| {
                lone_claim(t, "a").await?;
                let patch = json!({ "status": { "capacity": { "storage": "-1500m" } } });
                let why = "status.capacity[storage]: Invalid value: -2: must be a valid resource quantity";
                t.merge(&t.claims("/a/status"), patch).await?.says(422, "Invalid", why).map(drop)
            },
        ),
        case(
            "the_first_write_to_a_claim_is_one",
            "A claim gets another version by its first write, even if that changes nothing, and none by the second.",
            async |t| {
                // Nobody binds it, or writes to it otherwise.
                let object = with(claim("a", "none"), "/spec/volumeName", json!("none"));
                let made = t.make(&t.claims(""), object).await?;
                let first = t.merge(&t.claims("/a"), json!({})).await?.is(200)?;
                holds("the first is a write", number(&first) > number(&made))
            },
        ),
    ]
}
