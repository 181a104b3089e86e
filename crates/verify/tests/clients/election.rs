//! client-go's elector and ours on one Lease of the embedded server, over its socket: who leads
//! excludes the other, however the term before ended.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Listener};
use kube::config::{KubeConfigOptions, Kubeconfig};
use lease_election::{BootClock, Clock, Config, KubeLeaseStore, LeaderElector, Moment, StopHandle};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than any change of leaders takes on a machine that is busy with other things.
const LIMIT: Duration = Duration::from_secs(60);

/// The program, built once; nothing where there is no Go, which a CI machine must have.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        verify::go::build("./election", &Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-election"))
    };
    PROGRAM.get_or_init(build).as_deref()
}

/// A term: whose, from when, and until when if it has ended. All times are of one clock.
#[derive(Debug, Clone)]
struct Term {
    who: &'static str,
    began: Moment,
    ended: Option<Moment>,
}

/// What the candidates said of themselves.
#[derive(Debug, Clone, Default)]
struct Terms(Arc<(Mutex<Vec<Term>>, Notify)>);

impl Terms {
    fn began(&self, who: &'static str, at: Moment) {
        self.0.0.lock().push(Term { who, began: at, ended: None });
        self.0.1.notify_waiters();
    }

    fn ended(&self, who: &'static str, at: Moment) {
        if let Some(term) = self.0.0.lock().iter_mut().rfind(|term| term.who == who) {
            term.ended.get_or_insert(at);
        }
    }

    /// Waits for the term after so many, and says whose it is.
    async fn after(&self, count: usize) -> &'static str {
        let next = async {
            loop {
                let changed = self.0.1.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if let Some(term) = self.0.0.lock().get(count) {
                    return term.who;
                }
                changed.await;
            }
        };
        timeout(LIMIT, next).await.unwrap_or_else(|_| panic!("nobody leads: {:?}", self.0.0.lock()))
    }

    fn assert_exclusive(&self) {
        let mut terms = self.0.0.lock().clone();
        terms.sort_by_key(|term| term.began);
        for pair in terms.windows(2) {
            let ended = pair[0].ended.unwrap_or_else(|| panic!("{:?} led on", pair[0]));
            assert!(ended <= pair[1].began, "both led: {pair:?}");
        }
    }
}

/// A candidate of client-go: a process.
struct Go {
    child: Child,
    stdin: Option<ChildStdin>,
    said: JoinHandle<()>,
}

impl Go {
    fn start(program: &Path, kubeconfig: &Path, who: &'static str, terms: &Terms) -> Self {
        let mut child = Command::new(program)
            .arg("-kubeconfig")
            .arg(kubeconfig)
            .args(["-name", "lease", "-identity", who])
            .args(["-lease-duration", "5s", "-renew-deadline", "3s", "-retry-period", "1s"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let (stdin, terms) = (child.stdin.take(), terms.clone());
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let said = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let Some((nanos, text)) = line.split_once(' ') else { continue };
                let Ok(nanos) = nanos.parse() else { continue };
                let at = Moment::from_origin(Duration::from_nanos(nanos));
                match text {
                    "leading" => terms.began(who, at),
                    "stopped" => terms.ended(who, at),
                    _ => {}
                }
            }
        });
        Self { child, stdin, said }
    }

    /// It stops, gives the Lease back, and ends.
    async fn stop(mut self) {
        drop(self.stdin.take());
        timeout(LIMIT, self.child.wait()).await.expect("it ends").expect("a status");
        timeout(LIMIT, self.said).await.expect("it has said all").expect("no panic");
    }

    /// It ends at once; its term with it.
    async fn kill(mut self, who: &'static str, terms: &Terms) {
        self.child.kill().await.expect("killed");
        terms.ended(who, BootClock.now());
    }
}

/// A candidate of ours.
struct Ours {
    stop: StopHandle,
    run: JoinHandle<()>,
}

impl Ours {
    async fn start(kubeconfig: &str, who: &'static str, terms: &Terms) -> Self {
        let parsed = Kubeconfig::from_yaml(kubeconfig).expect("kube reads it");
        let cluster =
            kube::Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await;
        let config =
            Config::builder("default", "lease").identity(who).fast().build().expect("safe");
        let store = KubeLeaseStore::connect(cluster.expect("usable"), &config).expect("a store");
        let elector = LeaderElector::new(store, config);
        let (stop, terms) = (elector.stop_handle(), terms.clone());
        let run = tokio::spawn(async move {
            let lead = elector.run(move |leadership| async move {
                terms.began(who, BootClock.now());
                leadership.ending().await;
                terms.ended(who, BootClock.now());
            });
            lead.await;
        });
        Self { stop, run }
    }

    async fn stop(self) {
        self.stop.stop();
        timeout(LIMIT, self.run).await.expect("it ends").expect("no panic");
    }

    /// Nothing is given back.
    async fn crash(self, who: &'static str, terms: &Terms) {
        self.run.abort();
        let _ = self.run.await;
        terms.ended(who, BootClock.now());
    }
}

struct Stage {
    server: EmbeddedApiServer,
    listener: Listener,
    folder: tempfile::TempDir,
}

impl Stage {
    fn kubeconfig(&self, user: &str) -> String {
        self.server.kubeconfig(&self.listener.url(), user)
    }

    fn file(&self, user: &str) -> PathBuf {
        let file = self.folder.path().join(user);
        std::fs::write(&file, self.kubeconfig(user)).expect("written");
        file
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn electors_of_client_go_and_ours_race_for_a_lease_and_never_lead_together() {
    let Some(program) = program() else { return };
    let server =
        EmbeddedApiServer::builder().token("go", "token-1").token("ours", "token-2").build();
    let listener = server.listen("127.0.0.1:0").await.expect("a free port");
    let stage = Stage { server, listener, folder: tempfile::tempdir().expect("a folder") };
    let (file, ours) = (stage.file("go"), stage.kubeconfig("ours"));
    let terms = Terms::default();

    // Both at once: one leads. It stops: the other one leads.
    let go = Go::start(program, &file, "go-1", &terms);
    let mine = Ours::start(&ours, "ours-1", &terms).await;
    let first = terms.after(0).await;
    let (next, go_leads) = if first == "go-1" { ("ours-1", false) } else { ("go-1", true) };
    let (go, mine) = if go_leads {
        mine.stop().await;
        assert_eq!(terms.after(1).await, next);
        (go, Ours::start(&ours, "ours-2", &terms).await)
    } else {
        go.stop().await;
        assert_eq!(terms.after(1).await, next);
        let go = Go::start(program, &file, "go-2", &terms);
        // It takes over when ours stops.
        mine.stop().await;
        assert_eq!(terms.after(2).await, "go-2");
        (go, Ours::start(&ours, "ours-2", &terms).await)
    };

    // client-go's leader dies: ours takes over when the lease has expired.
    let so_far = terms.0.0.lock().len();
    let leader = terms.0.0.lock()[so_far - 1].who;
    go.kill(leader, &terms).await;
    assert_eq!(terms.after(so_far).await, "ours-2");

    // Ours dies: client-go takes over.
    let go = Go::start(program, &file, "go-3", &terms);
    mine.crash("ours-2", &terms).await;
    assert_eq!(terms.after(so_far + 1).await, "go-3");
    go.stop().await;
    terms.assert_exclusive();
    assert_eq!(
        stage.server.requests().by("ours").answered_with(422),
        0,
        "nothing it wrote was refused"
    );
}
