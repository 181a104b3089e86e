//! What kubectl prints, word for word: the same commands on the embedded server and on a real
//! control plane.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;

use control_plane::{Component, ControlPlane};
use embedded_apiserver::{EmbeddedApiServer, User};
use tokio::process::Command;
use verify::real;

const NAMESPACE: &str = "texts";

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

/// kubectl with one kubeconfig.
struct Kubectl<'p> {
    program: &'p Path,
    config: &'p Path,
    home: &'p Path,
}

impl Kubectl<'_> {
    async fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(self.program);
        command
            .args(words)
            .env("KUBECONFIG", self.config)
            .env("HOME", self.home)
            .kill_on_drop(true);
        command.output().await.expect("kubectl starts")
    }

    async fn make(&self, file: &Path) {
        let made = self.run(&["create", "namespace", NAMESPACE]).await;
        assert!(made.status.success(), "{made:?}");
        let file = file.to_str().expect("UTF-8");
        let made = self.run(&["-n", NAMESPACE, "create", "-f", file]).await;
        assert!(made.status.success(), "{made:?}");
        let widget = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"color":"red"}}"#;
        let path = self.home.join("widget.json");
        std::fs::write(&path, widget).expect("written");
        self.run(&["wait", "--for=condition=Established", "crd/widgets.example.com"]).await;
        let made =
            self.run(&["-n", NAMESPACE, "create", "-f", path.to_str().expect("UTF-8")]).await;
        assert!(made.status.success(), "{made:?}");
    }

    async fn says(&self, words: &str) -> String {
        let words: Vec<&str> = ["-n", NAMESPACE].into_iter().chain(words.split(' ')).collect();
        let Output { status, stdout, stderr } = self.run(&words).await;
        let code = status.code();
        format!(
            "{}{}exit {code:?}\n",
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        )
    }
}

/// On the embedded server other words come, for a reason that docs/embedded-apiserver.md names.
const DIFFER: [&str; 3] = ["describe namespace texts", "describe pvc c", "describe pv texts-v"];

/// Less times, uids and versions, which differ from run to run.
fn masked(text: &str) -> String {
    const OF_THE_MOMENT: [&str; 6] = [
        "Creation Timestamp:",
        "CreationTimestamp:",
        "Resource Version:",
        "UID:",
        "Last Transition Time:",
        "controller-uid=",
    ];
    let lines = text.lines().map(|line| {
        let moment = OF_THE_MOMENT.iter().find_map(|moment| Some((line.find(moment)?, moment)));
        moment.map_or(line, |(at, moment)| &line[..at + moment.len()])
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_prints_on_both_servers_the_same() {
    let Some(plane) = tokio::task::block_in_place(|| real::own(ControlPlane::builder())) else {
        return;
    };
    let assets = tokio::task::block_in_place(real::assets).expect("they were there before");
    let program = assets.path(Component::Kubectl).expect("prepared");
    let admin = User::new("admin").group("system:masters");
    let server = EmbeddedApiServer::builder().rbac(true).token(admin, "t").build();
    let listener = server.listen("127.0.0.1:0").await.expect("a free port");
    let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let [ours, theirs] = homes.each_ref().map(tempfile::TempDir::path);
    let config = ours.join("config");
    std::fs::write(&config, server.kubeconfig(&listener.url(), "admin")).expect("written");
    let real_config = plane.kubeconfig_file("admin").expect("admin is one");
    let file = ours.join("objects.yaml");
    std::fs::write(&file, OBJECTS).expect("written");
    let embedded = Kubectl { program, config: &config, home: ours };
    let real = Kubectl { program, config: &real_config, home: theirs };
    real.make(&file).await;
    embedded.make(&file).await;
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
