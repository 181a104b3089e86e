//! The conformance cases on the real API server.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use verify::conformance::{self, Server, Side};

#[tokio::test]
async fn the_real_server_does_what_each_case_says() {
    let Some(plane) = tokio::task::spawn_blocking(verify::real::shared).await.unwrap() else { return };
    let kubeconfig = Kubeconfig::from_yaml(&plane.kubeconfig("admin").unwrap()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    // The cases want the answers as they are, 504 included.
    config.default_retry = false;
    let server = Server::new(Client::try_from(config).unwrap());
    server.prepare().await.unwrap();
    // What is old must be gone, as on a server that has run for a while.
    tokio::task::spawn_blocking(|| plane.compact()).await.unwrap().unwrap();
    let filter = std::env::var("CONFORMANCE_FILTER").unwrap_or_default();
    let (ran, failures) = conformance::run(&server, Side::Real, &filter, 24).await;
    conformance::report("real", ran, &failures);
    assert!(failures.is_empty(), "{} of {ran} cases failed", failures.len());
}
