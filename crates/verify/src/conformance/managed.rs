//! `metadata.managedFields`: who owns what after each sort of write.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::{claim, lease, map, new_event, pod, tracker, widget};
use crate::conformance::target::{APPLY, JSON_PATCH, MERGE, STRATEGIC};
use crate::conformance::{Case, Target, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = writes();
    cases.extend(sent());
    cases.extend(kinds());
    cases.extend(many());
    cases.extend(shown());
    cases
}

/// The entries: manager, operation and subresource of each, in order.
pub(super) fn owners(object: &Value) -> String {
    let said = |entry: &Value| {
        let words =
            ["/manager", "/operation", "/subresource"].map(|member| text(entry, member).to_owned());
        words.join(" ").trim_end().to_owned()
    };
    let entries: Vec<_> = items(object, "/metadata/managedFields").iter().map(said).collect();
    entries.join(", ")
}

/// What a manager owns, in the first of its entries; null if it has none.
pub(super) fn fields(object: &Value, manager: &str) -> Value {
    let entry = items(object, "/metadata/managedFields")
        .iter()
        .find(|entry| text(entry, "/manager") == manager);
    entry.map(|entry| entry["fieldsV1"].clone()).unwrap_or_default()
}

async fn made(t: &Target, manager: &str, data: Value) -> Result<Value, String> {
    t.make(
        &t.maps(&format!("?fieldManager={manager}")),
        json!({ "metadata": { "name": "a" }, "data": data }),
    )
    .await
}

/// Patches the ConfigMap `a`.
async fn merge(t: &Target, manager: &str, patch: Value) -> Result<Value, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}")), MERGE, &patch).await?.is(200)
}

