//! Claims, volumes and classes: defaults, checks, what may change, and how they are bound and released.

use std::time::Duration;

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Outcome, Target, case};

/// Reads an object until it has what is expected; what waits for a controller takes its time.
async fn until(t: &Target, path: &str, expected: Value) -> Result<Value, String> {
    let mut last = Ok(());
    for _ in 0..200 {
        let found = t.get(path).await?.is(200)?;
        last = has(&found, expected.clone());
        if last.is_ok() {
            return Ok(found);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("{path}: not within 20 s: {}", last.err().unwrap_or_default()))
}

/// A claim that cannot be bound: no volume is of the case's class.
async fn lone_claim(t: &Target, name: &str) -> Result<Value, String> {
    t.make(&t.claims(""), claim(name, &t.class)).await
}

/// A volume that no claim asks for.
async fn lone_volume(t: &Target, name: &str) -> Result<(String, Value), String> {
    let name = t.own(name);
    let made = t.make(&t.volumes(""), volume(&name, &t.class)).await?;
    Ok((t.volumes(&format!("/{name}")), made))
}

/// A claim, and a volume that names it: they find each other.
async fn bound(t: &Target) -> Result<(String, String), String> {
    let made = lone_claim(t, "a").await?;
    let name = t.own("v");
    let mut object = volume(&name, &t.class);
    object["spec"]["claimRef"] = json!({ "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": t.namespace, "name": "a", "uid": text(&made, "/metadata/uid") });
    t.make(&t.volumes(""), object).await?;
    let (claim, volume) = (t.claims("/a"), t.volumes(&format!("/{name}")));
    until(t, &claim, json!({ "status": { "phase": "Bound" } })).await?;
    Ok((claim, volume))
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, member) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        if value.is_null() {
            parent.remove(member);
        } else {
            parent.insert(member.to_owned(), value);
        }
    }
    object
}

/// A create (dry run) of a changed claim is refused for these causes.
async fn wrong_claim(t: &Target, pointer: &str, value: Value, causes: &[&str]) -> Outcome {
    let object = with(claim("a", &t.class), pointer, value);
    t.post(&t.claims("?dryRun=All"), &object).await?.invalid(causes).map(drop)
}

async fn wrong_volume(t: &Target, pointer: &str, value: Value, causes: &[&str]) -> Outcome {
    let object = with(volume(&t.own("v"), &t.class), pointer, value);
    t.post(&t.volumes("?dryRun=All"), &object).await?.invalid(causes).map(drop)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of_claims();
    cases.extend(of_volumes());
    cases.extend(of_classes());
    cases.extend(bindings());
    cases
}

fn of_claims() -> Vec<Case> {
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
                wrong_claim(t, "/spec/accessModes", Value::Null, &["FieldValueRequired spec.accessModes"])
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
                    &["FieldValueRequired spec.accessModes", "FieldValueRequired spec.resources[storage]"],
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
                let object = with(claim("a", &t.class), "/spec/resources/requests/storage", json!("x"));
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
                wrong_claim(t, "/spec/volumeMode", json!("Odd"), &["FieldValueNotSupported spec.volumeMode"])
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
                let answer = t.merge(&t.claims("/a"), json!({ "spec": { "volumeMode": "Block" } })).await?;
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
                let patched =
                    t.merge(&t.claims("/a"), json!({ "spec": { "volumeName": name } })).await?.is(200)?;
                has(&patched, json!({ "spec": { "volumeName": name } }))?;
                for value in [json!("other"), Value::Null] {
                    let answer = t.merge(&t.claims("/a"), json!({ "spec": { "volumeName": value } })).await?;
                    answer.invalid(&["FieldValueForbidden spec"])?;
                }
                Ok(())
            },
        ),
        case("a_claims_class_is_set_once", "A claim without a class can be given one, once.", async |t| {
            let object = with(claim("a", ""), "/spec/storageClassName", Value::Null);
            t.make(&t.claims(""), object).await?;
            t.merge(&t.claims("/a"), json!({ "spec": { "storageClassName": t.class } })).await?.is(200)?;
            t.merge(&t.claims("/a"), json!({ "spec": { "storageClassName": "other" } }))
                .await?
                .invalid(&["FieldValueForbidden spec"])?;
            Ok(())
        }),
        case(
            "an_equal_size_is_no_change",
            "A size in another notation is the same size: it is no change of the spec.",
            async |t| {
                lone_claim(t, "a").await?;
                let patch = json!({ "spec": { "resources": { "requests": { "storage": "1024Mi" } } } });
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
                    let object = with(claim("a", &t.class), "/spec/resources/requests/storage", json!(sent));
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
    ]
}

