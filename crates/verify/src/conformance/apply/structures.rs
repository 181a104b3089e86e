//! Applies to lists, to custom kinds, to subresources, and those of kubectl.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::apply::configurations::*;
use crate::conformance::managed::{fields, owners};
use crate::conformance::objects::{GROUP, pod, tracker};
use crate::conformance::target::APPLY;
use crate::conformance::{Case, Target, case};

pub(super) fn lists() -> Vec<Case> {
    vec![
        case(
            "items_are_found_by_their_key",
            "A container is found by its name: its image may be applied alone, and conflicts by its path.",
            async |t| {
                t.make(&t.core("pods", "?fieldManager=u"), pod("p")).await?;
                let config = json!({
                    "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" },
                    "spec": { "containers": [{ "name": "c", "image": "other" }] },
                });
                let answer = t.patch(&t.core("pods", "/p?fieldManager=m"), APPLY, &config).await?;
                let status = answer.refused(409, "Conflict")?;
                same(
                    "fields",
                    causes(&status),
                    vec![".spec.containers[name=\"c\"].image".to_owned()],
                )?;
                let path = t.core("pods", "/p?fieldManager=m&force=true");
                let forced = t.patch(&path, APPLY, &config).await?.is(200)?;
                let key = "k:{\"name\":\"c\"}";
                let owned = json!({ "f:spec": { "f:containers": { key: { ".": {}, "f:image": {}, "f:name": {} } } } });
                same("fields", fields(&forced, "m"), owned)
            },
        ),
        case(
            "a_key_may_be_a_default",
            "A port without a protocol has the default one in its key, and owns only what it says.",
            async |t| {
                let config = json!({
                    "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" },
                    "spec": { "ports": [{ "port": 80 }] },
                });
                let made = t
                    .patch(&t.core("services", "/s?fieldManager=m"), APPLY, &config)
                    .await?
                    .is(201)?;
                let key = "k:{\"port\":80,\"protocol\":\"TCP\"}";
                same(
                    "fields",
                    fields(&made, "m"),
                    json!({ "f:spec": { "f:ports": { key: { ".": {}, "f:port": {} } } } }),
                )
            },
        ),
        case(
            "an_atomic_map_is_one_field",
            "A selector is one field: another manager cannot add to it.",
            async |t| {
                let config = |selector: Value| {
                    json!({
                        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" },
                        "spec": { "ports": [{ "port": 80 }], "selector": selector },
                    })
                };
                let path =
                    |manager: &str| t.core("services", &format!("/s?fieldManager={manager}"));
                t.patch(&path("m"), APPLY, &config(json!({ "a": "b" }))).await?.is(201)?;
                let answer =
                    t.patch(&path("n"), APPLY, &config(json!({ "a": "b", "c": "d" }))).await?;
                same(
                    "fields",
                    causes(&answer.refused(409, "Conflict")?),
                    vec![".spec.selector".to_owned()],
                )
            },
        ),
        case(
            "finalizers_are_a_set",
            "Finalizers are owned one by one, by their value; the last owner takes each along.",
            async |t| {
                apply(t, "m", &with(json!({ "finalizers": ["example.com/a", "example.com/b"] })))
                    .await?
                    .is(201)?;
                let both = apply(
                    t,
                    "n",
                    &with(json!({ "finalizers": ["example.com/c", "example.com/a"] })),
                )
                .await?
                .is(200)?;
                let all = json!(["example.com/b", "example.com/c", "example.com/a"]);
                let order = both["metadata"]["finalizers"].clone();
                same("in the end", order.as_array().map(Vec::len), all.as_array().map(Vec::len))?;
                let owned = json!({ "f:metadata": { "f:finalizers": {
                    "v:\"example.com/a\"": {}, "v:\"example.com/c\"": {},
                } } });
                same("fields", fields(&both, "n"), owned)?;
                let left = apply(t, "m", &with(json!({}))).await?.is(200)?;
                same(
                    "left",
                    left["metadata"]["finalizers"].clone(),
                    json!(["example.com/c", "example.com/a"]),
                )
            },
        ),
        case(
            "owner_references_are_found_by_uid",
            "Owner references are keyed by uid: two managers may each have theirs.",
            async |t| {
                let reference = |uid: &str| {
                    with(json!({ "ownerReferences": [
                        { "apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid },
                    ] }))
                };
                // The owners are in another namespace for all the server knows: nobody collects
                // what has one.
                let dry = |manager: &str| t.maps(&format!("/a?fieldManager={manager}&dryRun=All"));
                t.map("a", "v").await?;
                let one = t.patch(&dry("m"), APPLY, &reference("u-1")).await?.is(200)?;
                let key = "k:{\"uid\":\"u-1\"}";
                same(
                    "fields",
                    fields(&one, "m"),
                    json!({ "f:metadata": { "f:ownerReferences": { key: {} } } }),
                )
            },
        ),
        case(
            "what_is_twice_in_a_set_is_500",
            "An apply of a set with an item twice answers 500.",
            async |t| {
                let config = with(json!({ "finalizers": ["example.com/a", "example.com/a"] }));
                let status = apply(t, "m", &config).await?.refused(500, "")?;
                let part = ".metadata.finalizers: duplicate entries for key [=\"example.com/a\"]";
                holds("it is said", text(&status, "/message").ends_with(part))
            },
        ),
        case(
            "an_item_without_its_key_is_500",
            "An apply of an item without any of its list's keys answers 500.",
            async |t| {
                let mut config = tracker("a", json!({}));
                config["status"] = json!({ "conditions": [{ "status": "True" }] });
                let answer = t.patch(&t.trackers("/a?fieldManager=m"), APPLY, &config).await?;
                let part = ".status.conditions: element 0: associative list with keys has an element that omits all key \
                            fields [\"type\"] (and doesn't have default values for any key fields)";
                holds("it is said", text(&answer.refused(500, "")?, "/message").ends_with(part))
            },
        ),
    ]
}

