//! A cluster of the user's: an embedded server in the test's own process, with foreign objects on
//! it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Listener, User, Verb};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;
use tokio::runtime::Runtime;

use super::stage::{Run, World, now, sleep};

pub(crate) struct Theirs {
    pub(crate) runtime: Runtime,
    pub(crate) server: EmbeddedApiServer,
    _listener: Listener,
    pub(crate) kubeconfig: PathBuf,
}

impl Theirs {
    pub(crate) fn new(world: &World) -> Self {
        let runtime = Runtime::new().unwrap();
        let builder = EmbeddedApiServer::builder().token("me", "my-token");
        let server = builder.protect_volumes(true).namespace_lifecycle(true).build();
        let listener = runtime.block_on(async {
            let binder = User::new(volume_binder::USER).group("system:masters");
            tokio::spawn(volume_binder::run(server.client_as(binder)));
            let client = server.client_as("them");
            populate(&client).await;
            settle(&client).await;
            server.listen("127.0.0.1:0").await.unwrap()
        });
        let kubeconfig = world.path().join("theirs.yaml");
        std::fs::write(&kubeconfig, server.kubeconfig(&listener.url(), "me")).unwrap();
        Self { runtime, server, _listener: listener, kubeconfig }
    }

    /// All that is on the cluster, with versions; Events aside, which Kubernetes forgets by itself.
    pub(crate) fn everything(&self) -> BTreeMap<String, Option<String>> {
        let kinds = [
            of::<Namespace>(),
            of::<StorageClass>(),
            of::<PersistentVolume>(),
            of::<PersistentVolumeClaim>(),
            of::<k8s_openapi::api::coordination::v1::Lease>(),
            of::<k8s_openapi::api::core::v1::ConfigMap>(),
        ];
        self.runtime.block_on(async {
            let mut all = BTreeMap::new();
            for kind in kinds {
                let api: Api<DynamicObject> = Api::all_with(self.server.client_as("them"), &kind);
                for object in api.list(&ListParams::default()).await.unwrap() {
                    let namespace = object.namespace().unwrap_or_default();
                    let name = format!("{} {namespace}/{}", kind.kind, object.name_any());
                    all.insert(name, object.metadata.resource_version);
                }
            }
            all
        })
    }

    #[track_caller]
    pub(crate) fn assert_as_before(&self, before: &BTreeMap<String, Option<String>>) {
        let start = now();
        while self.everything() != *before && start.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(50));
        }
        assert_eq!(self.everything(), *before);
    }

    /// Waits until a run has begun to make volumes here, or has ended.
    pub(crate) fn wait_for_volumes(&self, run: &mut Run<'_>) {
        let made = || {
            self.server.requests().by("me").verb(Verb::Create).resource("persistentvolumes").count()
        };
        let start = now();
        while made() < 5 && !run.ended() && start.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["--kubeconfig", self.kubeconfig.to_str().unwrap()], more].concat()
    }
}

fn of<K: Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

pub(crate) async fn create<K>(api: Api<K>, object: serde_json::Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// Somebody else's claims and volumes, some of which look like the demo's.
async fn populate(client: &Client) {
    create::<Namespace>(Api::all(client.clone()), json!({"metadata": {"name": "team-a"}})).await;
    let class = json!({"metadata": {"name": "theirs"}, "provisioner": "example.com/theirs"});
    create::<StorageClass>(Api::all(client.clone()), class).await;
    let size = json!({"storage": "1Gi"});
    for name in ["claim-00000", "claim-00001"] {
        let spec = json!({"storageClassName": "theirs", "accessModes": ["ReadWriteOnce"], "resources": {"requests": size}});
        let claim = json!({"metadata": {"name": name}, "spec": spec});
        create::<PersistentVolumeClaim>(Api::namespaced(client.clone(), "team-a"), claim).await;
    }
    let spec = json!({
        "storageClassName": "none-at-all", "accessModes": ["ReadWriteOnce"], "capacity": size, "hostPath": {"path": "/nowhere"},
    });
    create::<PersistentVolume>(
        Api::all(client.clone()),
        json!({"metadata": {"name": "pvc-theirs"}, "spec": spec}),
    )
    .await;
}

/// Waits for what the server's own controllers write, in any order: the volume's phase, and each
/// claim's provisioner.
async fn settle(client: &Client) {
    let volumes = Api::<PersistentVolume>::all(client.clone());
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), "team-a");
    let start = now();
    loop {
        let phase = volumes.get("pvc-theirs").await.unwrap().status.and_then(|status| status.phase);
        let listed = claims.list(&ListParams::default()).await.unwrap();
        let waits = |claim: &PersistentVolumeClaim| {
            !claim.annotations().contains_key("volume.kubernetes.io/storage-provisioner")
        };
        if phase.as_deref() == Some("Available") && !listed.iter().any(waits) {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "not settled: volume {phase:?}, {listed:?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
