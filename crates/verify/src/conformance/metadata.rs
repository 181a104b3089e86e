//! Labels, annotations, owner references, managed fields.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "labels_are_checked",
            "A label key that is no qualified name, or a value of other characters, answers 422.",
            async |t| {
                for (key, value) in [
                    ("a b", "v"),
                    ("", "v"),
                    ("A.com/x/y", "v"),
                    ("k", "a b"),
                    ("k", "-a"),
                    ("k", "a/b"),
                ] {
                    let object = json!({ "metadata": { "name": "a", "labels": { key: value } } });
                    t.post(&t.maps(""), &object)
                        .await?
                        .invalid(&["FieldValueInvalid metadata.labels"])?;
                }
                Ok(())
            },
        ),
        case(
            "label_values_have_at_most_63_characters",
            "A label value of 63 characters is fine, one of 64 answers 422.",
            async |t| {
                let object = |name: &str, length: usize| json!({ "metadata": { "name": name, "labels": { "k": "x".repeat(length) } } });
                t.post(&t.maps(""), &object("a", 63)).await?.is(201)?;
                t.post(&t.maps(""), &object("b", 64)).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "label_values_may_be_empty",
            "A label may have an empty value, and it stays.",
            async |t| {
                let made = t.labelled("a", "k", "").await?;
                has(&made, json!({ "metadata": { "labels": { "k": "" } } }))
            },
        ),
        case(
            "annotation_keys_are_checked",
            "An annotation key that is no qualified name answers 422; its case does not matter.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "annotations": { "a b": "v" } } });
                t.post(&t.maps(""), &object)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.annotations"])?;
                let object = json!({ "metadata": { "name": "a", "annotations": { "Example.com/X": "any text at all" } } });
                t.post(&t.maps(""), &object).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "annotations_have_at_most_256_kib",
            "Annotations of more than 256 KiB in all answer 422 FieldValueTooLong.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "annotations": { "k": "x".repeat(256 * 1024) } } });
                t.post(&t.maps(""), &object)
                    .await?
                    .invalid(&["FieldValueTooLong metadata.annotations"])?;
                Ok(())
            },
        ),
        case(
            "finalizers_are_qualified_names",
            "A finalizer that is no qualified name answers 422.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "finalizers": ["a b"] } });
                t.post(&t.maps(""), &object).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "finalizers_need_a_domain",
            "A finalizer without a domain that is none of Kubernetes' own answers 422.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "finalizers": ["plain"] } });
                t.post(&t.maps(""), &object)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.finalizers[0]"])?;
                let object = json!({ "metadata": { "name": "a", "finalizers": ["orphan", "foregroundDeletion", "kubernetes"] } });
                t.post(&t.maps(""), &object).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "owner_references_need_all_members",
            "An owner reference without apiVersion, kind, name or uid answers 422.",
            async |t| {
                let whole =
                    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u" });
                for member in ["apiVersion", "kind", "name", "uid"] {
                    let mut owner = whole.clone();
                    owner[member] = "".into();
                    let object = json!({ "metadata": { "name": "a", "ownerReferences": [owner] } });
                    t.post(&t.maps(""), &object).await?.refused(422, "Invalid")?;
                }
                t.post(
                    &t.maps("?dryRun=All"),
                    &json!({ "metadata": { "name": "a", "ownerReferences": [whole] } }),
                )
                .await?
                .is(201)?;
                Ok(())
            },
        ),
        case(
            "one_owner_is_the_controller",
            "Two owner references with controller true answer 422.",
            async |t| {
                let owner = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": true });
                let object = json!({ "metadata": { "name": "a", "ownerReferences": [owner("x"), owner("y")] } });
                t.post(&t.maps(""), &object)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.ownerReferences"])?;
                Ok(())
            },
        ),
        case("an_event_owns_nothing", "An owner reference to an Event answers 422.", async |t| {
            let owner = json!({ "apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u" });
            let object = json!({ "metadata": { "name": "a", "ownerReferences": [owner] } });
            t.post(&t.maps(""), &object).await?.refused(422, "Invalid")?;
            Ok(())
        }),
        case(
            "metadata_of_custom_objects_is_checked",
            "Labels and finalizers of custom objects are checked as those of built-in kinds.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["labels"] = json!({ "k": "a b" });
                t.post(&t.widgets(""), &object)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.labels"])?;
                Ok(())
            },
        ),
        case(
            "unknown_members_of_metadata_are_dropped",
            "A member that metadata does not have is dropped from custom objects too.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["odd"] = "x".into();
                has(&t.make(&t.widgets(""), object).await?, json!({ "metadata": { "odd": null } }))
            },
        ),
        case("the_name_cannot_be_changed", "A patch of metadata.name answers 400.", async |t| {
            t.map("a", "v").await?;
            let status = t
                .merge(&t.maps("/a"), json!({ "metadata": { "name": "b" } }))
                .await?
                .refused(400, "BadRequest")?;
            same(
                "message",
                text(&status, "/message"),
                "the name of the object (b) does not match the name on the URL (a)",
            )
        }),
        case(
            "the_namespace_cannot_be_changed",
            "A patch of metadata.namespace answers 400.",
            async |t| {
                t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "metadata": { "namespace": "default" } }))
                    .await?
                    .refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "the_uid_cannot_be_changed",
            "A patch of metadata.uid answers 422: field is immutable.",
            async |t| {
                t.map("a", "v").await?;
                let answer =
                    t.merge(&t.maps("/a"), json!({ "metadata": { "uid": "other" } })).await?;
                answer.invalid(&["FieldValueInvalid metadata.uid"])?;
                Ok(())
            },
        ),
        case(
            "managed_fields_say_who_wrote_what",
            "Every object has managedFields with the writer, the operation and the fields it wrote.",
            async |t| {
                let made =
                    t.post(&t.maps("?fieldManager=tester"), &map("a", "v")).await?.is(201)?;
                let entry = json!({
                    "manager": "tester", "operation": "Update", "apiVersion": "v1", "time": "*", "fieldsType": "FieldsV1",
                    "fieldsV1": { "f:data": { ".": {}, "f:k": {} } },
                });
                has(&made, json!({ "metadata": { "managedFields": [entry] } }))
            },
        ),
        case(
            "sent_managed_fields_are_no_change",
            "A PUT without the managedFields it read, everything else equal, is an equal write.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                let old = version(&made).to_owned();
                if let Some(metadata) = made["metadata"].as_object_mut() {
                    metadata.remove("managedFields");
                }
                same("version", version(&t.put(&t.maps("/a"), &made).await?.is(200)?), old)
            },
        ),
        case(
            "a_field_manager_has_at_most_128_characters",
            "A fieldManager of more than 128 characters answers 422.",
            async |t| {
                let path = t.maps(&format!("?fieldManager={}", "x".repeat(129)));
                t.post(&path, &map("a", "v"))
                    .await?
                    .invalid(&["FieldValueTooLong fieldManager"])?;
                Ok(())
            },
        ),
        case(
            "creation_times_are_whole_seconds_in_utc",
            "creationTimestamp has whole seconds and ends in Z.",
            async |t| {
                let made = t.map("a", "v").await?;
                let time = text(&made, "/metadata/creationTimestamp");
                holds(
                    "it has the form 2026-01-02T03:04:05Z",
                    time.len() == 20 && time.ends_with('Z'),
                )
            },
        ),
        case(
            "micro_times_have_six_digits",
            "A Lease's renewTime takes exactly six digits of a second: 0, 1 or 9 answer 400.",
            async |t| {
                for fraction in ["", ".1", ".123456789"] {
                    let mut object = lease("a", "x");
                    object["spec"]["renewTime"] = format!("2026-01-02T03:04:05{fraction}Z").into();
                    let code = t.post(&t.leases(""), &object).await?.code;
                    same("code", code, 400)?;
                }
                Ok(())
            },
        ),
        case(
            "micro_times_are_kept_and_shown_in_utc",
            "A renewTime comes back with its six digits, in UTC whatever zone it was sent in.",
            async |t| {
                let mut object = lease("a", "x");
                object["spec"]["renewTime"] = "2026-01-02T05:04:05.100000+02:00".into();
                let made = t.make(&t.leases(""), object).await?;
                same("renewTime", text(&made, "/spec/renewTime"), "2026-01-02T03:04:05.100000Z")
            },
        ),
        case(
            "a_lease_lasts_at_least_a_second",
            "A Lease with a duration of 0 or less, or negative transitions, answers 422.",
            async |t| {
                let mut object = lease("a", "x");
                object["spec"]["leaseDurationSeconds"] = 0.into();
                t.post(&t.leases(""), &object)
                    .await?
                    .invalid(&["FieldValueInvalid spec.leaseDurationSeconds"])?;
                let mut object = lease("a", "x");
                object["spec"]["leaseTransitions"] = (-1).into();
                t.post(&t.leases(""), &object)
                    .await?
                    .invalid(&["FieldValueInvalid spec.leaseTransitions"])?;
                Ok(())
            },
        ),
        case(
            "what_is_wrong_with_metadata_is_said_in_order",
            "Labels, annotations, owners, finalizers; of an update then what may not change.",
            async |t| {
                let wrong = json!({
                    "labels": { "a/b/c": "x" }, "annotations": { "d/e/f": "" }, "finalizers": ["x y"],
                    "ownerReferences": [{ "apiVersion": "v1", "kind": "", "name": "", "uid": "u" }],
                });
                let fields = |status: &serde_json::Value| {
                    let mut fields: Vec<String> = Vec::new();
                    for cause in items(status, "/details/causes") {
                        let field =
                            text(cause, "/field").trim_start_matches("metadata.").to_owned();
                        // The real server checks metadata up to three times.
                        if !fields.contains(&field) {
                            fields.push(field);
                        }
                    }
                    fields.join(" ")
                };
                let mut object = json!({ "metadata": wrong });
                object["metadata"]["name"] = "a".into();
                let said = t.post(&t.leases(""), &object).await?.refused(422, "Invalid")?;
                let order =
                    "labels annotations ownerReferences.kind ownerReferences.name finalizers";
                same("of a new one", fields(&said), order)?;
                t.make(&t.leases(""), named("a")).await?;
                let mut patch = json!({ "metadata": wrong });
                patch["metadata"]["uid"] = "x".into();
                let said = t.merge(&t.leases("/a"), patch).await?.refused(422, "Invalid")?;
                same("of a change", fields(&said), format!("{order} uid"))
            },
        ),
        case(
            "controllers_are_named_if_there_are_several",
            "Several owners that control are all shown, and named.",
            async |t| {
                let owner = |name: &str| json!({ "apiVersion": "v1", "kind": "A", "name": name, "uid": name, "controller": true });
                let owners = json!([owner("x"), owner("y"), owner("z")]);
                let object = json!({ "metadata": { "name": "a", "ownerReferences": owners } });
                let status = t.post(&t.maps(""), &object).await?.refused(422, "Invalid")?;
                let shown = ["x", "y", "z"].map(|name| {
                    format!("{{\"apiVersion\":\"v1\",\"kind\":\"A\",\"name\":\"{name}\",\"uid\":\"{name}\",\"controller\":true}}")
                });
                let both = ["A/y", "A/z"].map(|other| {
                    format!(
                        "Invalid value: [{}]: Only one reference can have Controller set to true. Found \"true\" in \
                         references for A/x and {other}",
                        shown.join(",")
                    )
                });
                let causes =
                    items(&status, "/details/causes").iter().map(|cause| text(cause, "/message"));
                same(
                    "causes",
                    causes.collect::<Vec<_>>(),
                    both.iter().map(String::as_str).collect::<Vec<_>>(),
                )
            },
        ),
        case(
            "a_lease_may_be_without_spec_or_holder",
            "A Lease without a spec, and one with an empty holder, can be made and read.",
            async |t| {
                t.make(&t.leases(""), named("a")).await?;
                let made = t
                    .make(
                        &t.leases(""),
                        json!({ "metadata": { "name": "b" }, "spec": { "holderIdentity": "" } }),
                    )
                    .await?;
                has(&made, json!({ "spec": { "holderIdentity": "" } }))
            },
        ),
        case(
            "a_lease_is_taken_by_one_of_two",
            "Of two updates that take a Lease from one version, one is applied and the other answers 409.",
            async |t| {
                let made = t.make(&t.leases(""), lease("a", "")).await?;
                let (mut one, mut two) = (made.clone(), made);
                one["spec"]["holderIdentity"] = "one".into();
                two["spec"]["holderIdentity"] = "two".into();
                let path = t.leases("/a");
                let (one, two) = futures::join!(t.put(&path, &one), t.put(&path, &two));
                let mut codes = [one?.code, two?.code];
                codes.sort_unstable();
                same("codes", codes, [200, 409])
            },
        ),
    ]
}
