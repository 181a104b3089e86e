//! On a cluster that is there already: what is not the demo's is neither judged nor touched, and nothing of the demo's stays.
//!
//! The cluster is an embedded server in the test's own process, with somebody else's objects on it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Listener};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use rustix::process::Signal;
use serde_json::json;
use tokio::runtime::Runtime;

use super::stage::{World, now, provisioner, sleep, stand_in};

const SMALL: [&str; 4] = ["--claims", "40", "--seed", "3"];

struct Theirs {
    runtime: Runtime,
    server: EmbeddedApiServer,
    _listener: Listener,
    kubeconfig: PathBuf,
}

impl Theirs {
    fn new(world: &World) -> Self {
        let runtime = Runtime::new().unwrap();
        let builder = EmbeddedApiServer::builder().token("me", "my-token");
        let server = builder.volume_binder(true).namespace_lifecycle(true).build();
        let listener = runtime.block_on(async {
            let client = server.client_as("them");
            populate(&client).await;
            server.listen("127.0.0.1:0").await.unwrap()
        });
        let kubeconfig = world.path().join("theirs.yaml");
        std::fs::write(&kubeconfig, server.kubeconfig(&listener.url(), "me")).unwrap();
        Self { runtime, server, _listener: listener, kubeconfig }
    }

    /// All that is on the cluster, with versions; Events aside, which Kubernetes forgets by itself.
    fn everything(&self) -> BTreeMap<String, Option<String>> {
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
    fn assert_as_before(&self, before: &BTreeMap<String, Option<String>>) {
        let start = now();
        while self.everything() != *before && start.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(50));
        }
        assert_eq!(self.everything(), *before);
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["--kubeconfig", self.kubeconfig.to_str().unwrap()], more].concat()
    }
}

fn of<K: Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

async fn create<K>(api: Api<K>, object: serde_json::Value)
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

#[test]
fn a_run_on_a_cluster_judges_and_touches_only_its_own_and_leaves_nothing_there() {
    let world = World::new();
    let theirs = Theirs::new(&world);
    sleep(Duration::from_millis(200));
    let before = theirs.everything();
    let outcome = world.start(&theirs.args(&SMALL)).wait();
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let last = outcome.stdout.lines().last().unwrap();
    assert!(last.starts_with("demo: claims=40 bound=40 lost=0 duplicated=0 orphaned=0"), "{last}");
    assert!(last.contains(" engine=kube-apiserver/v"), "{last}");
    assert_eq!(theirs.everything(), before);
    let mine = theirs.server.requests().by("me");
    assert!(mine.count() > 100);
    for entry in mine.writes().entries() {
        let (namespace, name) = (entry.request.namespace.as_deref(), entry.request.name.as_deref());
        assert!(namespace.is_none_or(|name| name.starts_with("wq-demo-") || name == "default"), "{entry}");
        assert_ne!(name, Some("pvc-theirs"), "{entry}");
    }
    world.assert_empty();
}

#[test]
fn a_signal_and_even_sigkill_leave_nothing_on_the_cluster() {
    provisioner();
    for (signal, status) in [(Signal::INT, Some(130)), (Signal::TERM, Some(143)), (Signal::KILL, None)] {
        let world = World::new();
        let theirs = Theirs::new(&world);
        sleep(Duration::from_millis(200));
        let before = theirs.everything();
        let mut run = world.start(&theirs.args(&SMALL));
        let bound = || {
            theirs
                .server
                .requests()
                .by("me")
                .verb(embedded_apiserver::Verb::Create)
                .resource("persistentvolumes")
        };
        let start = now();
        while bound().count() < 5 && !run.ended() && start.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_millis(5));
        }
        run.signal(signal);
        let outcome = run.wait();
        assert_eq!(outcome.status.code(), status, "{outcome:?}");
        theirs.assert_as_before(&before);
        world.assert_empty_soon();
    }
}

#[test]
fn a_server_process_that_is_killed_leaves_the_remedy() {
    let world = World::new();
    let theirs = Theirs::new(&world);
    let mut run = world.start(&theirs.args(&SMALL));
    let start = now();
    let mine = || theirs.server.requests().by("me").verb(embedded_apiserver::Verb::Create);
    while mine().resource("persistentvolumes").count() < 5
        && !run.ended()
        && start.elapsed() < Duration::from_secs(60)
    {
        sleep(Duration::from_millis(5));
    }
    let processes = world.left();
    let server = processes.iter().find(|line| line.contains(" serve --dir ")).unwrap();
    let pid = server.split(['/', ':']).nth(2).unwrap().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let outcome = run.wait();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    for words in ["may still be on the cluster", "-l demo.wq-rs.dev/run=", r#""finalizers":null"#] {
        assert_eq!(outcome.stderr.matches(words).count(), 1, "{words}: {outcome:?}");
    }
    world.assert_empty();
}

