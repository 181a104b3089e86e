//! client-go, in the Go program of `go/`, against the embedded server: typed clients, an informer,
//! an election.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Listener, Match, Rule, Verb};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process;
use tokio::time::{sleep, timeout};

/// Longer than any scenario's own limit: only a program that hangs meets it.
const LIMIT: Duration = Duration::from_secs(90);

/// The Go program, built once; nothing where there is no Go, which a CI machine must have.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build =
        || verify::go::build(".", &Path::new(env!("CARGO_TARGET_TMPDIR")).join("client-go"));
    PROGRAM.get_or_init(build).as_deref()
}

/// A server, its socket, and kubeconfigs for who works on it.
struct Stage {
    server: EmbeddedApiServer,
    listener: Listener,
    folder: TempDir,
}

const TESTED: &str = "informer";
const WRITER: &str = "writer";

impl Stage {
    async fn new() -> Self {
        let server =
            EmbeddedApiServer::builder().token(TESTED, "token-1").token(WRITER, "token-2").build();
        let listener = server.listen("127.0.0.1:0").await.expect("a free port");
        Self { server, listener, folder: tempfile::tempdir().expect("a folder") }
    }

    fn kubeconfig(&self, user: &str) -> PathBuf {
        let file = self.folder.path().join(user);
        std::fs::write(&file, self.server.kubeconfig(&self.listener.url(), user)).expect("written");
        file
    }

    /// Plays a scenario with client-go's switches set as given, does what it asks for, and wants it
    /// to succeed.
    async fn play(&self, program: &Path, scenario: &str, switches: &[(&str, &str)]) {
        let mut child = process::Command::new(program)
            .arg("-scenario")
            .arg(scenario)
            .arg("-kubeconfig")
            .arg(self.kubeconfig(TESTED))
            .arg("-writer-kubeconfig")
            .arg(self.kubeconfig(WRITER))
            .envs(switches.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let mut answers = child.stdin.take().expect("piped");
        let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let whole = async {
            let mut last = String::new();
            while let Some(line) = said.next_line().await.expect("text") {
                if let Some(wish) = line.strip_prefix("do: ") {
                    self.steer(wish).await;
                    answers.write_all(b"done\n").await.expect("it listens");
                } else {
                    last = line;
                }
            }
            (last, child.wait().await.expect("it ends"))
        };
        let (last, status) = timeout(LIMIT, whole).await.expect("the scenario ends in time");
        assert!(status.success(), "{last}");
    }

    async fn steer(&self, wish: &str) {
        let watches = Match::any().user(TESTED).verb(Verb::Watch);
        let faults = self.server.faults();
        let cut = |mid_line| {
            let fault = Fault::CutWatch { min_events: 1, max_events: 4, after_ms: None, mid_line };
            faults.set_plan(FaultPlan::seeded(4).rule(Rule::new(watches.clone(), fault)));
        };
        match wish {
            // The plan is for watches that begin; those that are there are cut now.
            "cut-between" => {
                cut(false);
                self.one_watch(|| faults.cut_watches(&watches)).await;
            }
            "cut-mid-line" => {
                cut(true);
                self.one_watch(|| faults.drop_watches(&watches)).await;
            }
            "heal" => faults.clear(),
            // Its next watch begins after the compaction, from before it.
            "partition" => {
                self.one_watch(|| faults.live_watches(&watches)).await;
                faults.partition(TESTED);
                faults.cut_watches(&watches);
            }
            "compact-and-heal" => {
                self.server.compact();
                faults.heal(TESTED);
            }
            other => panic!("nobody knows how to {other:?}"),
        }
    }

    /// Does something to the informer's watch, as soon as it has one.
    async fn one_watch(&self, to: impl Fn() -> usize) {
        while to() == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typed_clients_of_client_go_use_every_verb_with_bodies_in_protobuf() {
    let Some(program) = program() else { return };
    let stage = Stage::new().await;
    stage.play(program, "crud", &[]).await;
    let log = stage.server.requests();
    assert_eq!(log.by(TESTED).answered_with(415), 0, "protobuf is understood");
    // Four kinds: a stale update and a delete of another uid each.
    assert_eq!(log.by(TESTED).writes().answered_with(409), 3 * 4);
    log.by(TESTED).verb(Verb::DeleteCollection).assert_exactly(3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_informer_as_it_is_by_default_misses_nothing_when_watches_are_cut_and_history_is_compacted()
 {
    let Some(program) = program() else { return };
    let stage = Stage::new().await;
    stage.play(program, "informer", &[]).await;
    let by_informer = stage.server.requests().by(TESTED);
    by_informer.clone().verb(Verb::List).assert_none();
    assert!(by_informer.clone().verb(Verb::Watch).count() > 10, "its watches were cut");
    assert_eq!(by_informer.answered_with(200), by_informer.count(), "nothing it sent was refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_informer_that_lists_first_misses_nothing_either() {
    let Some(program) = program() else { return };
    let stage = Stage::new().await;
    stage.play(program, "informer", &[("KUBE_FEATURE_WatchListClient", "false")]).await;
    // At the start, and after the compaction.
    stage.server.requests().by(TESTED).verb(Verb::List).assert_at_least(2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn electors_of_client_go_take_renew_and_release_a_lease_in_turn() {
    let Some(program) = program() else { return };
    let stage = Stage::new().await;
    stage.play(program, "election", &[]).await;
    stage.server.requests().writes_to("leases").assert_at_least(6);
}
