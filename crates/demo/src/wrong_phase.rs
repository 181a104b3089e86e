//! A controller that says the wrong phase: of a bound claim's volume, that it was released. Nothing
//! may be removed for it.

use anyhow::Context;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

/// Says of the volume of this claim that it is released, if it is bound. The volume controller says
/// otherwise soon after.
pub(crate) async fn say(
    client: &Client,
    claims: &Api<PersistentVolumeClaim>,
    name: &str,
) -> anyhow::Result<()> {
    let claim = claims.get(name).await.with_context(|| format!("reading {name}"))?;
    let is_bound = claim.status.and_then(|status| status.phase).as_deref() == Some("Bound");
    let Some(volume) = claim.spec.and_then(|spec| spec.volume_name).filter(|_| is_bound) else {
        return Ok(());
    };
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    let wrong = Patch::Merge(json!({"status": {"phase": "Released"}}));
    volumes
        .patch_status(&volume, &PatchParams::default(), &wrong)
        .await
        .with_context(|| format!("saying the wrong phase of {volume}"))?;
    Ok(())
}
