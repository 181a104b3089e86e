//! What kubectl prints, word for word: the same commands on the embedded server and on a real
//! control plane.

use std::fmt::Write as _;

use crate::both::{Both, Kubectl, masked};

/// One of each kind that somebody looks at; by name, so that no controller's own object is met.
const OBJECTS: &str = include_str!("texts.yaml");

/// Each is asked of both, in this order.
const COMMANDS: [&str; 37] = [
    "auth whoami -o jsonpath={.kind}",
    "auth can-i get pods",
    "auth can-i create widgets.example.com",
    "auth can-i create nothing.example.com",
    "auth can-i get pods/log",
    "auth can-i get deployments.v1.apps",
    "auth can-i get deploy",
    "auth can-i list nodes",
    "auth can-i get namespaces other",
    "auth can-i get /healthz",
    "auth can-i update deployments --subresource=scale",
    "auth can-i * *",
    "auth can-i get pods --all-namespaces",
    "auth can-i fly pods",
    "auth can-i get nothings",
    "auth can-i get pods --as=nobody",
    "auth can-i get pods --as=nobody --as-group=some",
    "auth can-i --list",
    "auth can-i --list --as=nobody",
    "describe namespace texts",
    "describe configmap m",
    "describe secret s",
    "describe pvc c",
    "describe pv texts-v",
    "describe storageclass texts-slow",
    "describe service web",
    "describe pod p",
    "describe deployment d",
    "describe job j",
    "describe lease l",
    "describe serviceaccount a",
    "describe role r",
    "describe rolebinding b",
    "describe clusterrole texts-cr",
    "describe widget w",
    "describe crd widgets.example.com",
    "describe pod none",
];

/// A custom object, once its kind is served.
async fn make(kubectl: &Kubectl<'_>) {
    kubectl.create(OBJECTS).await;
    kubectl.run(&["wait", "--for=condition=Established", "crd/widgets.example.com"]).await;
    let widget = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"color":"red"}}"#;
    kubectl.create(widget).await;
}

/// On the embedded server other words come, for a reason that docs/embedded-apiserver.md names.
const DIFFER: [&str; 3] = ["describe namespace texts", "describe pvc c", "describe pv texts-v"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_prints_on_both_servers_the_same() {
    let Some(both) = Both::start("texts").await else { return };
    let (embedded, real) = (both.embedded(), both.real());
    make(&real).await;
    make(&embedded).await;
    let mut differ = String::new();
    for words in COMMANDS {
        let (here, there) = (masked(&embedded.says(words).await), masked(&real.says(words).await));
        if (here == there) == DIFFER.contains(&words) {
            let _ = write!(
                differ,
                "== kubectl {words}\n-- on the real server\n{there}\n-- here\n{here}\n"
            );
        }
    }
    assert!(differ.is_empty(), "{differ}");
}
