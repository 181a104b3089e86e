//! What the volume controller does: bound, released, protected, lost.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::storage::objects::{bound, lone_claim, lone_volume, until, with};
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
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
                let object =
                    with(claim("a", &t.class), "/spec/resources/requests/storage", json!("2Gi"));
                t.make(&t.claims(""), object).await?;
                t.make(&t.claims(""), claim("b", &t.class)).await?;
                until(t, &t.claims("/b"), json!({ "status": { "phase": "Bound" } })).await?;
                has(
                    &t.get(&t.claims("/a")).await?.is(200)?,
                    json!({ "status": { "phase": "Pending" } }),
                )
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
                t.until_gone(&volume).await
            },
        ),
        case(
            "an_available_volume_can_be_deleted",
            "A volume that is not bound is gone soon after it is deleted.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                until(t, &path, json!({ "status": { "phase": "Available" } })).await?;
                t.delete(&path).await?.is(200)?;
                t.until_gone(&path).await
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
                let patch =
                    json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } });
                t.merge(&claim, patch).await?.says(403, "Forbidden", "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")?;
                Ok(())
            },
        ),
    ]
}