fn of_volumes() -> Vec<Case> {
    vec![
        case(
            "a_volume_is_made_pending",
            "A new volume is Pending, has its defaults, and the finalizer kubernetes.io/pv-protection.",
            async |t| {
                let (_, made) = lone_volume(t, "v").await?;
                let spec = json!({ "volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain", "hostPath": { "path": "/tmp/conformance", "type": "" } });
                has(
                    &made,
                    json!({ "metadata": { "finalizers": ["kubernetes.io/pv-protection"] }, "spec": spec, "status": { "phase": "Pending" } }),
                )
            },
        ),
        case(
            "a_volume_needs_modes_size_and_source",
            "A volume without access modes, capacity or a source answers 422.",
            async |t| {
                wrong_volume(t, "/spec/accessModes", Value::Null, &["FieldValueRequired spec.accessModes"])
                    .await?;
                wrong_volume(
                    t,
                    "/spec/capacity",
                    Value::Null,
                    &["FieldValueRequired spec.capacity", "FieldValueNotSupported spec.capacity"],
                )
                .await?;
                wrong_volume(t, "/spec/hostPath", Value::Null, &["FieldValueRequired spec"]).await
            },
        ),
        case(
            "a_volume_has_one_source",
            "A volume with two sources answers 422 about the second.",
            async |t| {
                wrong_volume(
                    t,
                    "/spec/nfs",
                    json!({ "path": "/", "server": "s" }),
                    &["FieldValueForbidden spec.nfs"],
                )
                .await
            },
        ),
        case(
            "a_volumes_capacity_is_storage",
            "A volume's capacity is a positive size of storage, and of nothing else.",
            async |t| {
                wrong_volume(
                    t,
                    "/spec/capacity/storage",
                    json!("0"),
                    &["FieldValueInvalid spec.capacity[storage]"],
                )
                .await?;
                wrong_volume(t, "/spec/capacity/cpu", json!("1"), &["FieldValueNotSupported spec.capacity"])
                    .await
            },
        ),
        case(
            "words_of_a_volume_are_checked",
            "An unknown access mode, reclaim policy or volume mode of a volume answers 422.",
            async |t| {
                wrong_volume(
                    t,
                    "/spec/accessModes",
                    json!(["Odd"]),
                    &["FieldValueNotSupported spec.accessModes"],
                )
                .await?;
                wrong_volume(
                    t,
                    "/spec/persistentVolumeReclaimPolicy",
                    json!("Odd"),
                    &["FieldValueNotSupported spec.persistentVolumeReclaimPolicy"],
                )
                .await?;
                wrong_volume(
                    t,
                    "/spec/volumeMode",
                    json!("Odd"),
                    &["FieldValueNotSupported spec.volumeMode"],
                )
                .await?;
                wrong_volume(
                    t,
                    "/spec/storageClassName",
                    json!("A B"),
                    &["FieldValueInvalid spec.storageClassName"],
                )
                .await
            },
        ),
        case(
            "one_writer_pod_is_alone",
            "ReadWriteOncePod beside another access mode answers 422.",
            async |t| {
                let modes = json!(["ReadWriteOncePod", "ReadWriteOnce"]);
                wrong_volume(
                    t,
                    "/spec/accessModes",
                    modes.clone(),
                    &["FieldValueForbidden spec.accessModes"],
                )
                .await?;
                wrong_claim(t, "/spec/accessModes", modes, &["FieldValueForbidden spec.accessModes"]).await
            },
        ),
        case(
            "a_host_path_is_a_path",
            "A hostPath needs a path without `..`, and a type that is known.",
            async |t| {
                wrong_volume(t, "/spec/hostPath/path", json!(""), &["FieldValueRequired spec.hostPath.path"])
                    .await?;
                wrong_volume(
                    t,
                    "/spec/hostPath/path",
                    json!("/tmp/../x"),
                    &["FieldValueInvalid spec.hostPath.path"],
                )
                .await?;
                wrong_volume(
                    t,
                    "/spec/hostPath/type",
                    json!("Odd"),
                    &["FieldValueNotSupported spec.hostPath.type"],
                )
                .await
            },
        ),
        case(
            "a_local_volume_needs_a_node",
            "A volume of source local without a node affinity answers 422.",
            async |t| {
                let object = with(
                    with(volume(&t.own("v"), &t.class), "/spec/hostPath", Value::Null),
                    "/spec/local",
                    json!({ "path": "/x" }),
                );
                t.post(&t.volumes("?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueRequired spec.nodeAffinity"])?;
                Ok(())
            },
        ),
        case(
            "a_volumes_source_cannot_be_changed",
            "A change of a volume's source answers 422 Forbidden about spec.persistentvolumesource.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                for spec in [
                    json!({ "hostPath": { "path": "/tmp/other" } }),
                    json!({ "hostPath": null, "nfs": { "path": "/", "server": "s" } }),
                ] {
                    let status = t
                        .merge(&path, json!({ "spec": spec }))
                        .await?
                        .invalid(&["FieldValueForbidden spec.persistentvolumesource"])?;
                    holds(
                        "the message says so",
                        text(&status, "/message")
                            .contains("spec.persistentvolumesource is immutable after creation"),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_volumes_mode_cannot_be_changed",
            "A change of a volume's volume mode answers 422.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                t.merge(&path, json!({ "spec": { "volumeMode": "Block" } }))
                    .await?
                    .invalid(&["FieldValueInvalid volumeMode"])?;
                Ok(())
            },
        ),
        case(
            "a_volumes_node_affinity_is_set_once",
            "A volume's node affinity can be set where there is none, and not changed or removed then.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                let affinity = |node: &str| json!({ "required": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "k", "operator": "In", "values": [node] }] }] } });
                t.merge(&path, json!({ "spec": { "nodeAffinity": affinity("a") } })).await?.is(200)?;
                t.merge(&path, json!({ "spec": { "nodeAffinity": affinity("b") } }))
                    .await?
                    .invalid(&["FieldValueInvalid nodeAffinity"])?;
                t.merge(&path, json!({ "spec": { "nodeAffinity": null } }))
                    .await?
                    .invalid(&["FieldValueInvalid nodeAffinity"])?;
                Ok(())
            },
        ),
        case(
            "the_rest_of_a_volume_can_be_changed",
            "A volume's capacity, access modes, reclaim policy, class, mount options and claimRef can be changed.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                for spec in [
                    json!({ "capacity": { "storage": "2Gi" } }),
                    json!({ "accessModes": ["ReadWriteMany"] }),
                    json!({ "persistentVolumeReclaimPolicy": "Delete" }),
                    json!({ "storageClassName": t.own("other") }),
                    json!({ "mountOptions": ["ro"] }),
                    json!({ "claimRef": { "namespace": t.namespace, "name": "x" } }),
                    json!({ "claimRef": null }),
                ] {
                    t.merge(&path, json!({ "spec": spec }))
                        .await?
                        .is(200)
                        .map_err(|why| format!("{spec}: {why}"))?;
                }
                Ok(())
            },
        ),
    ]
}