fn writes() -> Vec<Case> {
    vec![
        case(
            "the_creator_owns_what_it_said",
            "A create is recorded as an Update with everything in the object; a map that was not there is owned too.",
            async |t| {
                let made = made(t, "m", json!({ "k": "v", "l": "w" })).await?;
                let entry = json!({
                    "manager": "m", "operation": "Update", "apiVersion": "v1", "time": "*", "fieldsType": "FieldsV1",
                    "subresource": null, "fieldsV1": { "f:data": { ".": {}, "f:k": {}, "f:l": {} } },
                });
                has(&made, json!({ "metadata": { "managedFields": [entry] } }))
            },
        ),
        case(
            "the_user_agent_is_the_manager",
            "Without a fieldManager the User-Agent up to its first slash is the manager, cut to 128 bytes.",
            async |t| {
                let headers =
                    [("content-type", "application/json"), ("user-agent", "tester/1.0 (x) y/2")];
                let made = t
                    .send(Method::POST, &t.maps(""), &headers, map("a", "v").to_string())
                    .await?
                    .is(201)?;
                same("owner", owners(&made), "tester Update")?;
                let long = "x".repeat(200);
                let headers = [("content-type", "application/json"), ("user-agent", &long)];
                let made = t
                    .send(Method::POST, &t.maps(""), &headers, map("b", "v").to_string())
                    .await?
                    .is(201)?;
                same("owner", owners(&made), format!("{} Update", "x".repeat(128)))
            },
        ),
        case(
            "nothing_said_is_nothing_owned",
            "An object of a name alone has no managedFields.",
            async |t| {
                let made = t
                    .make(&t.maps("?fieldManager=m"), json!({ "metadata": { "name": "a" } }))
                    .await?;
                has(&made, json!({ "metadata": { "managedFields": null } }))
            },
        ),
        case(
            "what_the_server_sets_is_not_owned",
            "Name, namespace, uid, versions and times are never owned, nor a generated name.",
            async |t| {
                let object =
                    json!({ "metadata": { "generateName": "a-", "labels": { "a": "b" } } });
                let made = t.make(&t.maps("?fieldManager=m"), object).await?;
                let owned = json!({ "f:metadata": { "f:generateName": {}, "f:labels": { ".": {}, "f:a": {} } } });
                same("fields", fields(&made, "m"), owned)
            },
        ),
        case(
            "an_update_owns_what_it_changed",
            "A PUT by another manager owns only what is not as it was; the rest stays with its owner.",
            async |t| {
                made(t, "m", json!({ "k": "v", "l": "v" })).await?;
                let object = json!({ "metadata": { "name": "a" }, "data": { "k": "v", "l": "w", "n": "x" } });
                let put = t.put(&t.maps("/a?fieldManager=n"), &object).await?.is(200)?;
                same(
                    "of the first",
                    fields(&put, "m"),
                    json!({ "f:data": { ".": {}, "f:k": {} } }),
                )?;
                same(
                    "of the second",
                    fields(&put, "n"),
                    json!({ "f:data": { "f:l": {}, "f:n": {} } }),
                )
            },
        ),
        case(
            "an_equal_update_owns_nothing",
            "An update by another manager that changes nothing leaves no entry, and the resourceVersion.",
            async |t| {
                let made = made(t, "m", json!({ "k": "v" })).await?;
                let object = json!({ "metadata": { "name": "a" }, "data": { "k": "v" } });
                same("object", t.put(&t.maps("/a?fieldManager=n"), &object).await?.is(200)?, made)
            },
        ),
        case(
            "what_goes_leaves_its_owners",
            "A field that is removed leaves every set; an entry without fields leaves the list.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                merge(t, "n", json!({ "data": { "l": "w" } })).await?;
                let left = merge(t, "o", json!({ "data": { "l": null } })).await?;
                same("owners", owners(&left), "m Update")?;
                same("fields", fields(&left, "m"), json!({ "f:data": { ".": {}, "f:k": {} } }))
            },
        ),
        case(
            "every_patch_is_an_update",
            "Merge, JSON and strategic merge patches are recorded as updates of their manager.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                merge(t, "n", json!({ "data": { "a": "1" } })).await?;
                let json_patch = json!([{ "op": "add", "path": "/data/b", "value": "1" }]);
                t.patch(&t.maps("/a?fieldManager=n"), JSON_PATCH, &json_patch).await?.is(200)?;
                let strategic = json!({ "data": { "c": "1" } });
                let last =
                    t.patch(&t.maps("/a?fieldManager=n"), STRATEGIC, &strategic).await?.is(200)?;
                same(
                    "fields",
                    fields(&last, "n"),
                    json!({ "f:data": { "f:a": {}, "f:b": {}, "f:c": {} } }),
                )
            },
        ),
        case(
            "a_put_that_creates_is_recorded",
            "A PUT that creates an object gives it all to its manager.",
            async |t| {
                let made =
                    t.put(&t.leases("/l?fieldManager=m"), &lease("l", "me")).await?.is(201)?;
                let owned = json!({ "f:spec": { "f:holderIdentity": {}, "f:leaseDurationSeconds": {}, "f:renewTime": {} } });
                same("fields", fields(&made, "m"), owned)
            },
        ),
        case(
            "a_dry_run_shows_owners",
            "A create with dryRun=All answers with its managedFields.",
            async |t| {
                let answer =
                    t.post(&t.maps("?fieldManager=m&dryRun=All"), &map("a", "v")).await?.is(201)?;
                same("owners", owners(&answer), "m Update")
            },
        ),
        case(
            "an_owner_that_comes_twice_is_one",
            "Of equal owner references in a create or an update one is kept, with a warning that names its uid.",
            async |t| {
                let owner =
                    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1" });
                let object =
                    json!({ "metadata": { "name": "a", "ownerReferences": [owner, owner] } });
                let answer = t.post(&t.maps("?dryRun=All"), &object).await?;
                let warning = "299 - \".metadata.ownerReferences contains duplicate entries; API server dedups owner \
                               references in 1.20+, and may reject such requests as early as 1.24; please fix your \
                               requests; duplicate UID(s) observed: u-1\"";
                same("warnings", answer.warnings(), vec![warning.to_owned()])?;
                same("owners", items(&answer.is(201)?, "/metadata/ownerReferences").len(), 1)
            },
        ),
        case(
            "a_held_object_keeps_its_owners",
            "The delete of an object with finalizers leaves its managedFields as they are.",
            async |t| {
                let object =
                    json!({ "metadata": { "name": "a", "finalizers": ["example.com/f"] } });
                let made = t.make(&t.maps("?fieldManager=m"), object).await?;
                let held = t.delete(&t.maps("/a")).await?.is(200)?;
                let entries = |object: &Value| object["metadata"]["managedFields"].clone();
                same("entries", entries(&held), entries(&made))
            },
        ),
        case(
            "a_create_of_an_existing_name_owns_nothing",
            "A create that answers 409 changes no owner.",
            async |t| {
                let before = made(t, "m", json!({ "k": "v" })).await?;
                t.post(&t.maps("?fieldManager=n"), &map("a", "w"))
                    .await?
                    .refused(409, "AlreadyExists")?;
                same("object", t.get(&t.maps("/a")).await?.is(200)?, before)
            },
        ),
    ]
}

