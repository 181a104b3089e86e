//! kubectl on the embedded server and on a real control plane, side by side.

use std::path::{Path, PathBuf};
use std::process::Output;

use control_plane::{Component, ControlPlane};
use embedded_apiserver::{EmbeddedApiServer, Listener, User};
use tempfile::TempDir;
use tokio::process::Command;
use verify::real::{self, Own};

/// The two servers, with a kubeconfig and a home for each.
pub(super) struct Both {
    namespace: &'static str,
    program: PathBuf,
    configs: [PathBuf; 2],
    homes: [TempDir; 2],
    _server: EmbeddedApiServer,
    _listener: Listener,
    _plane: Own,
}

impl Both {
    /// The servers, with a namespace for the test; nothing where there is no real one.
    pub(super) async fn start(namespace: &'static str) -> Option<Self> {
        let plane = tokio::task::block_in_place(|| real::own(ControlPlane::builder()))?;
        let assets = tokio::task::block_in_place(real::assets).expect("they were there before");
        let program = assets.path(Component::Kubectl).expect("prepared").to_owned();
        let admin = User::new("admin").group("system:masters");
        let server = EmbeddedApiServer::builder().rbac(true).token(admin, "t").build();
        let listener = server.listen("127.0.0.1:0").await.expect("a free port");
        let homes =
            [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
        let config = homes[0].path().join("config");
        std::fs::write(&config, server.kubeconfig(&listener.url(), "admin")).expect("written");
        let configs = [config, plane.kubeconfig_file("admin").expect("admin is one")];
        let both = Self {
            namespace,
            program,
            configs,
            homes,
            _server: server,
            _listener: listener,
            _plane: plane,
        };
        for kubectl in [both.embedded(), both.real()] {
            kubectl.must(&["create", "namespace", namespace]).await;
        }
        Some(both)
    }

    pub(super) fn embedded(&self) -> Kubectl<'_> {
        self.at(0)
    }

    pub(super) fn real(&self) -> Kubectl<'_> {
        self.at(1)
    }

    fn at(&self, at: usize) -> Kubectl<'_> {
        let (config, home) = (&self.configs[at], self.homes[at].path());
        Kubectl { program: &self.program, config, home, namespace: self.namespace }
    }
}

/// kubectl with one kubeconfig.
#[derive(Clone, Copy)]
pub(super) struct Kubectl<'b> {
    program: &'b Path,
    config: &'b Path,
    home: &'b Path,
    namespace: &'static str,
}

impl Kubectl<'_> {
    pub(super) async fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(self.program);
        command
            .args(words)
            .env("KUBECONFIG", self.config)
            .env("HOME", self.home)
            .kill_on_drop(true);
        command.output().await.expect("kubectl starts")
    }

    async fn must(&self, words: &[&str]) {
        let done = self.run(words).await;
        assert!(done.status.success(), "{done:?}");
    }

    /// Creates the objects of a manifest.
    pub(super) async fn create(&self, manifest: &str) {
        let path = self.home.join("manifest.yaml");
        std::fs::write(&path, manifest).expect("written");
        let path = path.to_str().expect("UTF-8");
        self.must(&["-n", self.namespace, "create", "-f", path]).await;
    }

    /// What kubectl prints in the test's namespace, and how it ends.
    pub(super) async fn says(&self, words: &str) -> String {
        let words: Vec<&str> = ["-n", self.namespace].into_iter().chain(words.split(' ')).collect();
        let Output { status, stdout, stderr } = self.run(&words).await;
        let code = status.code();
        format!(
            "{}{}exit {code:?}\n",
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        )
    }
}

/// Less times, uids and versions, which differ from run to run.
pub(super) fn masked(text: &str) -> String {
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
