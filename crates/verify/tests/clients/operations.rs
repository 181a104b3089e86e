//! What somebody who runs a cluster does with kubectl: drains a node, makes tokens, follows a
//! rollout. The same steps on the embedded server and on a real control plane print the same.

use std::collections::BTreeSet;

use crate::both::{Both, masked};

const OBJECTS: &str = include_str!("operations.yaml");

/// No kubelet runs on either server: nothing else ends the Pods.
const DRAIN: &str = "drain operations-n --force --grace-period=0 --timeout=4s";

/// In this order. A patch stands for a controller that runs on neither server.
const STEPS: &[&str] = &[
    r#"patch pod guarded --subresource=status -p {"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#,
    r#"patch pdb b --subresource=status --type=merge -p {"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}"#,
    DRAIN,
    "get pod guarded -o name",
    "get node operations-n -o jsonpath={.spec.unschedulable}{.spec.taints[*].key}",
    r#"patch pdb b --subresource=status --type=merge -p {"status":{"disruptionsAllowed":1}}"#,
    DRAIN,
    "get pods -o name",
    "get pdb b -o jsonpath={.status.disruptionsAllowed}{.status.conditions[*].reason}",
    "describe pdb b",
    "uncordon operations-n",
    "create token none",
    "create token a --duration=5m",
    "create token a -o jsonpath={.spec.expirationSeconds}",
    "create token a --duration=20m --audience=x --audience=y -o jsonpath={.spec}",
    "create token a --bound-object-kind=Secret --bound-object-name=s -o jsonpath={.spec.boundObjectRef}",
    "create token a --bound-object-kind=Secret --bound-object-name=none",
    "create token a --bound-object-kind=Pod --bound-object-name=guarded",
    "auth can-i create pods/eviction",
    "auth can-i create serviceaccounts/token --as=nobody",
];

/// kubectl's lines of several goroutines come in any order, and once for each of its attempts.
fn lines(text: &str) -> BTreeSet<String> {
    masked(text).lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_operates_both_servers_alike() {
    let Some(both) = Both::start("operations").await else { return };
    let (embedded, real) = (both.embedded(), both.real());
    real.create(OBJECTS).await;
    embedded.create(OBJECTS).await;
    for words in STEPS {
        let (here, there) = tokio::join!(embedded.says(words), real.says(words));
        assert_eq!(lines(&here), lines(&there), "kubectl {words}\n{here}\n{there}");
    }
    // A token is a JWT of three parts, and nothing else is printed.
    for kubectl in [embedded, real] {
        let token = kubectl.says("create token a").await;
        let parts: Vec<&str> = token.lines().next().unwrap_or_default().split('.').collect();
        assert!(parts.len() == 3 && parts[0].starts_with("eyJ"), "{token}");
    }
}
