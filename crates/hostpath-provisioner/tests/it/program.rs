//! The binary, as a process of its own: what it refuses, what it leaves behind, and one whole life
//! over a socket. These tests run on the real clock, and wait for lines and states, never for a
//! time.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Listener};
use hostpath_provisioner::{PROVISIONER, STATE_FOLDER, TERM_FILE, volume_name};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, DeleteParams, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::mounts::{bind, may_mount};
use crate::world::bind_volumes;

struct Site {
    server: EmbeddedApiServer,
    listener: Listener,
    folder: TempDir,
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hostpath-provisioner"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

impl Site {
    async fn new() -> Self {
        let server = EmbeddedApiServer::builder().protect_volumes(true).namespace("shop").build();
        bind_volumes(&server);
        let listener = server.listen("127.0.0.1:0").await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kubeconfig"), server.kubeconfig(&listener.url(), "replica"))
            .unwrap();
        let class: StorageClass = serde_json::from_value(json!({
            "metadata": {"name": "hostpath"}, "provisioner": PROVISIONER,
        }))
        .unwrap();
        Api::all(server.client()).create(&PostParams::default(), &class).await.unwrap();
        Self { server, listener, folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// `run` with good flags, of which some are replaced.
    fn run(&self, replaced: &[(&str, &str)]) -> Command {
        let (kubeconfig, root) = (self.path("kubeconfig"), self.path("root"));
        let mut flags: Vec<(&str, &str)> = vec![
            ("--kubeconfig", &kubeconfig),
            ("--storage-class", "hostpath"),
            ("--root", &root),
            ("--drain-grace", "200ms"),
            ("--connect-timeout", "2s"),
            ("--metrics-addr", "127.0.0.1:0"),
            ("--log-format", "json"),
        ];
        for (flag, value) in replaced {
            flags.retain(|(have, _)| have != flag);
            flags.push((flag, value));
        }
        let mut command = program();
        command.arg("run");
        for (flag, value) in flags {
            command.args([flag, value]);
        }
        command
    }

    async fn refused(&self, replaced: &[(&str, &str)]) -> String {
        let line = one_line(&self.run(replaced).output().await.unwrap());
        assert!(!Path::new(&self.path("root")).exists(), "something was written: {line}");
        line
    }
}

/// The single line on stderr of a program that ended with status 2.
fn one_line(output: &Output) -> String {
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(output.stdout.is_empty());
    stderr.trim_end().to_owned()
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id().expect("it runs")).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[tokio::test]
async fn bad_input_is_one_line_with_status_2_and_nothing_is_written() {
    let site = Site::new().await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    // Of the ports that no system gives to anybody; one that was just given back could be
    // somebody's again.
    let dead = "http://127.0.0.1:1";
    fs::write(site.folder.path().join("dead"), site.server.kubeconfig(dead, "replica")).unwrap();
    fs::write(site.folder.path().join("garbage"), "}{").unwrap();
    fs::write(site.folder.path().join("file"), "").unwrap();
    let foreign: StorageClass =
        serde_json::from_value(json!({"metadata": {"name": "foreign"}, "provisioner": "other"}))
            .unwrap();
    Api::all(site.server.client()).create(&PostParams::default(), &foreign).await.unwrap();
    for (flag, value, says) in [
        ("--kubeconfig", site.path("missing"), "missing"),
        ("--kubeconfig", site.path("garbage"), "garbage"),
        ("--kubeconfig", site.path("dead"), dead),
        ("--storage-class", "absent".to_owned(), "no such StorageClass"),
        ("--storage-class", "foreign".to_owned(), "its provisioner is \"other\""),
        ("--root", site.path("file"), "not a folder"),
        ("--root", "/proc/here".to_owned(), "/proc"),
        ("--metrics-addr", taken, "in use"),
        ("--workers", "0".to_owned(), "--workers"),
        ("--log-level", "a=b=c".to_owned(), "--log-level"),
        ("--lease-duration", "1s".to_owned(), "--lease-duration 1s: "),
    ] {
        let line = site.refused(&[(flag, &value)]).await;
        assert!(
            line.starts_with("hostpath-provisioner: ") && line.contains(says),
            "{says} is not in: {line}"
        );
    }
    let broken = "users:\n- name: a\n  user:\n    token: A-TOKEN\n   username: [a\n";
    fs::write(site.folder.path().join("broken"), broken).unwrap();
    let line = site.refused(&[("--kubeconfig", &site.path("broken"))]).await;
    assert!(line.contains("line 5 column 4") && !line.contains("TOKEN"), "{line}");
    let nothing = one_line(&program().arg("run").output().await.unwrap());
    assert!(nothing.contains("--root"), "{nothing}");
}

#[tokio::test]
async fn the_version_is_told() {
    let output = program().arg("--version").output().await.unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim(),
        format!("hostpath-provisioner {}", env!("CARGO_PKG_VERSION"))
    );
}

async fn get(address: &str, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream
        .write_all(
            format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes(),
        )
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Waits on the real clock, but for the state and not the time.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .unwrap_or_else(|_| panic!("never so: {what}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_life_over_a_socket() {
    let site = Site::new().await;
    let mut child = site.run(&[("--identity", "replica-1")]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = loop {
        let line = lines.next_line().await.unwrap().expect("it ended before it served");
        let line: serde_json::Value = serde_json::from_str(&line).expect("a line that is no JSON");
        if let Some(address) = line["fields"]["metrics_addr"].as_str() {
            break address.to_owned();
        }
    };
    let drained = tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    until("it is ready", async || get(&address, "/readyz").await.starts_with("HTTP/1.1 200")).await;

    let claims: Api<PersistentVolumeClaim> = Api::namespaced(site.server.client(), "shop");
    let volumes: Api<PersistentVolume> = Api::all(site.server.client());
    let claim = serde_json::from_value(json!({
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "hostpath", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        },
    }))
    .unwrap();
    let uid = claims.create(&PostParams::default(), &claim).await.unwrap().metadata.uid.unwrap();
    let phase = async || claims.get("data").await.unwrap().status.and_then(|status| status.phase);
    until("the claim is bound", async || phase().await.as_deref() == Some("Bound")).await;
    assert!(Path::new(&site.path("root")).join(volume_name(&uid)).is_dir());
    let counted =
        "controller_persistentvolumeclaim_provision_total{class=\"hostpath\",source=\"\"} 1";
    until("it is counted", async || get(&address, "/metrics").await.contains(counted)).await;
    let metrics = get(&address, "/metrics").await;
    assert!(metrics.contains("workqueue_depth"));
    // The election's, each once: of this process's one elector, which leads.
    let election = [
        "leader_election_master_status{name=\"hostpath-provisioner\"} 1",
        "leader_election_slowpath_total{name=\"hostpath-provisioner\"}",
        "leader_election_term_remaining_seconds{name=\"hostpath-provisioner\"}",
        "leader_election_renew_duration_seconds_count{name=\"hostpath-provisioner\"}",
        "leader_election_terms_total{name=\"hostpath-provisioner\"} 1",
        "leader_election_losses_total{reason=\"expired\",name=\"hostpath-provisioner\"} 0",
    ];
    for series in election {
        assert_eq!(metrics.matches(series).count(), 1, "{series}\n{metrics}");
    }
    let told = include_str!("../../../../docs/operating.md");
    for name in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert!(
            told.contains(&format!("`{name}")),
            "docs/operating.md does not tell what {name} is"
        );
    }
    assert!(get(&address, "/livez").await.starts_with("HTTP/1.1 200"));
    claims.delete("data", &DeleteParams::default()).await.unwrap();
    until("the volume is gone", async || {
        volumes.get_opt(&volume_name(&uid)).await.unwrap().is_none()
    })
    .await;
    assert!(!Path::new(&site.path("root")).join(volume_name(&uid)).exists());

    signal(&child, Signal::TERM);
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    drained.await.unwrap();
    site.listener.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_goes_on_when_nobody_reads_its_log_any_more() {
    let site = Site::new().await;
    let mut child =
        site.run(&[("--identity", "replica-1"), ("--log-level", "debug")]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = loop {
        let line = lines.next_line().await.unwrap().expect("it ended before it served");
        let line: serde_json::Value = serde_json::from_str(&line).expect("a line that is no JSON");
        if let Some(address) = line["fields"]["metrics_addr"].as_str() {
            break address.to_owned();
        }
    };
    drop(lines);
    // What it says from here on is lost: of its first term, if not of more.
    until("it leads", async || {
        get(&address, "/metrics").await.contains("master_status{name=\"hostpath-provisioner\"} 1")
    })
    .await;
    assert!(get(&address, "/livez").await.starts_with("HTTP/1.1 200"));
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    site.listener.shutdown().await;
}

#[tokio::test]
async fn a_proxy_is_refused_by_the_variable_that_names_it() {
    let site = Site::new().await;
    let proxied = |no_proxy: &str| {
        let mut command = site.run(&[("--storage-class", "absent")]);
        command.env_remove("https_proxy").env_remove("no_proxy");
        command.env("HTTPS_PROXY", "http://user:secret@127.0.0.1:9").env("NO_PROXY", no_proxy);
        command
    };
    let line = one_line(&proxied("").output().await.unwrap());
    assert!(
        line.contains("HTTPS_PROXY http://127.0.0.1:9") && line.contains("not supported"),
        "{line}"
    );
    let line = one_line(&proxied("127.0.0.1").output().await.unwrap());
    assert!(line.contains("no such StorageClass"), "{line}");
}

#[tokio::test]
async fn a_signal_during_the_checks_ends_it_with_status_0_and_nothing_written() {
    let site = Site::new().await;
    // A server that takes connections and never answers.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    mute.set_nonblocking(true).unwrap();
    let mute = tokio::net::TcpListener::from_std(mute).unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap());
    fs::write(site.folder.path().join("mute"), site.server.kubeconfig(&url, "replica")).unwrap();
    let kubeconfig = site.path("mute");
    let mut child =
        site.run(&[("--kubeconfig", &kubeconfig), ("--connect-timeout", "1h")]).spawn().unwrap();
    // Its request has come, so the handlers are in place.
    let _held = mute.accept().await.unwrap();
    signal(&child, Signal::INT);
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    assert!(!Path::new(&site.path("root")).exists());
}

/// P7: a rename never gets to another mount, so that is said at the start.
#[tokio::test]
async fn a_root_on_two_file_systems_is_refused_on_one_line() {
    if !may_mount("program::a_root_on_two_file_systems_is_refused_on_one_line") {
        return;
    }
    for folder in ["shop", "tenants/shop", ".hostpath-provisioner", ".hostpath-provisioner/trash"] {
        let site = Site::new().await;
        let other = tempfile::tempdir().unwrap();
        let root = Path::new(&site.path("root")).to_path_buf();
        bind(other.path(), &root.join(folder));
        let line = one_line(&site.run(&[]).output().await.unwrap());
        assert!(line.contains(&format!("{}: ", root.join(folder).display())), "{line}");
        assert!(line.contains("--root") && line.contains("unmount it"), "{line}");
    }
}

/// P4 as an operator sees it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_server_is_said_on_readyz_until_it_is_confirmed() {
    let site = Site::new().await;
    let state = Path::new(&site.path("root")).join(STATE_FOLDER);
    for round in 0..2 {
        let mut child = site.run(&[("--sweep-interval", "1s")]).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next_line().await.unwrap().expect("it ended before it served");
            let line: serde_json::Value =
                serde_json::from_str(&line).expect("a line that is no JSON");
            if let Some(address) = line["fields"]["metrics_addr"].as_str() {
                break address.to_owned();
            }
        };
        let drained =
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        if round == 0 {
            until("its term is on record", async || state.join(TERM_FILE).exists()).await;
            until("it is ready", async || {
                get(&address, "/readyz").await.starts_with("HTTP/1.1 200")
            })
            .await;
        } else {
            until("it says so", async || {
                let said = get(&address, "/readyz").await;
                said.starts_with("HTTP/1.1 503")
                    && said.contains("[-]removals")
                    && said.contains("restored.json")
            })
            .await;
            let paused = "hostpath_provisioner_removals_paused 1";
            assert!(get(&address, "/metrics").await.contains(paused));
            fs::remove_file(state.join("restored.json")).unwrap();
            until("it is ready again", async || {
                get(&address, "/readyz").await.starts_with("HTTP/1.1 200")
            })
            .await;
        }
        signal(&child, Signal::TERM);
        assert_eq!(child.wait().await.unwrap().code(), Some(0));
        drained.await.unwrap();
        let mut record: serde_json::Value =
            serde_json::from_slice(&fs::read(state.join(TERM_FILE)).unwrap()).unwrap();
        record["fence"]["transitions"] = json!(99);
        fs::write(state.join(TERM_FILE), record.to_string()).unwrap();
    }
    site.listener.shutdown().await;
}
