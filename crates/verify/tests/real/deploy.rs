//! The provisioner's manifests on the real API server, unchanged.

use std::process::Output;

use control_plane::ControlPlane;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::{Api, DeleteParams};
use verify::real;

use crate::provisioner::{Provisioner, deploy, token, until_bound, until_taken_back};

/// Namespace, account, roles, bindings and Deployment have one name.
const NAME: &str = "hostpath-provisioner";

fn kubectl(plane: &ControlPlane, arguments: &[&str]) -> Output {
    plane.kubectl().unwrap().args(arguments).arg("-f").arg(deploy()).output().unwrap()
}

/// The lines on stdout of a call that must succeed and say nothing on stderr, where warnings go.
fn lines(output: Output) -> Vec<String> {
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() && stderr.is_empty(), "{stdout}{stderr}");
    stdout.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifests_apply_unchanged_and_the_program_serves_the_sample_claim_as_their_account() {
    let Some(plane) = tokio::task::block_in_place(real::shared) else { return };
    let admin = real::client(plane, "admin").await;
    let applied = lines(kubectl(plane, &["apply"]));
    assert!(
        applied.len() >= 9 && applied.iter().all(|line| line.ends_with(" created")),
        "{applied:?}"
    );
    let again = lines(kubectl(plane, &["apply"]));
    assert!(
        again.len() == applied.len() && again.iter().all(|line| line.ends_with(" unchanged")),
        "{again:?}"
    );
    let checked = lines(kubectl(plane, &["apply", "--dry-run=server", "--validate=strict"]));
    assert_eq!(checked.len(), applied.len());

    let deployments: Api<Deployment> = Api::namespaced(admin.clone(), NAME);
    let spec = deployments.get(NAME).await.unwrap().spec;
    assert_eq!(spec.replicas, Some(3));
    let pod = spec.template.spec.unwrap();
    // The flags of the container, but for those that a process beside the cluster has of its own.
    let flags: Vec<&str> =
        pod.containers[0].args.iter().flatten().skip(1).map(String::as_str).collect();
    let own = ["--root=", "--metrics-addr=", "--log-format="];
    let flags: Vec<&str> =
        flags.into_iter().filter(|flag| !own.iter().any(|own| flag.starts_with(own))).collect();
    let flags = [&flags[..], &["--lease-namespace", NAME]].concat();
    let token = token(&admin, NAME, pod.service_account_name.as_deref().unwrap()).await;
    let provisioner = Provisioner::start(plane, &token, &flags);
    provisioner.until_ready_says("it is ready", |code, _| code == 200).await;

    let claims: Api<PersistentVolumeClaim> = Api::namespaced(admin.clone(), NAME);
    let volume = until_bound(&claims, "sample", || provisioner.log()).await;
    assert!(provisioner.root.join(&volume).is_dir());
    let volumes: Api<PersistentVolume> = Api::all(admin.clone());
    let affinity = volumes.get(&volume).await.unwrap().spec.unwrap().node_affinity.unwrap();
    let term = &affinity.required.unwrap().node_selector_terms[0];
    let label = &term.match_expressions.as_ref().unwrap()[0];
    let selected = pod.node_selector.unwrap();
    assert_eq!(
        selected.get(&label.key),
        label.values.as_ref().unwrap().first(),
        "pods and replicas go to the same nodes"
    );
    claims.delete("sample", &DeleteParams::default()).await.unwrap();
    until_taken_back(&admin, &provisioner.root, &volume, || provisioner.log()).await;
    assert_eq!(provisioner.logged("WARN", |_| true), 0, "{}", provisioner.log());

    let (ended, ..) = provisioner.stop().await;
    assert_eq!(ended.code(), Some(0));
    let leases: Api<Lease> = Api::namespaced(admin.clone(), NAME);
    let holder = leases.get(NAME).await.unwrap().spec.unwrap().holder_identity;
    assert!(
        holder.as_deref().unwrap_or_default().is_empty(),
        "the lease was not given back: {holder:?}"
    );

    let removed = kubectl(plane, &["delete", "--wait=false", "--ignore-not-found"]);
    assert!(removed.status.success(), "{removed:?}");
}