/// A list with one entry of a client's own.
fn entries(change: impl FnOnce(&mut Value)) -> Value {
    let mut entry = json!({
        "manager": "x", "operation": "Update", "apiVersion": "v1", "time": "2020-01-02T03:04:05Z",
        "fieldsType": "FieldsV1", "fieldsV1": { "f:data": { "f:k": {} } },
    });
    change(&mut entry);
    json!([entry])
}

async fn put_with(t: &Target, managed: Value, value: &str) -> Result<Answer, String> {
    let mut object = map("a", value);
    object["metadata"]["managedFields"] = managed;
    t.put(&t.maps("/a?fieldManager=n"), &object).await
}

fn sent() -> Vec<Case> {
    vec![
        case(
            "an_empty_list_resets",
            "An update with an empty list of managedFields leaves an object that nobody owns anything of.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let written = put_with(t, json!([]), "v").await?.is(200)?;
                has(&written, json!({ "metadata": { "managedFields": null } }))
            },
        ),
        case(
            "one_empty_entry_resets",
            "A patch to one empty entry resets managedFields too, in any patch type.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let patch =
                    json!([{ "op": "replace", "path": "/metadata/managedFields", "value": [{}] }]);
                let written = t.json_patch(&t.maps("/a"), patch).await?.is(200)?;
                has(&written, json!({ "metadata": { "managedFields": null } }))
            },
        ),
        case(
            "after_a_reset_nothing_is_recorded",
            "Updates of an object whose managedFields were reset are not recorded.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                put_with(t, json!([]), "v").await?.is(200)?;
                let written = merge(t, "n", json!({ "data": { "k": "w" } })).await?;
                has(&written, json!({ "metadata": { "managedFields": null } }))
            },
        ),
        case(
            "absent_owners_are_kept",
            "An update without managedFields, or with null, keeps those that are there.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let written = put_with(t, Value::Null, "w").await?.is(200)?;
                same("owners", owners(&written), "m Update, n Update")
            },
        ),
        case(
            "a_client_may_set_owners",
            "An update with entries of its own sets them; what it changes beside is the writer's.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let written = put_with(t, entries(|_| ()), "v").await?.is(200)?;
                same("entries", written["metadata"]["managedFields"].clone(), entries(|_| ()))?;
                let written = put_with(t, entries(|_| ()), "w").await?.is(200)?;
                same("owners", owners(&written), "n Update")
            },
        ),
        case(
            "entries_that_cannot_be_read_count_for_nothing",
            "An update with an entry of an unknown operation, type or step leaves the owners as they were.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let wrong: [fn(&mut Value); 6] = [
                    |entry| entry["operation"] = "Write".into(),
                    |entry| entry["apiVersion"] = Value::Null,
                    |entry| entry["fieldsType"] = "FieldsV2".into(),
                    |entry| entry["fieldsV1"] = json!({ "f:data": 5 }),
                    |entry| entry["fieldsV1"] = json!({ "data": {} }),
                    |entry| entry["fieldsV1"] = json!({ "k:{": {} }),
                ];
                for change in wrong {
                    let written = put_with(t, entries(change), "v").await?.is(200)?;
                    same("owners", owners(&written), "m Update")?;
                }
                Ok(())
            },
        ),
        case(
            "a_step_of_an_unknown_sort_is_left_out",
            "A step in fieldsV1 of a sort that is not known is dropped, the others are kept.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let unknown = entries(|entry| {
                    entry["fieldsV1"] = json!({ "f:data": { "f:k": {} }, "z:a": {} })
                });
                let written = put_with(t, unknown, "v").await?.is(200)?;
                same("fields", fields(&written, "x"), json!({ "f:data": { "f:k": {} } }))
            },
        ),
        case(
            "an_entry_of_an_unknown_version_is_dropped",
            "An entry of a version that the kind has not is dropped at the next write.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let other = entries(|entry| entry["apiVersion"] = "v9".into());
                let written = put_with(t, other, "w").await?.is(200)?;
                same("owners", owners(&written), "n Update")
            },
        ),
        case(
            "a_long_manager_is_422",
            "An entry whose manager is longer than 128 bytes answers 422.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let answer =
                    put_with(t, entries(|entry| entry["manager"] = "x".repeat(129).into()), "v")
                        .await?;
                answer.invalid(&["FieldValueTooLong metadata.managedFields[0].manager"]).map(drop)
            },
        ),
        case(
            "a_long_subresource_is_422",
            "An entry whose subresource is longer than 256 bytes answers 422.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let answer = put_with(
                    t,
                    entries(|entry| entry["subresource"] = "x".repeat(257).into()),
                    "v",
                )
                .await?;
                answer
                    .invalid(&["FieldValueTooLong metadata.managedFields[0].subresource"])
                    .map(drop)
            },
        ),
        case(
            "a_subresource_cannot_set_owners",
            "managedFields that are sent with a status count for nothing.",
            async |t| {
                t.make(&t.core("pods", "?fieldManager=m"), pod("p")).await?;
                let patch =
                    json!({ "metadata": { "managedFields": [] }, "status": { "message": "x" } });
                let path = t.core("pods", "/p/status?fieldManager=s");
                let written = t.merge(&path, patch).await?.is(200)?;
                same("owners", owners(&written), "m Update, s Update status")
            },
        ),
    ]
}

