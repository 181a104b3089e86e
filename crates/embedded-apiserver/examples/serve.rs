//! A server for kubectl and any other client. With the name of a file it writes a kubeconfig there and serves until Ctrl-C; without one
//! it is its own client, and ends.
//!
//! ```sh
//! cargo run -p embedded-apiserver --features listen,actors --example serve -- /tmp/embedded.kubeconfig
//! KUBECONFIG=/tmp/embedded.kubeconfig kubectl get namespaces
//! ```

#![expect(clippy::print_stdout, reason = "it tells its user where it serves")]

use std::error::Error;
use std::path::PathBuf;

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = EmbeddedApiServer::builder().token("admin", "example-token").volume_binder(true).build();
    let listener = server.listen("127.0.0.1:0").await?;
    let kubeconfig = server.kubeconfig(&listener.url(), "admin");
    println!("{} serves", listener.url());
    match std::env::args_os().nth(1).map(PathBuf::from) {
        Some(file) => {
            std::fs::write(&file, kubeconfig)?;
            println!("try KUBECONFIG={} kubectl get namespaces", file.display());
            tokio::signal::ctrl_c().await?;
        }
        None => {
            let file = Kubeconfig::from_yaml(&kubeconfig)?;
            let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
            // One that the environment names has no way to this machine's loopback.
            config.proxy_url = None;
            let namespaces = Api::<Namespace>::all(Client::try_from(config)?);
            for namespace in namespaces.list(&Default::default()).await? {
                println!("namespace {}", namespace.name_any());
            }
        }
    }
    listener.shutdown().await;
    Ok(())
}
