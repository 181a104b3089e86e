//! A cluster on which the demo cannot run, or must not, is refused and left alone.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Api;
use serde_json::json;

use super::bad_input::refused;
use super::stage::World;
use super::theirs::{Theirs, create};

#[test]
fn a_kubeconfig_that_leads_nowhere_is_refused() {
    let world = World::new();
    let missing = world.path().join("missing.yaml");
    refused(
        &world,
        &["--kubeconfig", missing.to_str().unwrap()],
        &["missing.yaml", "No such file"],
    );
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
    refused(
        &world,
        &["--kubeconfig", &far],
        &["far.yaml: HTTPS_PROXY names a proxy", "unset HTTPS_PROXY"],
    );
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
fn a_cluster_that_has_the_class_or_its_provisioner_or_such_claims_or_volumes_is_refused_and_left_alone()
 {
    let class = |name: &str, provisioner: &str| json!({"metadata": {"name": name}, "provisioner": provisioner});
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
        (
            "class",
            of_a_run,
            "delete namespaces,storageclasses -l demo.wq-rs.dev/run=abc123; for pv in",
        ),
        (
            "class",
            class("mine", "hostpath.wq-rs.dev/provisioner"),
            "the StorageClass mine is served",
        ),
        ("claim", claim, "the claim team-a/hopeful asks for the class wq-demo"),
        ("volume", volume, "volumes of the class wq-demo already (old is one)"),
    ] {
        let world = World::new();
        let theirs = Theirs::new(&world);
        theirs.runtime.block_on(async {
            let client = theirs.server.client_as("them");
            match kind {
                "class" => create::<StorageClass>(Api::all(client), object).await,
                "claim" => {
                    create::<PersistentVolumeClaim>(Api::namespaced(client, "team-a"), object).await
                }
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
