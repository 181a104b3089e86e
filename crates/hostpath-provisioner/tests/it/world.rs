//! A server, a root, and replicas on both. Time is tokio's paused clock: waiting costs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, User};
use hostpath_provisioner::{
    Asked, Assembly, Cli, Events, MARKER_FILE, Marker, Metrics, PROVISIONER, Permissions, Root,
    STAGING_FOLDER, STATE_FOLDER, Settings, TRASH_FOLDER, assemble, volume_name,
};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use lease_election::{KubeLeaseStore, LeaderElector, TokioClock};
use prometheus_client::registry::Registry;
use reconciler::Report;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::doorman::Doorman;
use crate::fate::Fate;

pub(crate) const CLASS: &str = "hostpath";
pub(crate) const NAMESPACE: &str = "shop";

pub(crate) struct World {
    pub(crate) server: EmbeddedApiServer,
    folder: TempDir,
    /// Between the replicas and the server.
    pub(crate) doorman: Doorman,
}

/// A replica that runs in this process.
pub(crate) struct Replica {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Report>,
    pub(crate) registry: Registry,
    pub(crate) permissions: Permissions,
}

impl Replica {
    /// Stops in order, as on SIGTERM.
    pub(crate) async fn stop(mut self) -> Report {
        drop(self.stop.take());
        self.task.await.expect("a replica panicked")
    }

    /// Stops at once and answers to nobody any more.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    pub(crate) fn metric(&self, line_start: &str) -> f64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let line = text.lines().find(|line| line.starts_with(line_start));
        line.and_then(|line| line.rsplit(' ').next())
            .and_then(|value| value.parse().ok())
            .unwrap_or(-1.0)
    }
}

/// Flags, checked.
pub(crate) fn settings(extra: &[&str]) -> Settings {
    let base = [
        "hostpath-provisioner",
        "run",
        "--root",
        "/unused",
        "--storage-class",
        CLASS,
        "--lease-namespace",
        "default",
    ];
    let Ok(Asked::Run(args)) = Cli::read([&base[..], extra].concat()) else {
        panic!("bad flags: {extra:?}")
    };
    Settings::check(&args).unwrap()
}

/// Starts Kubernetes' volume binder on a server.
pub(crate) fn bind_volumes(server: &EmbeddedApiServer) {
    let binder = User::new(volume_binder::USER).group("system:masters");
    tokio::spawn(volume_binder::run(server.client_as(binder)));
}

impl World {
    /// With the binder and a class of ours.
    pub(crate) async fn new() -> Self {
        Self::with_class(json!({})).await
    }

    /// With a class that has these fields besides.
    pub(crate) async fn with_class(fields: Value) -> Self {
        let world = Self::without_class();
        world.make_class(fields).await;
        world
    }

    pub(crate) fn without_class() -> Self {
        Self::empty(true)
    }

    /// Nobody annotates, binds or releases anything, and there is no class.
    pub(crate) fn without_binder() -> Self {
        Self::empty(false)
    }

    fn empty(binder: bool) -> Self {
        let server = EmbeddedApiServer::builder()
            .seed(7)
            .protect_volumes(binder)
            .namespace(NAMESPACE)
            .build();
        if binder {
            bind_volumes(&server);
        }
        Self { server, folder: tempfile::tempdir().unwrap(), doorman: Doorman::default() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.server.client_as("user"), NAMESPACE)
    }

    pub(crate) fn volumes(&self) -> Api<PersistentVolume> {
        Api::all(self.server.client_as("user"))
    }

    pub(crate) fn classes(&self) -> Api<StorageClass> {
        Api::all(self.server.client_as("user"))
    }

    pub(crate) async fn make_class(&self, fields: Value) {
        let mut class = json!({"metadata": {"name": CLASS}, "provisioner": PROVISIONER});
        class.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.classes()
            .create(&PostParams::default(), &serde_json::from_value(class).unwrap())
            .await
            .unwrap();
    }

    /// Makes a claim and returns its UID.
    pub(crate) async fn claim(&self, name: &str) -> String {
        self.claim_with(name, json!({})).await
    }

    pub(crate) async fn claim_with(&self, name: &str, fields: Value) -> String {
        let mut spec = json!({
            "storageClassName": CLASS, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        });
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let claim = json!({"metadata": {"name": name}, "spec": spec});
        let claim = serde_json::from_value(claim).unwrap();
        self.claims().create(&PostParams::default(), &claim).await.unwrap().metadata.uid.unwrap()
    }

    pub(crate) async fn delete_claim(&self, name: &str) {
        let _ = self.claims().delete(name, &DeleteParams::default()).await;
    }