pub(super) fn custom() -> Vec<Case> {
    vec![
        case(
            "a_set_keeps_an_order",
            "Items of a set that two managers apply come in the later one's order, around what only the other has.",
            async |t| {
                track(t, "m", json!({ "set": ["a", "b", "c"] })).await?.is(201)?;
                let both = track(t, "n", json!({ "set": ["x", "b", "y"] })).await?.is(200)?;
                same("both", both["spec"]["set"].clone(), json!(["a", "x", "b", "c", "y"]))?;
                let again = track(t, "m", json!({ "set": ["c", "b", "q"] })).await?.is(200)?;
                same("again", again["spec"]["set"].clone(), json!(["x", "c", "y", "b", "q"]))?;
                let left = track(t, "n", json!({ "set": ["y"] })).await?.is(200)?;
                same("left", left["spec"]["set"].clone(), json!(["c", "y", "b", "q"]))
            },
        ),
        case(
            "a_keyed_list_is_merged",
            "Items of a list with keys are merged by them; what an applier leaves out goes if it was its own.",
            async |t| {
                track(
                    t,
                    "m",
                    json!({ "ports": [
                    { "port": 80, "protocol": "TCP", "name": "web" }, { "port": 1, "protocol": "TCP" },
                ] }),
                )
                .await?
                .is(201)?;
                track(t, "n", json!({ "ports": [{ "port": 80, "protocol": "UDP" }] }))
                    .await?
                    .is(200)?;
                let left = track(
                    t,
                    "m",
                    json!({ "ports": [
                    { "port": 80, "protocol": "TCP", "name": "http" },
                ] }),
                )
                .await?
                .is(200)?;
                let ports = json!([
                    { "port": 80, "protocol": "TCP", "name": "http" }, { "port": 80, "protocol": "UDP" },
                ]);
                same("ports", left["spec"]["ports"].clone(), ports)
            },
        ),
        case(
            "keys_twice_are_500",
            "An apply of two items with the same keys, one of them by default, answers 500.",
            async |t| {
                let config = json!({ "ports": [{ "port": 1 }, { "port": 1, "protocol": "TCP" }] });
                let status = track(t, "m", config).await?.refused(500, "")?;
                let part = ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]";
                holds("it is said", text(&status, "/message").ends_with(part))
            },
        ),
        case(
            "an_atomic_list_is_one_field",
            "Lists that are atomic, or say nothing, are one field: another value conflicts as a whole.",
            async |t| {
                track(t, "m", json!({ "atomicList": ["a"], "plainList": [{ "a": "b" }] }))
                    .await?
                    .is(201)?;
                let config = json!({ "atomicList": ["a", "b"], "plainList": [{ "a": "c" }] });
                let status = track(t, "n", config.clone()).await?.refused(409, "Conflict")?;
                let expected = [".spec.atomicList", ".spec.plainList"].map(str::to_owned).to_vec();
                same("fields", causes(&status), expected)?;
                let forced = track_by_force(t, "n", config.clone()).await?.is(200)?;
                same("spec", forced["spec"].clone(), config)
            },
        ),
        case(
            "a_custom_atomic_map_is_one_field",
            "A map that is atomic is replaced as a whole; one that is not is merged.",
            async |t| {
                track(t, "m", json!({ "atomicMap": { "a": "b" }, "map": { "a": "b" } }))
                    .await?
                    .is(201)?;
                let status = track(t, "n", json!({ "atomicMap": { "c": "d" } }))
                    .await?
                    .refused(409, "Conflict")?;
                same("fields", causes(&status), vec![".spec.atomicMap".to_owned()])?;
                let config = json!({ "atomicMap": { "c": "d" }, "map": { "c": "d" } });
                let forced = track_by_force(t, "n", config).await?.is(200)?;
                let spec = json!({ "atomicMap": { "c": "d" }, "map": { "a": "b", "c": "d" } });
                same("spec", forced["spec"].clone(), spec)
            },
        ),
        case(
            "members_are_owned_one_by_one",
            "Members of an object with a schema are fields of their own; an empty map is one.",
            async |t| {
                let made =
                    track(t, "m", json!({ "members": { "a": "1" }, "map": {} })).await?.is(201)?;
                same(
                    "fields",
                    fields(&made, "m"),
                    json!({ "f:spec": { "f:map": {}, "f:members": { "f:a": {} } } }),
                )?;
                let other = track(t, "n", json!({ "members": { "b": "1" } })).await?.is(200)?;
                same("members", other["spec"]["members"].clone(), json!({ "a": "1", "b": "1" }))
            },
        ),
        case(
            "what_has_no_schema_is_owned_by_member",
            "Below x-kubernetes-preserve-unknown-fields objects are owned member by member, and lists as a whole.",
            async |t| {
                let made = track(t, "m", json!({ "open": { "x": { "y": [{ "z": 1 }] } } }))
                    .await?
                    .is(201)?;
                let owned = json!({ "f:spec": { "f:open": { "f:x": { ".": {}, "f:y": {} } } } });
                same("fields", fields(&made, "m"), owned)?;
                let both = track(t, "n", json!({ "open": { "x": { "w": 2 } } })).await?.is(200)?;
                same(
                    "open",
                    both["spec"]["open"].clone(),
                    json!({ "x": { "y": [{ "z": 1 }], "w": 2 } }),
                )
            },
        ),
        case(
            "an_embedded_resource_has_metadata",
            "The metadata of an embedded resource is typed: its finalizers are a set.",
            async |t| {
                let inner = json!({
                    "apiVersion": "v1", "kind": "X",
                    "metadata": { "name": "n", "finalizers": ["example.com/a"], "labels": { "a": "b" } }, "z": 1,
                });
                let made = track(t, "m", json!({ "inner": inner })).await?.is(201)?;
                let owned = json!({ "f:spec": { "f:inner": {
                    "f:apiVersion": {}, "f:kind": {}, "f:z": {},
                    "f:metadata": {
                        "f:name": {}, "f:finalizers": { "v:\"example.com/a\"": {} }, "f:labels": { "f:a": {} },
                    },
                } } });
                same("fields", fields(&made, "m"), owned)
            },
        ),
        case(
            "a_value_may_change_its_type",
            "What may be a number or a text conflicts, and is taken, like any other field.",
            async |t| {
                track(t, "m", json!({ "either": 5 })).await?.is(201)?;
                let status =
                    track(t, "n", json!({ "either": "5" })).await?.refused(409, "Conflict")?;
                same("fields", causes(&status), vec![".spec.either".to_owned()])?;
                let forced = track_by_force(t, "n", json!({ "either": "5" })).await?.is(200)?;
                same("either", forced["spec"]["either"].clone(), json!("5"))
            },
        ),
        case(
            "an_undeclared_member_is_500",
            "An apply of a member that a definition has not answers 500 and names its path.",
            async |t| {
                let status =
                    track(t, "m", json!({ "members": { "c": 1 } })).await?.refused(500, "")?;
                let part = "Kind=Tracker): .spec.members.c: field not declared in schema";
                holds("it is said", text(&status, "/message").ends_with(part))
            },
        ),
        case(
            "each_version_has_its_own_structure",
            "What is applied in another version is owned in that version, with its structure.",
            async |t| {
                track(t, "m", json!({ "set": ["a"] })).await?.is(201)?;
                let mut object = tracker("a", json!({ "set": ["a", "b"] }));
                object["apiVersion"] = format!("{GROUP}/v2").into();
                let path = t.trackers("/a?fieldManager=m").replace("/v1/", "/v2/");
                let second = t.patch(&path, APPLY, &object).await?.is(200)?;
                has(
                    &second["metadata"]["managedFields"][0],
                    json!({ "apiVersion": format!("{GROUP}/v2") }),
                )?;
                same("fields", fields(&second, "m"), json!({ "f:spec": { ".": {}, "f:set": {} } }))
            },
        ),
        case(
            "an_update_conflicts_in_its_version",
            "A conflict with what was written in another version names that version.",
            async |t| {
                track(t, "m", json!({ "set": ["a"] })).await?.is(201)?;
                let path = t.trackers("/a?fieldManager=two").replace("/v1/", "/v2/");
                t.merge(&path, json!({ "spec": { "map": { "z": "z" } } })).await?.is(200)?;
                let status = track(t, "m", json!({ "set": ["a"], "map": { "z": "y" } }))
                    .await?
                    .refused(409, "Conflict")?;
                let message = format!(
                    "Apply failed with 1 conflict: conflict with \"two\" using {GROUP}/v2: .spec.map.z"
                );
                same("message", text(&status, "/message"), &*message)
            },
        ),
    ]
}