#[track_caller]
fn refused(world: &World, args: &[&str], words: &[&str]) {
    let never = stand_in(world.path(), "exit 9");
    let outcome = world.start_with(&never, args).wait();
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "{word}: {outcome:?}");
    }
    world.assert_empty();
}

#[test]
fn a_kubeconfig_that_leads_nowhere_is_refused() {
    let world = World::new();
    let missing = world.path().join("missing.yaml");
    refused(&world, &["--kubeconfig", missing.to_str().unwrap()], &["missing.yaml", "No such file"]);
    let nonsense = world.path().join("nonsense.yaml");
    std::fs::write(&nonsense, "clusters: 7\n").unwrap();
    refused(&world, &["--kubeconfig", nonsense.to_str().unwrap()], &["nonsense.yaml"]);
    let theirs = Theirs::new(&world);
    refused(&world, &theirs.args(&["--context", "elsewhere"]), &["theirs.yaml", "elsewhere"]);
    let text = std::fs::read_to_string(&theirs.kubeconfig).unwrap();
    let with = |name: &str, text: String| {
        let file = world.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let stranger = with("stranger.yaml", text.replace("my-token", "no-token"));
    refused(&world, &["--kubeconfig", &stranger], &["stranger.yaml: refused: Unauthorized\n"]);
    let far = with("far.yaml", text.replace("127.0.0.1", "192.0.2.1"));
    refused(&world, &["--kubeconfig", &far], &["far.yaml: HTTPS_PROXY names a proxy", "unset HTTPS_PROXY"]);
    drop(theirs);
    let gone = world.path().join("gone.yaml");
    std::fs::write(&gone, text).unwrap();
    refused(
        &world,
        &["--kubeconfig", gone.to_str().unwrap()],
        &["gone.yaml", "cannot be reached", "refused"],
    );
    refused(&world, &["--real", "--kubeconfig", "x"], &["--real", "--kubeconfig"]);
    refused(&world, &["--context", "x"], &["not provided: --kubeconfig"]);
}

#[test]
fn a_cluster_that_has_the_class_or_its_provisioner_or_such_claims_or_volumes_is_refused_and_left_alone() {
    let class =
        |name: &str, provisioner: &str| json!({"metadata": {"name": name}, "provisioner": provisioner});
    let volume = json!({"metadata": {"name": "old"}, "spec": {
        "storageClassName": "wq-demo", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"},
    }});
    let spec = json!({
        "storageClassName": "wq-demo", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    });
    let claim = json!({"metadata": {"name": "hopeful"}, "spec": spec});
    let mut of_a_run = class("wq-demo", "hostpath.wq-rs.dev/provisioner");
    of_a_run["metadata"]["labels"] = json!({"demo.wq-rs.dev/run": "abc123"});
    for (kind, object, word) in [
        ("class", class("wq-demo", "example.com/x"), "delete storageclass wq-demo"),
        ("class", of_a_run, "delete namespaces,storageclasses -l demo.wq-rs.dev/run=abc123; for pv in"),
        ("class", class("mine", "hostpath.wq-rs.dev/provisioner"), "the StorageClass mine is served"),
        ("claim", claim, "the claim team-a/hopeful asks for the class wq-demo"),
        ("volume", volume, "volumes of the class wq-demo already (old is one)"),
    ] {
        let world = World::new();
        let theirs = Theirs::new(&world);
        theirs.runtime.block_on(async {
            let client = theirs.server.client_as("them");
            match kind {
                "class" => create::<StorageClass>(Api::all(client), object).await,
                "claim" => create::<PersistentVolumeClaim>(Api::namespaced(client, "team-a"), object).await,
                _ => create::<PersistentVolume>(Api::all(client), object).await,
            }
        });
        refused(&world, &theirs.args(&[]), &["theirs.yaml", word]);
        assert!(
            theirs
                .server
                .requests()
                .by("me")
                .writes()
                .entries()
                .iter()
                .all(|entry| entry.request.group == "authorization.k8s.io")
        );
    }
}
