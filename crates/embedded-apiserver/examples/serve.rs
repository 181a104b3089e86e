//! A server for kubectl and any other client: writes a kubeconfig and serves until Ctrl-C.
//!
//! ```sh
//! cargo run -p embedded-apiserver --example serve -- /tmp/embedded.kubeconfig
//! KUBECONFIG=/tmp/embedded.kubeconfig kubectl get all -A
//! ```
//!
//! Without the name of a file the kubeconfig is `embedded.kubeconfig` in the current folder. With
//! the name of a folder after it, it begins with the objects that are there (manifests, or an
//! earlier snapshot), and writes what it holds back when it ends. Manifests are not replaced, nor
//! is the current folder: beside them it writes to `FOLDER.snapshot`, and goes on from there the
//! next time. With `--once` it is its own client, and ends.

#![expect(clippy::print_stdout, reason = "it tells its user where it serves")]

use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use embedded_apiserver::{EmbeddedApiServer, SnapshotError};
use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = EmbeddedApiServer::builder()
        .token("admin", "example-token")
        .volume_binder(true)
        .garbage_collector(true)
        .namespace_lifecycle(true)
        .build();
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (file, folder) = (arguments.next(), arguments.next());
    let file = file.unwrap_or_else(|| "embedded.kubeconfig".into());
    let kept = folder.as_deref().map(place_of_snapshot).transpose()?;
    // What an earlier run has kept goes on; else what is in the folder is the beginning.
    for place in [&kept, &folder].into_iter().flatten() {
        if let Some(count) = load(&server, place)? {
            println!("{count} objects from {}", place.display());
            break;
        }
    }
    if let Some(kept) = &kept {
        println!("what it holds at the end goes to {}", kept.display());
    }
    let listener = server.listen("127.0.0.1:0").await?;
    let kubeconfig = server.kubeconfig(&listener.url(), "admin");
    println!("{} serves", listener.url());
    if file.as_os_str() == "--once" {
        let file = Kubeconfig::from_yaml(&kubeconfig)?;
        let mut config =
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        // One that the environment names has no way to this machine's loopback.
        config.proxy_url = None;
        let namespaces = Api::<Namespace>::all(Client::try_from(config)?);
        for namespace in namespaces.list(&Default::default()).await? {
            println!("namespace {}", namespace.name_any());
        }
    } else {
        std::fs::write(&file, kubeconfig)?;
        println!("try KUBECONFIG={} kubectl get all -A", file.display());
        tokio::signal::ctrl_c().await?;
    }
    listener.shutdown().await;
    if let Some(kept) = kept {
        println!("{} objects in {}", server.save(&kept)?, kept.display());
    }
    Ok(())
}

/// The number of objects in a folder, which are loaded; nothing if there is no such folder.
fn load(server: &EmbeddedApiServer, folder: &Path) -> Result<Option<usize>, SnapshotError> {
    match server.load(folder) {
        Err(SnapshotError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        loaded => loaded.map(Some),
    }
}

/// Where the objects of a folder can be saved: a snapshot replaces a snapshot, as a whole, and
/// nothing else.
fn place_of_snapshot(folder: &Path) -> std::io::Result<PathBuf> {
    if !folder.exists() {
        return Ok(folder.to_owned());
    }
    let full = folder.canonicalize()?;
    let is_snapshot = folder.join("snapshot.yaml").is_file() || folder.read_dir()?.next().is_none();
    if is_snapshot && std::env::current_dir()?.canonicalize()? != full {
        return Ok(folder.to_owned());
    }
    let mut beside = full.into_os_string();
    beside.push(".snapshot");
    Ok(beside.into())
}
