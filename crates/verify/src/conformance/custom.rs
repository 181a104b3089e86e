//! Custom kinds: what is kept, how two versions share their objects.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "any_member_is_kept",
            "Where the schema preserves unknown fields, members at any depth are kept.",
            async |t| {
                let spec = json!({ "a": { "b": [1, "x", true, { "c": {} }] }, "n": 5 });
                let made = t.make(&t.widgets(""), widget("a", spec.clone())).await?;
                same("spec", made["spec"].clone(), spec)
            },
        ),
        case("nulls_are_kept", "A null member of a custom object stays null.", async |t| {
            let made =
                t.make(&t.widgets(""), widget("a", json!({ "n": null, "l": [null] }))).await?;
            same("spec", made["spec"].clone(), json!({ "n": null, "l": [null] }))
        }),
        case(
            "whole_floats_are_integers",
            "A float that is whole is stored and shown as an integer; others stay.",
            async |t| {
                let body = json!({ "metadata": { "name": "a" } }).to_string();
                let body = body.replace("{\"metadata\"", "{\"apiVersion\":\"conformance.example.com/v1\",\"kind\":\"Widget\",\"spec\":{\"n\":2.0,\"m\":0.5},\"metadata\"");
                let answer = t
                    .send(
                        http::Method::POST,
                        &t.widgets(""),
                        &[("content-type", "application/json")],
                        body,
                    )
                    .await?;
                answer.is(201)?;
                holds(
                    "n is 2, m 0.5",
                    answer.text.contains("\"n\":2")
                        && !answer.text.contains("2.0")
                        && answer.text.contains("\"m\":0.5"),
                )
            },
        ),
        case(
            "two_versions_share_an_object",
            "An object written in one version is read in the other, with the same uid and resourceVersion.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({ "n": 1 }))).await?;
                let other = t.get(&t.widgets_v2("/a")).await?.is(200)?;
                has(
                    &other,
                    json!({ "apiVersion": "conformance.example.com/v2", "kind": "Widget", "spec": { "n": 1 } }),
                )?;
                same("version", version(&other), version(&made))?;
                same("uid", text(&other, "/metadata/uid"), text(&made, "/metadata/uid"))
            },
        ),
        case(
            "a_watch_of_one_version_sees_writes_in_the_other",
            "A watch in one version sees what is written in the other, in its own version.",
            async |t| {
                let first = t.make(&t.widgets(""), widget("x", json!({}))).await?;
                let mut watch = t
                    .watch(&t.widgets_v2(&format!("?resourceVersion={}", version(&first))))
                    .await?;
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                has(
                    &watch.event("ADDED", "a").await?,
                    json!({ "apiVersion": "conformance.example.com/v2" }),
                )
            },
        ),
        case(
            "a_body_of_the_other_version_is_400",
            "A create whose body names the other version of the kind answers 400.",
            async |t| {
                t.post(&t.widgets_v2(""), &widget("a", json!({})))
                    .await?
                    .refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "a_cluster_kind_has_no_namespace",
            "A namespace in the metadata of an object of cluster scope is dropped.",
            async |t| {
                let mut object = gadget(&t.own("g"), json!({}));
                object["metadata"]["namespace"] = "default".into();
                has(
                    &t.make(&t.gadgets(""), object).await?,
                    json!({ "metadata": { "namespace": null } }),
                )
            },
        ),
        case(
            "a_custom_object_without_spec",
            "A custom object needs nothing but its name.",
            async |t| {
                let object = json!({ "apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": { "name": "a" } });
                has(&t.make(&t.widgets(""), object).await?, json!({ "spec": null, "status": null }))
            },
        ),
        case(
            "a_wrong_type_by_the_schema_is_422",
            "A member of another type than the schema says answers 422.",
            async |t| {
                t.post(&t.widgets(""), &widget("a", json!({ "color": 7 })))
                    .await?
                    .invalid(&["FieldValueTypeInvalid spec.color"])?;
                Ok(())
            },
        ),
        case(
            "an_unregistered_scale_is_404",
            "The scale of a custom kind without that subresource answers 404.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                t.get(&t.widgets("/a/scale")).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
    ]
}
