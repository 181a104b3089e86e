//! A server for kubectl and any other client: writes a kubeconfig and serves until Ctrl-C.
//!
//! ```sh
//! cargo run -p embedded-apiserver --example serve -- /tmp/embedded.kubeconfig
//! KUBECONFIG=/tmp/embedded.kubeconfig kubectl get all -A
//! ```
//!
//! The first argument is the file of the kubeconfig, by default `embedded.kubeconfig`. The second
//! is a folder of manifests to load. With `--once` it runs its own client and ends.

#![expect(clippy::print_stdout, reason = "it tells its user where it serves")]

use std::error::Error;
use std::path::PathBuf;

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = EmbeddedApiServer::builder()
        .token("admin", "example-token")
        .garbage_collector(true)
        .namespace_lifecycle(true)
        .build();
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (file, folder) = (arguments.next(), arguments.next());
    let file = file.unwrap_or_else(|| "embedded.kubeconfig".into());
    if let Some(folder) = folder {
        println!("{} objects from {}", server.load(&folder)?, folder.display());
    }
    let listener = server.listen("127.0.0.1:0").await?;
    let kubeconfig = server.kubeconfig(&listener.url(), "admin");
    println!("{} serves", listener.url());
    if file.as_os_str() == "--once" {
        let file = Kubeconfig::from_yaml(&kubeconfig)?;
        let mut config =
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        // A proxy from the environment cannot reach the loopback address.
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
    Ok(())
}
