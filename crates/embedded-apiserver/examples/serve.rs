//! A server for kubectl and any other client: writes a kubeconfig and serves until Ctrl-C.
//!
//! ```sh
//! cargo run -p embedded-apiserver --example serve -- /tmp/embedded.kubeconfig
//! KUBECONFIG=/tmp/embedded.kubeconfig kubectl get all -A
//! ```
//!
//! Without the name of a file the kubeconfig is `embedded.kubeconfig` in the current folder. With the name of a folder
//! after it, it begins with the objects that are there, and writes what it holds back when it ends: into that folder if it
//! is new, empty or an earlier snapshot; beside manifests, which are not replaced, into `FOLDER.snapshot`, which it says
//! at the start. With `--once` it is its own client, and ends.

#![expect(clippy::print_stdout, reason = "it tells its user where it serves")]

use std::error::Error;
use std::path::{Path, PathBuf};

use embedded_apiserver::EmbeddedApiServer;
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
    if let Some(folder) = folder.as_ref().filter(|folder| folder.exists()) {
        println!("{} objects from {}", server.load(folder)?, folder.display());
    }
    let kept = folder.as_deref().map(place_of_snapshot).transpose()?;
    if let Some(kept) = kept.as_ref().filter(|kept| Some(*kept) != folder.as_ref()) {
        println!("what it holds at the end goes to {}", kept.display());
    }
    let listener = server.listen("127.0.0.1:0").await?;
    let kubeconfig = server.kubeconfig(&listener.url(), "admin");
    println!("{} serves", listener.url());
    if file.as_os_str() == "--once" {
        let file = Kubeconfig::from_yaml(&kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
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

/// Where the objects of a folder can be saved: a snapshot replaces a snapshot, and nothing else.
fn place_of_snapshot(folder: &Path) -> std::io::Result<PathBuf> {
    let is_free =
        !folder.exists() || folder.join("snapshot.yaml").is_file() || folder.read_dir()?.next().is_none();
    if is_free {
        return Ok(folder.to_owned());
    }
    let mut beside = folder.canonicalize()?.into_os_string();
    beside.push(".snapshot");
    Ok(beside.into())
}
