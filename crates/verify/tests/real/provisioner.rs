//! The provisioner as a process with a ServiceAccount's token, and what is seen of it from outside.
//! Time is real here: everything is waited for by its condition.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use control_plane::ControlPlane;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// What must come about does so well within this time, on a machine that is busy with other tests
/// too.
const SOON: Duration = Duration::from_secs(60);

/// The manifests.
pub(crate) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hostpath-provisioner/deploy")
}

/// The program, which lies beside this one's folder.
fn program() -> PathBuf {
    let me = std::env::current_exe().expect("a test knows where it is");
    let program = me.ancestors().nth(2).expect("target/debug/deps/me").join("hostpath-provisioner");
    assert!(
        program.is_file(),
        "{} is not there: build it with `cargo build -p hostpath-provisioner`",
        program.display()
    );
    program
}

/// One replica.
pub(crate) struct Provisioner {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    pub(crate) root: PathBuf,
    folder: TempDir,
}

impl Provisioner {
    /// Starts it with these flags beside its own kubeconfig, root and address of metrics.
    pub(crate) fn start(plane: &ControlPlane, token: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        Self::start_in(plane, token, flags, folder, root)
    }

    fn start_in(
        plane: &ControlPlane,
        token: &str,
        flags: &[&str],
        folder: TempDir,
        root: PathBuf,
    ) -> Self {
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, plane.kubeconfig_for_token(token, "default")).unwrap();
        let mut child = Command::new(program())
            .arg("run")
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .arg("--root")
            .arg(&root)
            .args(["--metrics-addr", "127.0.0.1:0", "--log-format", "json"])
            .args(flags)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                read.lock().push(line);
            }
        });
        Self { child, log, root, folder }
    }

    /// Asks it to stop, and waits for it. The root may serve the next one.
    pub(crate) async fn stop(mut self) -> (ExitStatus, TempDir, PathBuf) {
        let pid = self.child.id().expect("it runs").to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status().await.unwrap();
        assert!(asked.success());
        let Ok(ended) = tokio::time::timeout(SOON, self.child.wait()).await else {
            panic!("it does not stop:\n{}", self.log());
        };
        (ended.unwrap(), self.folder, self.root)
    }

    /// Starts another in the root of one that was stopped.
    pub(crate) fn again(
        plane: &ControlPlane,
        token: &str,
        flags: &[&str],
        (_, folder, root): (ExitStatus, TempDir, PathBuf),
    ) -> Self {
        Self::start_in(plane, token, flags, folder, root)
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().join("\n")
    }

    /// The lines of the log, of a level, of which this is so.
    pub(crate) fn logged(&self, level: &str, is_so: impl Fn(&Value) -> bool) -> usize {
        let log = self.log.lock();
        let lines = log.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["level"] == level && is_so(&line["fields"])).count()
    }

    /// Status and text of a page; `None` while it does not serve.
    pub(crate) async fn get(&self, path: &str) -> Option<(u16, String)> {
        let address = {
            let log = self.log.lock();
            let mut lines = log.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.find_map(|line| line["fields"]["metrics_addr"].as_str().map(str::to_owned))
        };
        let mut stream = TcpStream::connect(address?).await.ok()?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// Waits until this is so of what it says of its readiness. Returns how long that took.
    pub(crate) async fn until_ready_says(
        &self,
        what: &str,
        is_so: impl Fn(u16, &str) -> bool,
    ) -> Duration {
        let begun = tokio::time::Instant::now();
        let mut last = None;
        while begun.elapsed() < SOON {
            last = self.get("/readyz").await;
            if last.as_ref().is_some_and(|(code, text)| is_so(*code, text)) {
                return begun.elapsed();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never so: {what}; at last {last:?}; its log:\n{}", self.log());
    }
}

/// A token of a ServiceAccount, as `kubectl create token` asks for.
pub(crate) async fn token(admin: &Client, namespace: &str, account: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
    let asked = accounts
        .create_token_request(account, &PostParams::default(), &TokenRequest::default())
        .await;
    asked.unwrap().status.and_then(|status| status.token).expect("a token")
}

/// Makes an object from JSON.
pub(crate) async fn make<K>(api: &Api<K>, object: Value) -> K
where
    K: Resource + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

/// A claim of a class.
pub(crate) fn claim(name: &str, class: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

/// The claim's name on volume and directory, once the binder has bound it.
pub(crate) async fn until_bound(
    claims: &Api<PersistentVolumeClaim>,
    name: &str,
    log: impl Fn() -> String,
) -> String {
    let mut volume = None;
    until(&format!("{name} is bound"), &log, async || {
        let claim = claims.get(name).await.unwrap();
        let phase = claim.status.and_then(|status| status.phase);
        volume = claim.spec.and_then(|spec| spec.volume_name);
        phase.as_deref() == Some("Bound")
    })
    .await;
    volume.expect("a bound claim names its volume")
}

/// Waits until a volume and its directory are gone.
pub(crate) async fn until_taken_back(
    admin: &Client,
    root: &Path,
    volume: &str,
    log: impl Fn() -> String,
) {
    let volumes: Api<PersistentVolume> = Api::all(admin.clone());
    until(&format!("{volume} is taken back"), &log, async || {
        volumes.get_opt(volume).await.unwrap().is_none() && !root.join(volume).exists()
    })
    .await;
}

/// Waits for a condition; says what did not come about, and what the program logged.
pub(crate) async fn until(
    what: &str,
    log: &impl Fn() -> String,
    mut is_so: impl AsyncFnMut() -> bool,
) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within(waiting).await.unwrap_or_else(|| panic!("never so: {what}; its log:\n{}", log()));
}

async fn within<T>(waiting: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(SOON, waiting).await.ok()
}