    pub(crate) async fn annotate_claim(&self, name: &str, annotation: &str, value: Value) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {annotation: value}}}));
        self.claims().patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn claim_annotations(&self, name: &str) -> BTreeMap<String, String> {
        self.claims().get(name).await.unwrap().metadata.annotations.unwrap_or_default()
    }

    pub(crate) async fn phase(&self, claim: &str) -> String {
        let claim = self.claims().get_opt(claim).await.unwrap();
        claim.and_then(|claim| claim.status).and_then(|status| status.phase).unwrap_or_default()
    }

    pub(crate) async fn until_bound(&self, claim: &str) {
        until(&format!("{claim} is bound"), async || self.phase(claim).await == "Bound").await;
    }

    pub(crate) async fn until_gone(&self, uid: &str) {
        until(&format!("the volume of {uid} is gone"), async || {
            self.volumes().get_opt(&volume_name(uid)).await.unwrap().is_none()
        })
        .await;
    }

    /// The volume of a claim.
    pub(crate) async fn volume(&self, uid: &str) -> Option<PersistentVolume> {
        self.volumes().get_opt(&volume_name(uid)).await.unwrap()
    }

    pub(crate) fn directory(&self, uid: &str) -> PathBuf {
        self.root().join(volume_name(uid))
    }

    pub(crate) fn marker(&self, uid: &str) -> Marker {
        Marker::parse(&fs::read(self.directory(uid).join(MARKER_FILE)).unwrap()).unwrap()
    }

    /// What is in the root, but for the provisioner's own folder.
    pub(crate) fn in_root(&self) -> BTreeSet<String> {
        names_in(self.root()).into_iter().filter(|name| name != STATE_FOLDER).collect()
    }

    /// What is half made or half removed.
    pub(crate) fn half_done(&self) -> BTreeSet<String> {
        let state = self.root().join(STATE_FOLDER);
        [STAGING_FOLDER, TRASH_FOLDER]
            .iter()
            .flat_map(|folder| names_in(&state.join(folder)))
            .collect()
    }

    /// Starts a replica that dies by its fate, if at all.
    pub(crate) fn start_mortal(&self, identity: &str, flags: &[&str], fate: &Fate) -> Replica {
        let root = Root::with_probe(self.root(), fate.probe()).unwrap();
        let fast = ["--identity", identity, "--drain-grace", "200ms"];
        let settings = settings(&[&fast[..], flags].concat());
        let permissions = Permissions::new(settings.election.namespace(), settings.election.name());
        let store = KubeLeaseStore::new(
            fate.client(&self.server, identity, false, &permissions, &self.doorman),
            &settings.election,
        );
        let seed = identity.bytes().fold(1, |seed, byte| seed * 31 + u64::from(byte));
        let elector =
            LeaderElector::with_clock(store, settings.election.clone(), TokioClock::new(), seed);
        let mut registry = Registry::default();
        let metrics = Metrics::new(CLASS, &mut registry);
        permissions.register(&mut registry);
        let (events, writer) = Events::new(
            fate.client(&self.server, identity, false, &permissions, &self.doorman),
            &settings.provisioner,
            identity,
            metrics.clone(),
        );
        tokio::spawn(writer);
        let manager = assemble(Assembly {
            settings: &settings,
            client: fate.client(&self.server, identity, true, &permissions, &self.doorman),
            elector: Some(elector),
            root,
            events,
            metrics,
            permissions: permissions.clone(),
            admin: None,
        })
        .unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (asking, keeper) = (
            fate.client(&self.server, identity, false, &permissions, &self.doorman),
            permissions.clone(),
        );
        let task = tokio::spawn(async move {
            let stop = async {
                let _ = stopped.await;
            };
            tokio::select! {
                report = manager.run(stop) => report.expect("the manager failed"),
                never = keeper.keep(asking, Duration::from_secs(5)) => match never {},
            }
        });
        Replica { stop: Some(stop), task, registry, permissions }
    }

    pub(crate) fn start(&self, identity: &str, flags: &[&str]) -> Replica {
        self.start_mortal(identity, flags, &Fate::immortal())
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Waits in paused time, looking ever less often; panics after ten minutes of it.
pub(crate) async fn until<F>(what: &str, mut is_so: F)
where
    F: AsyncFnMut() -> bool,
{
    let (mut waited, mut pause) = (Duration::ZERO, Duration::from_millis(1));
    while waited < Duration::from_secs(600) {
        if is_so().await {
            return;
        }
        tokio::time::sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
    panic!("never so: {what}");
}

/// Lets paused time pass.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// That it holds now and for a while.
pub(crate) async fn stays<F: Future<Output = bool>>(
    what: &str,
    time: Duration,
    mut is_so: impl FnMut() -> F,
) {
    for _ in 0..20 {
        assert!(is_so().await, "no longer so: {what}");
        pass(time / 20).await;
    }
}
