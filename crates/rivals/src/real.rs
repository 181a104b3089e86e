//! The real API server, and how clients reach it.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Result, bail};
use control_plane::{Assets, Builder, Component, ControlPlane};
use kube::config::{KubeConfigOptions, Kubeconfig};

/// Starts kube-apiserver and etcd.
///
/// # Errors
///
/// If a program is missing or does not start.
pub fn real(builder: Builder) -> Result<ControlPlane> {
    // kubectl is what asks whether the API server is ready.
    let needed = [Component::Etcd, Component::Kubectl, Component::KubeApiserver];
    if let Some(missing) = Assets::missing(&needed) {
        bail!("{missing}");
    }
    let assets = Assets::prepare(&needed, |_| ControlFlow::Continue(()))?;
    Ok(builder.start(&assets)?)
}

/// Reads a kubeconfig of a server on this machine.
///
/// # Errors
///
/// If the file is not a kubeconfig.
pub async fn cluster(kubeconfig: impl AsRef<Path>) -> Result<kube::Config> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let mut cluster =
        kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    // A proxy of the environment cannot reach this machine's loopback.
    cluster.proxy_url = None;
    Ok(cluster)
}