pub(super) fn subresources() -> Vec<Case> {
    vec![
        case(
            "a_status_is_applied_alone",
            "An apply to status changes and owns the status only, under the subresource.",
            async |t| {
                track(t, "m", json!({ "map": { "a": "b" } })).await?.is(201)?;
                let mut object = tracker("a", json!({ "map": { "a": "changed" } }));
                object["status"] = json!({ "phase": "Ready" });
                let applied = t
                    .patch(&t.trackers("/a/status?fieldManager=s"), APPLY, &object)
                    .await?
                    .is(200)?;
                same("spec", applied["spec"].clone(), json!({ "map": { "a": "b" } }))?;
                same("owners", owners(&applied), "m Apply, s Apply status")?;
                same("fields", fields(&applied, "s"), json!({ "f:status": { "f:phase": {} } }))
            },
        ),
        case(
            "conditions_are_merged_by_type",
            "Conditions with a key are applied one by one, and conflict by their path and subresource.",
            async |t| {
                track(t, "m", json!({ "map": { "a": "b" } })).await?.is(201)?;
                let condition = |kind: &str, value: &str| {
                    let mut object = tracker("a", json!({}));
                    object["status"] = json!({ "conditions": [{ "type": kind, "status": value }] });
                    object
                };
                let path = |manager: &str| t.trackers(&format!("/a/status?fieldManager={manager}"));
                t.patch(&path("s"), APPLY, &condition("Ready", "True")).await?.is(200)?;
                let both = t.patch(&path("r"), APPLY, &condition("Done", "True")).await?.is(200)?;
                same("conditions", items(&both, "/status/conditions").len(), 2)?;
                let answer = t.patch(&path("r"), APPLY, &condition("Ready", "False")).await?;
                let message = "Apply failed with 1 conflict: conflict with \"s\" with subresource \"status\": \
                               .status.conditions[type=\"Ready\"].status";
                same("message", text(&answer.refused(409, "Conflict")?, "/message"), message)
            },
        ),
        case(
            "a_status_in_the_main_apply_is_nothing",
            "An apply to the object itself leaves the status alone and owns nothing of it.",
            async |t| {
                let mut object = tracker("a", json!({ "map": { "a": "b" } }));
                object["status"] = json!({ "phase": "Ready" });
                let made =
                    t.patch(&t.trackers("/a?fieldManager=m"), APPLY, &object).await?.is(201)?;
                has(&made, json!({ "status": null }))?;
                same("fields", fields(&made, "m"), json!({ "f:spec": { "f:map": { "f:a": {} } } }))
            },
        ),
        case(
            "a_status_of_nothing_is_404",
            "An apply to the status of an object that is not there answers 404 and creates nothing.",
            async |t| {
                let object = tracker("a", json!({}));
                let answer =
                    t.patch(&t.trackers("/a/status?fieldManager=s"), APPLY, &object).await?;
                answer.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_pods_status_takes_labels_along",
            "An apply to the status of a pod owns its labels too, but nothing of the spec.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                let config = json!({
                    "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "labels": { "a": "b" } },
                    "spec": { "priority": 5 }, "status": { "message": "m" },
                });
                let applied = t
                    .patch(&t.core("pods", "/p/status?fieldManager=s"), APPLY, &config)
                    .await?
                    .is(200)?;
                let owned = json!({ "f:metadata": { "f:labels": { "f:a": {} } }, "f:status": { "f:message": {} } });
                same("fields", fields(&applied, "s"), owned)
            },
        ),
    ]
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// As client-side `kubectl apply` creates it.
async fn client_side(t: &Target, data: Value) -> Result<Value, String> {
    let mut object = map(data);
    object["metadata"]["namespace"] = t.namespace.as_str().into();
    let last = object.to_string();
    object["metadata"]["annotations"] = json!({ LAST_APPLIED: last });
    t.make(&t.maps("?fieldManager=kubectl-client-side-apply"), object).await
}

