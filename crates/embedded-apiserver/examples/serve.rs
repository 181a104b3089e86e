//! A server for kubectl and any other client: writes a kubeconfig, prints how to use it, serves until Ctrl-C.
//!
//! ```sh
//! cargo run -p embedded-apiserver --features listen,actors --example serve -- /tmp/embedded.kubeconfig
//! KUBECONFIG=/tmp/embedded.kubeconfig kubectl get namespaces
//! ```

#![expect(clippy::print_stdout, reason = "it tells its user where it serves")]

use std::error::Error;
use std::path::PathBuf;

use embedded_apiserver::EmbeddedApiServer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("embedded.kubeconfig"), PathBuf::from);
    let server = EmbeddedApiServer::builder().token("admin", "example-token").volume_binder(true).build();
    let listener = server.listen("127.0.0.1:0").await?;
    std::fs::write(&file, server.kubeconfig(&listener.url(), "admin"))?;
    println!("{} serves; try", listener.url());
    println!("  KUBECONFIG={} kubectl get namespaces", file.display());
    tokio::signal::ctrl_c().await?;
    listener.shutdown().await;
    Ok(())
}
