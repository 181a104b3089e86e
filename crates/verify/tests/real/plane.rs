//! The control plane itself: users, restarts, a paused etcd, what is said when it does not start,
//! and that nothing of it stays behind.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use control_plane::{Builder, Component, ControlPlane, Error};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use verify::real::{self, Own};

/// Names the test that is to be played by a copy of this program.
const CHILD: &str = "WQ_PLANE_OF_A_CHILD";

/// What must come about does so well within this time.
const SOON: Duration = Duration::from_secs(30);

async fn own(builder: Builder) -> Option<Own> {
    tokio::task::block_in_place(|| real::own(builder))
}

fn settings(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

fn setting(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_who_the_token_says_and_what_was_written_survives_a_restart_of_the_api_server() {
    let Some(mut plane) =
        own(ControlPlane::builder().user("alice", "alices-token", &["readers"])).await
    else {
        return;
    };
    let admin = real::client(&plane, "admin").await;
    let alice = real::client(&plane, "alice").await;
    let refused = Api::<Namespace>::all(alice).list(&ListParams::default()).await.unwrap_err();
    assert!(
        refused.to_string().contains("User \"alice\" cannot list resource \"namespaces\""),
        "{refused}"
    );
    assert!(matches!(plane.kubeconfig("bob"), Err(Error::UnknownUser(user)) if user == "bob"));

    settings(admin.clone()).create(&PostParams::default(), &setting("before")).await.unwrap();
    let url = plane.url();
    tokio::task::block_in_place(|| plane.restart_api_server()).unwrap();
    assert_eq!(plane.url(), url);
    settings(real::client(&plane, "admin").await).get("before").await.unwrap();
    plane.check().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_waits_for_a_paused_etcd_and_compaction_may_be_repeated() {
    let Some(plane) = own(ControlPlane::builder()).await else { return };
    let settings = settings(real::client(&plane, "admin").await);
    let paused = plane.pause_etcd().unwrap();
    let (create, made) = (PostParams::default(), setting("late"));
    let write = settings.create(&create, &made);
    tokio::pin!(write);
    assert!(
        tokio::time::timeout(Duration::from_secs(1), &mut write).await.is_err(),
        "etcd answered"
    );
    drop(paused);
    tokio::time::timeout(SOON, write).await.unwrap().unwrap();

    let compact = || tokio::task::block_in_place(|| plane.compact()).unwrap();
    let first = compact();
    assert!(first > 0);
    assert!(compact() >= first);
}

#[test]
fn what_does_not_start_says_so_in_its_own_words_and_leaves_nothing() {
    let Some(assets) = real::assets() else { return };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = ControlPlane::builder().port(port).start(assets).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("port {port} is taken; stop what uses it, or give port 0 for any free one")
    );

    let error = ControlPlane::builder().user("a,b", "t", &[]).start(assets).unwrap_err();
    assert!(error.to_string().contains("name \"a,b\""), "{error}");

    let error =
        ControlPlane::builder().api_server_flag("--no-such-flag").start(assets).unwrap_err();
    assert!(matches!(error, Error::Ended { component: Component::KubeApiserver, .. }), "{error}");
    assert!(error.to_string().contains("unknown flag: --no-such-flag"), "{error}");

    // A second is not enough.
    let error =
        ControlPlane::builder().ready_within(Duration::from_millis(300)).start(assets).unwrap_err();
    assert!(matches!(error, Error::NotReady { .. }), "{error}");
}

/// Not a test: the owner that dies without a word in the one below.
#[test]
#[expect(clippy::print_stdout, reason = "the other process reads it")]
fn a_child_that_is_killed() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let Some(plane) = real::own(ControlPlane::builder().controller_manager(true)) else { return };
    println!("\nfolder={}", plane.folder().display());
    // The other process kills this one while it waits for a line that never comes.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn nothing_stays_behind_when_the_owner_is_killed() {
    if real::assets().is_none() {
        return;
    }
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["plane::a_child_that_is_killed", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(owner.stdout.take().unwrap());
    let folder = said
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("folder=").map(PathBuf::from));
    let folder = folder.expect("the owner did not start");
    assert!(!processes_of(&folder).is_empty());
    owner.kill().unwrap();
    owner.wait().unwrap();
    let start = now();
    while folder.exists() || !processes_of(&folder).is_empty() {
        assert!(
            start.elapsed() < SOON,
            "{} and {:?} stay",
            folder.display(),
            processes_of(&folder)
        );
        pause();
    }
}

/// The processes whose command line names the folder: what was started there.
fn processes_of(folder: &std::path::Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines =
        entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(folder)).collect()
}

#[expect(clippy::disallowed_methods, reason = "real processes end in real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "processes of another owner cannot be waited for, only looked at"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}