fn kinds() -> Vec<Case> {
    vec![
        case(
            "defaults_are_the_creators",
            "What the server defaults is owned by who created the object; what it fills in later is not.",
            async |t| {
                let made = t.make(&t.core("pods", "?fieldManager=m"), pod("p")).await?;
                let container = json!({
                    ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {},
                    "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
                });
                let owned = json!({ "f:spec": {
                    "f:containers": { "k:{\"name\":\"c\"}": container }, "f:dnsPolicy": {}, "f:enableServiceLinks": {},
                    "f:restartPolicy": {}, "f:schedulerName": {}, "f:securityContext": {},
                    "f:terminationGracePeriodSeconds": {},
                } });
                same("fields", fields(&made, "m"), owned)
            },
        ),
        case(
            "a_finalizer_of_the_servers_is_nobodys",
            "The finalizer that the server gives to a claim is owned by nobody.",
            async |t| {
                let made = t.make(&t.claims("?fieldManager=m"), claim("c", "none")).await?;
                holds("there is a finalizer", made["metadata"]["finalizers"].is_array())?;
                holds("it is not owned", fields(&made, "m")["f:metadata"].is_null())
            },
        ),
        case(
            "a_namespace_owns_its_label",
            "The label that names a namespace is a default: its creator owns it.",
            async |t| {
                let path = format!("/api/v1/namespaces/{}", t.namespace);
                let namespace = t.get(&path).await?.is(200)?;
                let entry = &namespace["metadata"]["managedFields"][0]["fieldsV1"];
                let owned = json!({ "f:metadata": { "f:labels": { ".": {}, "f:kubernetes.io/metadata.name": {} } } });
                same("fields", entry.clone(), owned)
            },
        ),
        case(
            "a_status_of_a_create_is_not_owned",
            "A create with a status owns nothing of it.",
            async |t| {
                let mut object = widget("a", json!({ "color": "red" }));
                object["status"] = json!({ "ready": true });
                let made = t.make(&t.widgets("?fieldManager=m"), object).await?;
                same("fields", fields(&made, "m"), json!({ "f:spec": { ".": {}, "f:color": {} } }))
            },
        ),
        case(
            "a_status_has_entries_of_its_own",
            "A write to status is recorded under the subresource, and owns no metadata of a custom resource.",
            async |t| {
                t.make(&t.widgets("?fieldManager=m"), widget("a", json!({ "color": "red" })))
                    .await?;
                let patch = json!({
                    "metadata": { "labels": { "a": "b" } }, "spec": { "color": "blue" }, "status": { "ready": true },
                });
                let path = t.widgets("/a/status?fieldManager=m");
                let written = t.merge(&path, patch).await?.is(200)?;
                same("owners", owners(&written), "m Update, m Update status")?;
                let entry = &written["metadata"]["managedFields"][1]["fieldsV1"];
                same("fields", entry.clone(), json!({ "f:status": { ".": {}, "f:ready": {} } }))
            },
        ),
        case(
            "custom_lists_are_owned_as_their_schema_says",
            "An update of a custom resource owns items of sets and keyed lists one by one, atomic ones as a whole.",
            async |t| {
                let spec = json!({
                    "set": ["x", "y"], "ports": [{ "port": 80, "protocol": "TCP" }], "atomicList": ["a"], "atomicMap": { "a": "b" },
                    "map": { "a": "b" },
                });
                let made = t.make(&t.trackers("?fieldManager=m"), tracker("a", spec)).await?;
                let port = json!({ ".": {}, "f:port": {}, "f:protocol": {} });
                let owned = json!({ "f:spec": {
                    ".": {}, "f:atomicList": {}, "f:atomicMap": {}, "f:map": { ".": {}, "f:a": {} },
                    "f:ports": { ".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": port },
                    "f:set": { ".": {}, "v:\"x\"": {}, "v:\"y\"": {} },
                } });
                same("fields", fields(&made, "m"), owned)
            },
        ),
        case(
            "an_item_changed_is_owned_alone",
            "A patch of one member of one item owns just that.",
            async |t| {
                let ports = json!([{ "port": 1, "name": "a" }, { "port": 2, "name": "b" }]);
                t.make(&t.trackers("?fieldManager=m"), tracker("a", json!({ "ports": ports })))
                    .await?;
                let patch =
                    json!([{ "op": "replace", "path": "/spec/ports/1/name", "value": "c" }]);
                let written =
                    t.patch(&t.trackers("/a?fieldManager=n"), JSON_PATCH, &patch).await?.is(200)?;
                let key = "k:{\"port\":2,\"protocol\":\"TCP\"}";
                same(
                    "fields",
                    fields(&written, "n"),
                    json!({ "f:spec": { "f:ports": { key: { "f:name": {} } } } }),
                )
            },
        ),
        case(
            "an_events_other_group_owns_nothing",
            "An Event's entries of one group are dropped by a write through the other.",
            async |t| {
                let namespace = t.namespace.clone();
                t.make(&t.new_events("?fieldManager=m"), new_event("e", &namespace)).await?;
                let path = t.core("events", "/e?fieldManager=n");
                let written = t
                    .merge(&path, json!({ "metadata": { "labels": { "a": "b" } } }))
                    .await?
                    .is(200)?;
                same("owners", owners(&written), "n Update")
            },
        ),
    ]
}

