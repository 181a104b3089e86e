//! The manifest, tested for exactly what it needs: its roles, as they are in `deploy/`, on a server
//! where roles decide.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Grant};
use hostpath_provisioner::{
    Asked, Assembly, Cli, Events, MARKER_FILE, Marker, Metrics, PERMISSIONS, Permissions, Root,
    Settings, assemble,
};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use lease_election::{KubeLeaseStore, LeaderElector, TokioClock};
use reconciler::Report;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::world::{bind_volumes, until};

const NAME: &str = "hostpath-provisioner";
const ACCOUNT: &str = "system:serviceaccount:hostpath-provisioner:hostpath-provisioner";

/// The provisioner, in this process, as its account.
struct Replica {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Report>,
}

impl Replica {
    fn start(server: &EmbeddedApiServer, folder: &Path, identity: &str) -> Self {
        let flags = [
            NAME,
            "run",
            "--root",
            "/unused",
            "--storage-class",
            "hostpath",
            "--lease-namespace",
            NAME,
            "--identity",
            identity,
        ];
        let Ok(Asked::Run(args)) = Cli::read(flags) else { panic!("bad flags") };
        let settings = Settings::check(&args).unwrap();
        let client = || server.client_as(ACCOUNT);
        let permissions = Permissions::new(settings.election.namespace(), settings.election.name());
        let store = KubeLeaseStore::new(client(), &settings.election);
        let elector =
            LeaderElector::with_clock(store, settings.election.clone(), TokioClock::new(), 7);
        let metrics =
            Metrics::new("hostpath", &mut prometheus_client::registry::Registry::default());
        let (events, writer) =
            Events::new(client(), &settings.provisioner, identity, metrics.clone());
        tokio::spawn(writer);
        let manager = assemble(Assembly {
            settings: &settings,
            client: client(),
            elector: Some(elector),
            root: Root::new(folder).unwrap(),
            events,
            metrics,
            permissions: permissions.clone(),
            admin: None,
        })
        .unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let asking = client();
        let task = tokio::spawn(async move {
            let stop = async {
                let _ = stopped.await;
            };
            tokio::select! {
                report = manager.run(stop) => report.expect("the manager failed"),
                never = permissions.keep(asking, Duration::from_secs(5)) => match never {},
            }
        });
        Self { stop, task }
    }

    async fn stop(self) {
        drop(self.stop);
        self.task.await.expect("a replica panicked");
    }
}

/// A grant or a permission of the list, as verb, group and resource.
type Part = (String, String, String);

fn granted(grants: &[Grant]) -> BTreeSet<Part> {
    grants
        .iter()
        .map(|grant| (grant.verb.clone(), grant.group.clone(), grant.resource.clone()))
        .collect()
}

fn listed() -> BTreeSet<Part> {
    let owned = str::to_owned;
    PERMISSIONS.iter().map(|one| (owned(one.verb), owned(one.group), owned(one.resource))).collect()
}

#[tokio::test(start_paused = true)]
async fn the_roles_of_the_manifest_grant_exactly_what_a_whole_life_needs() {
    let server = EmbeddedApiServer::builder().seed(7).rbac(true).protect_volumes(true).build();
    bind_volumes(&server);
    server.load(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")).unwrap();
    let admin = server.client();
    let access = server.access().by(ACCOUNT);
    assert_eq!(granted(&access.grants()), listed(), "the roles grant the program's own list");
    assert_eq!(access.grants().len(), PERMISSIONS.len());
    let folder = tempfile::tempdir().unwrap();
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(admin.clone(), NAME);
    let volumes: Api<PersistentVolume> = Api::all(admin.clone());

    // The program looks at its class before anything is started.
    Api::<StorageClass>::all(server.client_as(ACCOUNT)).get("hostpath").await.unwrap();
    // A claim lives; another waits for something it cannot have, twice for the same reason.
    let first = Replica::start(&server, folder.path(), "one");
    let bound = async |claim: &str| {
        let claim = claims.get(claim).await.unwrap();
        claim.status.and_then(|status| status.phase).as_deref() == Some("Bound")
    };
    until("the claim is bound", async || bound("sample").await).await;
    let volume = claims.get("sample").await.unwrap().spec.unwrap().volume_name.unwrap();
    let odd: PersistentVolumeClaim = serde_json::from_value(json!({
        "metadata": { "name": "odd" },
        "spec": {
            "storageClassName": "hostpath", "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } }, "selector": { "matchLabels": { "no": "such" } },
        },
    }))
    .unwrap();
    claims.create(&PostParams::default(), &odd).await.unwrap();
    let events: Api<Event> = Api::namespaced(admin.clone(), NAME);
    let noted = async |times: i32| {
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let of_odd = events.into_iter().filter(|event| {
            event.reason.as_deref() == Some("ProvisioningFailed")
                && event.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some("odd")
        });
        of_odd.map(|event| event.series.map_or(1, |series| series.count)).max() >= Some(times)
    };
    until("the Event is there", async || noted(1).await).await;
    let again: Patch<Value> =
        Patch::Merge(json!({ "metadata": { "annotations": { "please": "again" } } }));
    claims.patch("odd", &PatchParams::default(), &again).await.unwrap();
    until("the Event is counted", async || noted(2).await).await;

    // It goes; and a directory is left by a leader that crashed before it had made the volume, for
    // a claim that is gone.
    let marker = fs::read(folder.path().join(&volume).join(MARKER_FILE)).unwrap();
    let mut orphan = Marker::parse(&marker).unwrap();
    claims.delete("sample", &DeleteParams::default()).await.unwrap();
    until("the volume is gone", async || volumes.get_opt(&volume).await.unwrap().is_none()).await;
    first.stop().await;
    orphan.claim_uid = "00000000-0000-4000-8000-000000000000".to_owned();
    orphan.claim_name = "gone".to_owned();
    orphan.volume = format!("pvc-{}", orphan.claim_uid);
    let left = folder.path().join(&orphan.volume);
    fs::create_dir(&left).unwrap();
    fs::write(left.join(MARKER_FILE), orphan.to_bytes()).unwrap();

    // The next leader asks for the claim, and takes the directory back.
    let second = Replica::start(&server, folder.path(), "two");
    until("the directory of nobody is gone", async || !left.exists()).await;
    second.stop().await;

    access.assert_nothing_refused().assert_all_used();
}
