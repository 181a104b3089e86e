//! Nodes: taints, addresses, status, and what of them may change.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

fn nodes(rest: &str) -> String {
    format!("/api/v1/nodes{rest}")
}

async fn refused(t: &Target, spec: Value, causes: &[&str]) -> Result<(), String> {
    let object = json!({ "metadata": { "name": t.own("a") }, "spec": spec });
    t.post(&nodes("?dryRun=All"), &object).await?.invalid(causes).map(drop)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("a_new_node_is_not_ready", "A new Node is tainted as not ready, once.", async |t| {
            let made = t.make(&nodes("?dryRun=All"), named(&t.own("a"))).await?;
            same(
                "taints",
                made["spec"]["taints"].clone(),
                json!([{ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" }]),
            )?;
            let again = t
                .make(
                    &nodes("?dryRun=All"),
                    json!({ "metadata": { "name": t.own("a") }, "spec": made["spec"] }),
                )
                .await?;
            same("taints", items(&again, "/spec/taints").len(), 1)
        }),
        case(
            "a_nodes_status_has_its_empty_members",
            "A Node's status always has its endpoints and its information, be they empty.",
            async |t| {
                let made = t.make(&nodes("?dryRun=All"), named(&t.own("a"))).await?;
                has(
                    &made,
                    json!({ "status": { "daemonEndpoints": { "kubeletEndpoint": { "Port": 0 } }, "nodeInfo": { "kubeletVersion": "", "osImage": "" } } }),
                )
            },
        ),
        case(
            "a_taint_has_an_effect",
            "A taint without an effect, of another effect, or one that comes twice is refused.",
            async |t| {
                refused(
                    t,
                    json!({ "taints": [{ "key": "a" }] }),
                    &["FieldValueRequired metadata.taints[0].effect"],
                )
                .await?;
                refused(
                    t,
                    json!({ "taints": [{ "key": "a", "effect": "Never" }] }),
                    &["FieldValueNotSupported metadata.taints[0].effect"],
                )
                .await?;
                let twice = json!([{ "key": "a", "effect": "NoExecute" }, { "key": "a", "effect": "NoExecute", "value": "v" }]);
                refused(t, json!({ "taints": twice }), &["FieldValueDuplicate metadata.taints[1]"])
                    .await
            },
        ),
        case(
            "a_nodes_provider_stays",
            "A Node's provider and its pods' addresses can be set once.",
            async |t| {
                let path = nodes(&format!("/{}", t.own("a")));
                t.make(&nodes(""), named(&t.own("a"))).await?;
                let set = t
                    .merge(
                        &path,
                        json!({ "spec": { "providerID": "p://1", "podCIDR": "10.9.0.0/24" } }),
                    )
                    .await?
                    .is(200)?;
                has(&set, json!({ "spec": { "podCIDRs": ["10.9.0.0/24"] } }))?;
                t.merge(&path, json!({ "spec": { "providerID": "p://2" } }))
                    .await?
                    .invalid(&["FieldValueForbidden spec.providerID"])?;
                Ok(())
            },
        ),
        case(
            "a_nodes_status_is_a_subresource",
            "A Node's status is written by its subresource; what is not said to be allocatable is all of it.",
            async |t| {
                let path = nodes(&format!("/{}", t.own("a")));
                t.make(&nodes(""), named(&t.own("a"))).await?;
                let status =
                    json!({ "status": { "capacity": { "cpu": "4000m", "memory": "1024Mi" } } });
                let patched = t.merge(&format!("{path}/status"), status).await?.is(200)?;
                has(
                    &patched,
                    json!({ "status": { "capacity": { "cpu": "4", "memory": "1Gi" }, "allocatable": { "cpu": "4" } } }),
                )?;
                has(
                    &t.merge(&path, json!({ "status": { "phase": "Running" } })).await?.is(200)?,
                    json!({ "status": { "phase": null } }),
                )
            },
        ),
        case(
            "nodes_are_selected_by_whether_they_are_closed",
            "Nodes can be selected by spec.unschedulable, which is false where nobody says it.",
            async |t| {
                let path = nodes(&format!("/{}", t.own("a")));
                t.make(&nodes(""), named(&t.own("a"))).await?;
                let own = |flag: bool| {
                    nodes(&format!(
                        "?fieldSelector=spec.unschedulable%3D{flag},metadata.name%3D{}",
                        t.own("a")
                    ))
                };
                same("open", names(&t.get(&own(false)).await?.is(200)?), t.own("a"))?;
                t.merge(&path, json!({ "spec": { "unschedulable": true } })).await?.is(200)?;
                same("closed", names(&t.get(&own(true)).await?.is(200)?), t.own("a"))
            },
        ),
        case(
            "a_node_has_no_generation",
            "A Node has no generation, and its delete answers a Status.",
            async |t| {
                let made = t.make(&nodes(""), named(&t.own("a"))).await?;
                has(&made, json!({ "metadata": { "generation": null } }))?;
                has(
                    &t.delete(&nodes(&format!("/{}", t.own("a")))).await?.is(200)?,
                    json!({ "kind": "Status" }),
                )
            },
        ),
        case("a_table_of_nodes", "A table of Nodes says status, roles and version.", async |t| {
            let mut object = named(&t.own("a"));
            object["metadata"]["labels"] = json!({ "node-role.kubernetes.io/control-plane": "" });
            t.make(&nodes(""), object).await?;
            let table = t
                .get_as(
                    &nodes(&format!("/{}", t.own("a"))),
                    "application/json;as=Table;v=v1;g=meta.k8s.io",
                )
                .await?
                .is(200)?;
            has(
                &table["rows"][0]["cells"],
                json!([
                    t.own("a"),
                    "Unknown",
                    "control-plane",
                    "*",
                    "",
                    "<none>",
                    "<none>",
                    "<unknown>",
                    "<unknown>",
                    "<unknown>"
                ]),
            )
        }),
    ]
}
