//! Plants a wrong outcome after all work is done, behind everybody's back: the judge must find it.

use std::fs;
use std::path::Path;

use anyhow::Context;
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::cli::Sabotage;
use crate::disk::{self, Directory, Marker};

/// Does it, and says what was done.
pub(crate) async fn plant(
    what: Sabotage,
    client: &Client,
    root: &Path,
    folders: &[String],
) -> anyhow::Result<String> {
    let contents = disk::walk(root, folders).context("looking for something to spoil")?;
    let victim =
        contents.directories.first().context("nothing to spoil: no claim has a directory")?;
    let marker = victim
        .marker
        .as_ref()
        .map_err(|why| anyhow::anyhow!("{}: {why}", victim.path.display()))?;
    match what {
        Sabotage::Lose => {
            fs::remove_dir_all(&victim.path)?;
            Ok(format!(
                "removed {}, the directory of {}/{}",
                victim.path.display(),
                marker.claim_namespace,
                marker.claim_name
            ))
        }
        Sabotage::Orphan => {
            let uid = uuid::Uuid::new_v4();
            let nobodys = Marker {
                claim_uid: uid.to_string(),
                claim_name: "never-was".to_owned(),
                volume: format!("pvc-{uid}"),
                ..marker.clone()
            };
            let path = victim.path.with_file_name(&nobodys.volume);
            plant_directory(&path, &nobodys)?;
            Ok(format!("made {}, for a claim that never was", path.display()))
        }
        Sabotage::Duplicate => duplicate(client, victim, marker).await,
    }
}

/// A second volume with a directory of its own for a claim that has both.
async fn duplicate(client: &Client, victim: &Directory, marker: &Marker) -> anyhow::Result<String> {
    let api: Api<PersistentVolume> = Api::all(client.clone());
    let mut volume = api
        .get(&marker.volume)
        .await
        .with_context(|| format!("reading the volume {}", marker.volume))?;
    let second = format!("{}-again", marker.volume);
    let path = victim.path.with_file_name(&second);
    plant_directory(&path, &Marker { volume: second.clone(), ..marker.clone() })?;
    volume.metadata = kube::core::ObjectMeta {
        name: Some(second.clone()),
        annotations: volume.metadata.annotations,
        ..Default::default()
    };
    if let Some(spec) = volume.spec.as_mut()
        && let Some(source) = spec.host_path.as_mut()
    {
        source.path = path.display().to_string();
    }
    volume.status = None;
    api.create(&PostParams::default(), &volume)
        .await
        .with_context(|| format!("creating the volume {second}"))?;
    Ok(format!(
        "gave {}/{} a second volume, {second}, with a directory of its own",
        marker.claim_namespace, marker.claim_name
    ))
}

/// With its marker from the first moment on: the judge reads it when the directory appears.
fn plant_directory(path: &Path, marker: &Marker) -> anyhow::Result<()> {
    let seedling = path.with_file_name(".demo-plants-this");
    fs::create_dir(&seedling)?;
    fs::write(seedling.join(disk::MARKER), serde_json::to_vec(marker)?)?;
    fs::rename(seedling, path)?;
    Ok(())
}
