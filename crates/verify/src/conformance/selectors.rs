//! Label and field selectors.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Outcome, Target, case};

/// The names that a label selector (percent-encoded) selects.
async fn selects(t: &Target, selector: &str, expected: &str) -> Outcome {
    let list = t.get(&t.maps(&format!("?labelSelector={selector}"))).await?.is(200)?;
    same(selector, names(&list), expected.to_owned())
}

async fn abc(t: &Target) -> Outcome {
    for (name, labels) in [
        ("a", json!({ "k": "1", "x": "y" })),
        ("b", json!({ "k": "2" })),
        ("c", json!({ "example.com/k": "1" })),
        ("d", json!({})),
    ] {
        t.make(&t.maps(""), json!({ "metadata": { "name": name, "labels": labels } })).await?;
    }
    Ok(())
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "labels_equal",
            "`k=1` and `k==1` select objects with that label and value.",
            async |t| {
                abc(t).await?;
                selects(t, "k%3D1", "a").await?;
                selects(t, "k%3D%3D2", "b").await?;
                selects(t, "example.com/k%3D1", "c").await
            },
        ),
        case(
            "labels_not_equal",
            "`k!=1` selects objects with another value, and those without the label.",
            async |t| {
                abc(t).await?;
                selects(t, "k!%3D1", "b,c,d").await
            },
        ),
        case(
            "labels_exist",
            "`k` selects objects with the label, `!k` those without.",
            async |t| {
                abc(t).await?;
                selects(t, "k", "a,b").await?;
                selects(t, "!k", "c,d").await
            },
        ),
        case(
            "labels_in_sets",
            "`k in (1,3)` and `k notin (1)` select by sets; notin takes objects without the label.",
            async |t| {
                abc(t).await?;
                selects(t, "k%20in%20(1,3)", "a").await?;
                selects(t, "k%20notin%20(1)", "b,c,d").await
            },
        ),
        case(
            "labels_compared_as_numbers",
            "`k>1` and `k<2` compare integers; objects without the label do not match.",
            async |t| {
                abc(t).await?;
                selects(t, "k%3E1", "b").await?;
                selects(t, "k%3C2", "a").await
            },
        ),
        case(
            "requirements_are_joined",
            "Requirements joined by commas must all hold.",
            async |t| {
                abc(t).await?;
                selects(t, "k,x%3Dy", "a").await?;
                selects(t, "k,!x", "b").await?;
                selects(t, "%20k%20,%20x%20", "a").await
            },
        ),
        case(
            "an_empty_selector_selects_everything",
            "An empty label or field selector selects everything.",
            async |t| {
                abc(t).await?;
                selects(t, "", "a,b,c,d").await?;
                same(
                    "names",
                    names(&t.get(&t.maps("?fieldSelector=")).await?.is(200)?),
                    "a,b,c,d".to_owned(),
                )
            },
        ),
        case(
            "a_malformed_label_selector_is_400",
            "A label selector that cannot be read answers 400.",
            async |t| {
                for selector in [
                    "k%20in%20(1",
                    "k%3D1,,",
                    "a%20b",
                    "%3D1",
                    "k%3D%3D%3D1",
                    "k%20in%201",
                    "-k",
                    "k%3Da%20b",
                    "k%3Ex",
                ] {
                    let answer = t.get(&t.maps(&format!("?labelSelector={selector}"))).await?;
                    answer
                        .refused(400, "BadRequest")
                        .map_err(|why| format!("{selector}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "an_empty_value_is_selected",
            "`k=` selects objects whose label has an empty value, and not those without.",
            async |t| {
                t.labelled("a", "k", "").await?;
                t.labelled("b", "k", "1").await?;
                t.map("c", "v").await?;
                selects(t, "k%3D", "a").await
            },
        ),
        case(
            "fields_select_by_name_and_namespace",
            "metadata.name and metadata.namespace can be selected of every kind.",
            async |t| {
                abc(t).await?;
                let list = t.get(&t.maps("?fieldSelector=metadata.name%3Db")).await?.is(200)?;
                same("names", names(&list), "b".to_owned())?;
                let list = t.get(&t.maps("?fieldSelector=metadata.name!%3Db")).await?.is(200)?;
                same("names", names(&list), "a,c,d".to_owned())?;
                let list = t
                    .get(&format!(
                        "/api/v1/configmaps?fieldSelector=metadata.namespace%3D{},metadata.name%3D%3Da",
                        t.namespace
                    ))
                    .await?
                    .is(200)?;
                same("names", names(&list), "a".to_owned())?;
                let list =
                    t.get(&t.maps("?fieldSelector=metadata.namespace%3Dother")).await?.is(200)?;
                same("names", names(&list), String::new())
            },
        ),
        case(
            "an_unknown_field_is_400",
            "A field selector on a field that the kind does not offer answers 400 and names it.",
            async |t| {
                let status = t
                    .get(&t.maps("?fieldSelector=data.k%3Dv"))
                    .await?
                    .refused(400, "BadRequest")?;
                same(
                    "message",
                    text(&status, "/message"),
                    "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                )?;
                t.get(&t.core("pods", "?fieldSelector=spec.foo%3D1")).await?.says(
                    400,
                    "BadRequest",
                    "field label not supported: spec.foo",
                )?;
                t.get(&t.claims("?fieldSelector=spec.volumeName%3Dv"))
                    .await?
                    .refused(400, "BadRequest")?;
                t.get(&t.leases("?fieldSelector=spec.holderIdentity%3Dx"))
                    .await?
                    .refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "an_unknown_field_of_a_custom_kind_is_400",
            "A field selector on a field that the definition does not list answers 400.",
            async |t| {
                t.get(&t.widgets("?fieldSelector=spec.size%3D1"))
                    .await?
                    .refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "a_malformed_field_selector_is_400",
            "A field selector that cannot be read answers 400.",
            async |t| {
                for selector in ["metadata.name", "metadata.name%3Da%5C", "metadata.name%3Da%5Cx"] {
                    t.get(&t.maps(&format!("?fieldSelector={selector}")))
                        .await?
                        .refused(400, "BadRequest")
                        .map_err(|why| format!("{selector}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "fields_of_pods",
            "Pods are selected by node, phase, restart policy, service account and IP.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let mut other = pod("b");
                other["spec"]["nodeName"] = "n".into();
                other["spec"]["restartPolicy"] = "Never".into();
                t.make(&t.core("pods", ""), other).await?;
                for (selector, expected) in [
                    ("spec.nodeName%3Dn", "b"),
                    ("spec.nodeName%3D", "a"),
                    ("spec.nodeName!%3D", "b"),
                    ("status.phase%3DPending", "a,b"),
                    ("spec.restartPolicy%3DAlways", "a"),
                    ("spec.schedulerName%3Ddefault-scheduler", "a,b"),
                    ("status.podIP%3D", "a,b"),
                    ("spec.hostNetwork%3Dfalse", "a,b"),
                ] {
                    let list = t
                        .get(&t.core("pods", &format!("?fieldSelector={selector}")))
                        .await?
                        .is(200)?;
                    same(selector, names(&list), expected.to_owned())?;
                }
                Ok(())
            },
        ),
        case(
            "fields_of_secrets_services_and_namespaces",
            "Secrets are selected by type, Services by type and cluster IP, Namespaces by phase.",
            async |t| {
                t.make(&t.core("secrets", ""), named("a")).await?;
                same(
                    "names",
                    names(
                        &t.get(&t.core("secrets", "?fieldSelector=type%3DOpaque"))
                            .await?
                            .is(200)?,
                    ),
                    "a".to_owned(),
                )?;
                same(
                    "names",
                    names(
                        &t.get(&t.core("secrets", "?fieldSelector=type%3Dother")).await?.is(200)?,
                    ),
                    String::new(),
                )?;
                t.get(&t.core(
                    "services",
                    "?fieldSelector=spec.type%3DClusterIP,spec.clusterIP%3DNone",
                ))
                .await?
                .is(200)?;
                let list = t
                    .get(&format!(
                        "/api/v1/namespaces?fieldSelector=status.phase%3DActive,metadata.name%3D{}",
                        t.namespace
                    ))
                    .await?
                    .is(200)?;
                same("names", names(&list), t.namespace.clone())
            },
        ),
        case(
            "fields_of_a_custom_kind",
            "The selectable fields of a definition can be selected.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({ "color": "red" }))).await?;
                t.make(&t.widgets(""), widget("b", json!({}))).await?;
                same(
                    "red",
                    names(&t.get(&t.widgets("?fieldSelector=spec.color%3Dred")).await?.is(200)?),
                    "a".to_owned(),
                )?;
                same(
                    "none",
                    names(&t.get(&t.widgets("?fieldSelector=spec.color%3D")).await?.is(200)?),
                    "b".to_owned(),
                )
            },
        ),
        case(
            "labels_and_fields_together",
            "A label and a field selector must both hold.",
            async |t| {
                abc(t).await?;
                let list = t
                    .get(&t.maps("?labelSelector=k&fieldSelector=metadata.name!%3Da"))
                    .await?
                    .is(200)?;
                same("names", names(&list), "b".to_owned())
            },
        ),
        case(
            "a_watch_selects_by_fields",
            "A watch with a field selector on the name shows that object only.",
            async |t| {
                let first = t.map("a", "v").await?;
                let mut watch = t
                    .watch(&t.maps(&format!(
                        "?fieldSelector=metadata.name%3Dc&resourceVersion={}",
                        version(&first)
                    )))
                    .await?;
                t.map("b", "v").await?;
                t.map("c", "v").await?;
                watch.event("ADDED", "c").await.map(drop)
            },
        ),
    ]
}