pub(super) fn kubectl() -> Vec<Case> {
    vec![
        case(
            "kubectl_takes_over_from_itself",
            "An apply of the manager kubectl has no conflicts in what client-side apply has applied last, and still is so.",
            async |t| {
                client_side(t, json!({ "k": "1", "l": "1" })).await?;
                let applied = apply(t, "kubectl", &map(json!({ "k": "2" }))).await?.is(200)?;
                same("data", applied["data"].clone(), json!({ "k": "2", "l": "1" }))
            },
        ),
        case(
            "others_do_not_take_over",
            "An apply of another manager conflicts with client-side apply.",
            async |t| {
                client_side(t, json!({ "k": "1" })).await?;
                apply(t, "m", &map(json!({ "k": "2" }))).await?.refused(409, "Conflict").map(drop)
            },
        ),
        case(
            "kubectl_conflicts_in_what_has_changed_since",
            "An apply of kubectl conflicts in what somebody has changed after the last client-side apply, and only in that.",
            async |t| {
                client_side(t, json!({ "k": "1", "l": "1" })).await?;
                update(t, "u", json!({ "data": { "l": "2" } })).await?.is(200)?;
                let answer = apply(t, "kubectl", &map(json!({ "k": "3", "l": "3" }))).await?;
                same(
                    "fields",
                    causes(&answer.refused(409, "Conflict")?),
                    vec![".data.l".to_owned()],
                )
            },
        ),
        case(
            "the_last_applied_annotation_follows",
            "An apply of kubectl brings the annotation of client-side apply up to date where there is one.",
            async |t| {
                client_side(t, json!({ "k": "1" })).await?;
                let config = map(json!({ "k": "2" }));
                let applied = apply(t, "kubectl", &config).await?.is(200)?;
                let last = applied["metadata"]["annotations"][LAST_APPLIED]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                same("annotation", last, format!("{config}\n"))
            },
        ),
        case(
            "what_nobody_owned_belongs_to_before_first_apply",
            "The first apply to an object without owners gives all that is there to before-first-apply.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                made["metadata"]["managedFields"] = json!([]);
                t.put(&t.maps("/a"), &made).await?.is(200)?;
                let answer = apply(t, "m", &map(json!({ "k": "w" }))).await?;
                let message = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.k";
                same("message", text(&answer.refused(409, "Conflict")?, "/message"), message)?;
                let applied = apply(t, "m", &map(json!({ "l": "w" }))).await?.is(200)?;
                same("owners", owners(&applied), "m Apply, before-first-apply Update")
            },
        ),
    ]
}