fn many() -> Vec<Case> {
    vec![
        case(
            "appliers_come_first",
            "Entries of applies come before those of updates, the latter by time and name.",
            async |t| {
                made(t, "b", json!({ "k": "v" })).await?;
                merge(t, "a", json!({ "data": { "l": "w" } })).await?;
                let path = t.maps("/a?fieldManager=z");
                let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "z": "z" } });
                let applied = t.patch(&path, APPLY, &config).await?.is(200)?;
                let owners = owners(&applied);
                holds("the applier is first", owners.starts_with("z Apply, "))?;
                same("owners", owners.split(", ").count(), 3)
            },
        ),
        case(
            "more_than_ten_updaters_become_ancient",
            "Of eleven managers that update, the two oldest entries become one of ancient-changes.",
            async |t| {
                made(t, "m00", json!({ "k": "v" })).await?;
                let mut last = Value::Null;
                for at in 1..11 {
                    last = merge(
                        t,
                        &format!("m{at:02}"),
                        json!({ "data": { format!("k{at}"): "v" } }),
                    )
                    .await?;
                }
                same("entries", owners(&last).split(", ").count(), 10)?;
                let owned = json!({ "f:data": { ".": {}, "f:k": {}, "f:k1": {} } });
                same("fields", fields(&last, "ancient-changes"), owned)
            },
        ),
        case(
            "more_updaters_join_the_ancient",
            "With each further manager that updates, the oldest of the others joins ancient-changes.",
            async |t| {
                made(t, "m00", json!({ "k": "v" })).await?;
                let mut last = Value::Null;
                for at in 1..13 {
                    last = merge(
                        t,
                        &format!("m{at:02}"),
                        json!({ "data": { format!("k{at}"): "v" } }),
                    )
                    .await?;
                }
                same("entries", owners(&last).split(", ").count(), 10)?;
                let ancient = fields(&last, "ancient-changes");
                same("fields", ancient["f:data"].as_object().map(serde_json::Map::len), Some(5))
            },
        ),
        case(
            "appliers_are_not_counted",
            "Managers that apply stay, however many there are.",
            async |t| {
                made(t, "m", json!({ "k": "v" })).await?;
                let mut last = Value::Null;
                for at in 0..12 {
                    let config = json!({
                        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" },
                        "data": { format!("k{at}"): "v" },
                    });
                    let path = t.maps(&format!("/a?fieldManager=a{at:02}"));
                    last = t.patch(&path, APPLY, &config).await?.is(200)?;
                }
                same("entries", owners(&last).split(", ").count(), 13)
            },
        ),
    ]
}

