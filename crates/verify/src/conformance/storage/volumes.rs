//! Volumes: defaults, checks, what may change.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::storage::objects::{lone_volume, with, wrong_claim, wrong_volume};
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
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
                wrong_volume(
                    t,
                    "/spec/accessModes",
                    Value::Null,
                    &["FieldValueRequired spec.accessModes"],
                )
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
                wrong_volume(
                    t,
                    "/spec/capacity/cpu",
                    json!("1"),
                    &["FieldValueNotSupported spec.capacity"],
                )
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
                wrong_claim(
                    t,
                    "/spec/accessModes",
                    modes,
                    &["FieldValueForbidden spec.accessModes"],
                )
                .await
            },
        ),
        case(
            "a_host_path_is_a_path",
            "A hostPath needs a path without `..`, and a type that is known.",
            async |t| {
                wrong_volume(
                    t,
                    "/spec/hostPath/path",
                    json!(""),
                    &["FieldValueRequired spec.hostPath.path"],
                )
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
                t.merge(&path, json!({ "spec": { "nodeAffinity": affinity("a") } }))
                    .await?
                    .is(200)?;
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
        case(
            "a_volume_without_a_phase_is_pending",
            "A write to the status of a volume that leaves the status out makes its phase Pending.",
            async |t| {
                let name = t.own("v");
                t.make(&t.volumes(""), volume(&name, &t.class)).await?;
                let bare = volume(&name, &t.class);
                let put = t.put(&t.volumes(&format!("/{name}/status")), &bare).await?.is(200)?;
                has(&put, json!({ "status": { "phase": "Pending" } }))
            },
        ),
    ]
}
