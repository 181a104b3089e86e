//! A real control plane behind the proxy, with the provisioner's own roles for the replicas.

use std::io::Write;
use std::ops::ControlFlow;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use control_plane::{Assets, Component, ControlPlane, Progress};
use kube::config::Kubeconfig;
use serde_json::json;

use super::answer::doing;
use super::client::{client, version};
use super::front::{address, close, listening, present, proxy};
use super::gone::{Gone, end};
use crate::cli::ServeOptions;
use crate::clock;
use crate::users::{User, token};

/// What the provisioner's users apply, as it is: these roles must be enough.
const MANIFESTS: [&str; 4] = [
    include_str!("../../../hostpath-provisioner/deploy/00-namespace.yaml"),
    include_str!("../../../hostpath-provisioner/deploy/10-service-account.yaml"),
    include_str!("../../../hostpath-provisioner/deploy/20-role.yaml"),
    include_str!("../../../hostpath-provisioner/deploy/30-cluster-role.yaml"),
];
/// The name of everything in them.
const DEPLOYED: &str = "hostpath-provisioner";
/// The replicas' group.
const REPLICAS: &str = "wq-demo-replicas";
/// Writer, judge and visitor may do everything.
const PEOPLE: &str = "system:masters";

/// How often it is said what is being built.
const TELL: Duration = Duration::from_secs(1);
/// How often the programs are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a start that is no longer wanted is waited for; what it leaves is taken away by the
/// control plane's keeper.
const FORGET: Duration = Duration::from_secs(8);

pub(super) async fn serve(
    options: &ServeOptions,
    users: &[User],
    gone: &mut Gone,
) -> anyhow::Result<()> {
    // Before minutes are spent on a control plane that nobody could reach.
    drop(
        std::net::TcpListener::bind(address(options))
            .with_context(|| format!("--port {}", options.port))?,
    );
    let behind: Vec<_> = users
        .iter()
        .map(|user| User { token: token(), name: user.name.clone(), ..*user })
        .collect();
    let unwanted = gone.clone();
    let mut starting = tokio::task::spawn_blocking(move || start(&behind, &unwanted));
    let started = tokio::select! {
        biased;
        started = &mut starting => started?,
        () = end(gone) => match tokio::time::timeout(FORGET, starting).await {
            Ok(started) => started?,
            Err(_) => return Ok(()),
        },
    };
    if *gone.borrow() {
        return Ok(());
    }
    let mut plane = started?;
    let served = front(options, users, &mut plane, gone).await;
    tokio::task::spawn_blocking(move || plane.stop()).await??;
    served
}

/// Puts the proxy before the control plane until the end, or until one of its programs ends by
/// itself.
async fn front(
    options: &ServeOptions,
    users: &[User],
    plane: &mut ControlPlane,
    gone: &mut Gone,
) -> anyhow::Result<()> {
    let mut proxy = proxy(options);
    let mut engine = None;
    for user in users {
        let client = client(Kubeconfig::from_yaml(&plane.kubeconfig(&user.name)?)?, None).await?;
        if engine.is_none() {
            engine = Some(version(&client).await?);
        }
        proxy = proxy.user(&user.name, &user.token, client);
    }
    let proxy = proxy.build();
    let listener = listening(options, proxy.listen(&address(options)).await)?;
    present(options, users, &listener, &engine.unwrap_or_default(), |url, user| {
        proxy.kubeconfig(url, user)
    })?;
    let mut looks = tokio::time::interval(LOOK);
    let served = loop {
        tokio::select! {
            biased;
            () = end(gone) => break Ok(()),
            _ = looks.tick() => if let Err(ended) = plane.check() {
                break Err(ended.into());
            },
        }
    };
    close(listener).await;
    served
}

/// Builds what is missing, starts it, and gives the users their rights. Blocks.
fn start(users: &[User], unwanted: &Gone) -> anyhow::Result<ControlPlane> {
    let mut told: Option<Instant> = None;
    let assets = Assets::prepare(&Component::ALL, |progress| {
        if told.is_none_or(|at| at.elapsed() >= TELL) || matches!(progress, Progress::Built { .. })
        {
            told = Some(clock::now());
            doing(words(progress));
        }
        if *unwanted.borrow() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    doing("starting etcd, kube-apiserver and kube-controller-manager");
    let mut builder = ControlPlane::builder().controller_manager(true);
    for user in users {
        let group = if user.is_replica { REPLICAS } else { PEOPLE };
        builder = builder.user(&user.name, &user.token, &[group]);
    }
    let plane = builder.start(&assets)?;
    doing("applying the provisioner's roles");
    apply(&plane)?;
    Ok(plane)
}

fn words(progress: Progress) -> String {
    match progress {
        Progress::Waiting => "waiting for another build of the control plane".to_owned(),
        Progress::Building { component, elapsed } => {
            format!("building {component} from source, once: {} s", elapsed.as_secs())
        }
        Progress::Built { component, took } => format!("built {component} in {} s", took.as_secs()),
        _ => "preparing the control plane".to_owned(),
    }
}

/// Applies the provisioner's manifests, and binds their roles to the replicas' group as they bind
/// them to the service account.
fn apply(plane: &ControlPlane) -> anyhow::Result<()> {
    let subjects =
        json!([{"kind": "Group", "name": REPLICAS, "apiGroup": "rbac.authorization.k8s.io"}]);
    let binding = |kind: &str, role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": REPLICAS, "namespace": DEPLOYED},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": DEPLOYED},
            "subjects": subjects,
        })
    };
    let mut cluster_wide = binding("ClusterRoleBinding", "ClusterRole");
    if let Some(metadata) = cluster_wide["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    let bindings =
        [binding("RoleBinding", "Role"), cluster_wide].map(|binding| binding.to_string());
    let documents =
        MANIFESTS.into_iter().chain(bindings.iter().map(String::as_str)).collect::<Vec<_>>();
    let mut kubectl = plane.kubectl()?;
    kubectl.args(["apply", "--filename=-"]);
    let mut kubectl = kubectl
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("kubectl")?;
    if let Some(mut stdin) = kubectl.stdin.take() {
        stdin.write_all(documents.join("\n---\n").as_bytes()).context("kubectl apply")?;
    }
    let ended = kubectl.wait_with_output().context("kubectl apply")?;
    if !ended.status.success() {
        bail!(
            "the provisioner's roles are refused: {}",
            String::from_utf8_lossy(&ended.stderr).trim()
        );
    }
    Ok(())
}