fn shown() -> Vec<Case> {
    vec![
        case(
            "after_an_apply_of_an_empty_map_an_equal_put_makes_a_version",
            "After an apply of empty labels or annotations the first equal PUT of a custom object makes a version, the second none.",
            async |t| {
                for (name, member) in [("a", "annotations"), ("b", "labels")] {
                    let mut object = tracker(name, json!({}));
                    object["metadata"][member] = json!({});
                    let path = t.trackers(&format!("/{name}"));
                    let made = t
                        .patch(&format!("{path}?fieldManager=m"), APPLY, &object)
                        .await?
                        .is(201)?;
                    let put = t.put(&path, &made).await?.is(200)?;
                    holds("there is another version", version(&put) != version(&made))?;
                    let again = t.put(&path, &put).await?.is(200)?;
                    same(member, &again, &put)?;
                }
                Ok(())
            },
        ),
        case(
            "reads_show_owners",
            "A GET, a list and metadata alone show the managedFields that the write answered with.",
            async |t| {
                let made = made(t, "m", json!({ "k": "v" })).await?;
                let entries = |object: &Value| object["metadata"]["managedFields"].clone();
                same("read", entries(&t.get(&t.maps("/a")).await?.is(200)?), entries(&made))?;
                let list = t.get(&t.maps("?fieldSelector=metadata.name%3Da")).await?.is(200)?;
                same("listed", entries(&list["items"][0]), entries(&made))?;
                let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
                let alone = t.get_as(&t.maps("/a"), accept).await?.is(200)?;
                same("metadata", entries(&alone), entries(&made))
            },
        ),
        case("watches_show_owners", "Events of a watch carry the managedFields.", async |t| {
            let list = t.get(&t.maps("?limit=1")).await?.is(200)?;
            let path = t.maps(&format!(
                "?resourceVersion={}&fieldSelector=metadata.name%3Da",
                version(&list)
            ));
            let mut watch = t.watch(&path).await?;
            let made = made(t, "m", json!({ "k": "v" })).await?;
            same("event", watch.event("ADDED", "a").await?, made)
        }),
        case(
            "a_put_of_what_was_read_changes_nothing",
            "A PUT of an object as it was read, managedFields included, is an equal write.",
            async |t| {
                let made = made(t, "m", json!({ "k": "v" })).await?;
                same("object", t.put(&t.maps("/a?fieldManager=n"), &made).await?.is(200)?, made)
            },
        ),
    ]
}