fn of_classes() -> Vec<Case> {
    vec![
        case("a_class_has_defaults", "A new class deletes its volumes and binds at once.", async |t| {
            let made = t.make(&t.classes(""), class(&t.own("c"))).await?;
            has(&made, json!({ "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate" }))
        }),
        case(
            "a_class_is_checked",
            "A class without a provisioner, with an odd one, or with an unknown policy or mode answers 422.",
            async |t| {
                let name = t.own("c");
                for (object, cause) in [
                    (named(&name), "FieldValueRequired provisioner"),
                    (with(class(&name), "/provisioner", json!("a b")), "FieldValueInvalid provisioner"),
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
                    let status =
                        t.merge(&path, patch).await?.invalid(&[&format!("FieldValueInvalid {field}")])?;
                    holds("the message says so", text(&status, "/message").ends_with("field is immutable"))?;
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
                let topologies = json!([{ "matchLabelExpressions": [{ "key": "k", "values": ["v"] }] }]);
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

fn bindings() -> Vec<Case> {
    vec![
        case(
            "a_claim_names_its_provisioner",
            "The volume controller annotates a claim of an immediate class with its provisioner, under both keys.",
            async |t| {
                t.make(&t.classes(""), class(&t.class)).await?;
                lone_claim(t, "a").await?;
                let provisioner = "conformance.example.com/none";
                let annotations = json!({ "volume.kubernetes.io/storage-provisioner": provisioner, "volume.beta.kubernetes.io/storage-provisioner": provisioner });
                until(t, &t.claims("/a"), json!({ "metadata": { "annotations": annotations } }))
                    .await
                    .map(drop)
            },
        ),
        case(
            "a_volume_without_a_claim_is_available",
            "A volume that names no claim becomes Available.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                until(t, &path, json!({ "status": { "phase": "Available" } })).await.map(drop)
            },
        ),
        case(
            "a_volume_that_names_its_claim_is_bound_to_it",
            "A volume with a claimRef and that claim become Bound to each other.",
            async |t| {
                let (claim, volume) = bound(t).await?;
                let found = until(t, &volume, json!({ "status": { "phase": "Bound" } })).await?;
                let status = json!({ "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" } });
                let annotations = json!({ "pv.kubernetes.io/bind-completed": "yes" });
                until(t, &claim, json!({ "spec": { "volumeName": text(&found, "/metadata/name") }, "status": status, "metadata": { "annotations": annotations } })).await.map(drop)
            },
        ),
        case(
            "a_free_volume_is_bound_to_a_claim_it_fits",
            "A claim is bound to a volume of its class that fits and names no claim, and the volume then names the claim.",
            async |t| {
                lone_volume(t, "v").await?;
                let made = lone_claim(t, "a").await?;
                let volume = t.volumes(&format!("/{}", t.own("v")));
                until(t, &t.claims("/a"), json!({ "status": { "phase": "Bound" } })).await?;
                let claim = json!({ "namespace": t.namespace, "name": "a", "uid": text(&made, "/metadata/uid"), "kind": "PersistentVolumeClaim" });
                until(t, &volume, json!({ "spec": { "claimRef": claim }, "metadata": { "annotations": { "pv.kubernetes.io/bound-by-controller": "yes" } } })).await.map(drop)
            },
        ),
        case(
            "a_claim_that_is_too_large_stays_pending",
            "A claim is not bound to a volume that is smaller than it asks for.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                until(t, &path, json!({ "status": { "phase": "Available" } })).await?;
                let object = with(claim("a", &t.class), "/spec/resources/requests/storage", json!("2Gi"));
                t.make(&t.claims(""), object).await?;
                t.make(&t.claims(""), claim("b", &t.class)).await?;
                until(t, &t.claims("/b"), json!({ "status": { "phase": "Bound" } })).await?;
                has(&t.get(&t.claims("/a")).await?.is(200)?, json!({ "status": { "phase": "Pending" } }))
            },
        ),
        case(
            "a_volume_is_released_when_its_claim_goes",
            "A claim without pods loses its protection when it is deleted, and its volume becomes Released.",
            async |t| {
                let (claim, volume) = bound(t).await?;
                until(t, &volume, json!({ "status": { "phase": "Bound" } })).await?;
                t.delete(&claim).await?.is(200)?;
                until(t, &volume, json!({ "status": { "phase": "Released" } })).await?;
                t.get(&claim).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "a_bound_volume_is_protected",
            "A volume that is bound stays when it is deleted, until its claim is gone.",
            async |t| {
                let (claim, volume) = bound(t).await?;
                until(t, &volume, json!({ "status": { "phase": "Bound" } })).await?;
                let marked = t.delete(&volume).await?.is(200)?;
                has(
                    &marked,
                    json!({ "kind": "PersistentVolume", "metadata": { "deletionTimestamp": "*", "finalizers": ["kubernetes.io/pv-protection"] } }),
                )?;
                t.get(&volume).await?.is(200)?;
                t.delete(&claim).await?.is(200)?;
                for _ in 0..200 {
                    if t.get(&volume).await?.code == 404 {
                        return Ok(());
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err("the volume is still there after 20 s".to_owned())
            },
        ),
        case(
            "an_available_volume_can_be_deleted",
            "A volume that is not bound is gone soon after it is deleted.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                until(t, &path, json!({ "status": { "phase": "Available" } })).await?;
                t.delete(&path).await?.is(200)?;
                for _ in 0..200 {
                    if t.get(&path).await?.code == 404 {
                        return Ok(());
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err("the volume is still there after 20 s".to_owned())
            },
        ),
        case(
            "a_claim_whose_volume_vanishes_is_lost",
            "A bound claim whose volume is removed becomes Lost.",
            async |t| {
                let (claim, volume) = bound(t).await?;
                until(t, &volume, json!({ "status": { "phase": "Bound" } })).await?;
                t.delete(&volume).await?.is(200)?;
                t.merge(&volume, json!({ "metadata": { "finalizers": null } })).await?.is(200)?;
                until(t, &claim, json!({ "status": { "phase": "Lost" } })).await.map(drop)
            },
        ),
        case(
            "a_bound_claim_grows_only_in_a_class_that_allows_it",
            "A larger size of a bound claim answers 403 where the class does not allow expansion.",
            async |t| {
                let (claim, _) = bound(t).await?;
                let patch = json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } });
                t.merge(&claim, patch).await?.says(403, "Forbidden", "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")?;
                Ok(())
            },
        ),
    ]
}
