//! `demo serve`, the hidden command: the API server in a process of its own, with tokens and fault
//! plan. Which one is behind says the engine: the embedded one (here), a real control plane
//! (`real`), or a cluster of the user's (`cluster`).
//!
//! It says on stdout, in lines of JSON, what it does, where it listens or why it cannot, and ends
//! when its stdin does. Then it also takes away what it started and made, and the run's folder: if
//! the demo was killed without a word, nobody else would.

mod client;
mod cluster;
mod faults;
mod real;
mod sweep;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use embedded_apiserver::{EmbeddedApiServer, FaultProxy, FaultProxyBuilder, ListenError, Listener};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use uuid::Uuid;

use self::client::{client, version};
pub(crate) use self::faults::LATE;

use crate::cli::{self, ServeOptions};
use crate::venue::Engine;

/// Who creates and deletes claims.
pub(crate) const WRITER: &str = "writer";
/// Who only reads, and judges.
pub(crate) const JUDGE: &str = "judge";
/// Who looks around, with kubectl or otherwise.
pub(crate) const VISITOR: &str = "visitor";

/// Requests kept in the log; one takes some hundred bytes.
const LOG: usize = 1 << 20;

/// What is said on stdout, one line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// Something that takes time; said again now and then while it lasts.
    Doing { what: String },
    /// It listens; `engine` is what answers, as in `kube-apiserver v1.36.3`.
    Ready { url: String, engine: String },
    /// It does not, and nothing was left behind.
    Refused { why: String },
    /// The end: what could not be taken away, in sentences.
    Left { what: Vec<String> },
}

/// Where a user's kubeconfig is.
pub(crate) fn kubeconfig(dir: &Path, user: &str) -> PathBuf {
    dir.join(format!("kubeconfig-{user}.yaml"))
}

/// Where the visitor's header for `curl --header @FILE` is: a token does not belong on a command
/// line.
pub(crate) fn authorization(dir: &Path) -> PathBuf {
    dir.join("authorization")
}

/// A user, and the token by which the front knows it.
struct User {
    name: String,
    token: String,
    is_replica: bool,
}

/// Turns true when the demo is gone, or wants this to be.
type Gone = watch::Receiver<bool>;

/// Runs until stdin ends.
pub(crate) fn main(options: ServeOptions) -> ExitCode {
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return cli::refuse(&format!("cannot start a runtime: {error}")),
        };
    let (ended, alone) = runtime.block_on(async {
        let mut gone = stdin_ended();
        let ended = serve(&options, &mut gone).await;
        (ended, *gone.borrow())
    });
    // A demo that is there removes it itself, and first shows the log in it.
    if alone {
        runtime.block_on(remove(&options.dir));
    }
    let status = match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let why = format!("{error:#}");
            say(&Answer::Refused { why: why.clone() });
            cli::refuse(&why)
        }
    };
    runtime.shutdown_background();
    status
}

async fn serve(options: &ServeOptions, gone: &mut Gone) -> anyhow::Result<()> {
    let users = users(options);
    match options.engine() {
        Engine::Embedded => embedded(options, &users, gone).await,
        Engine::Real => real::serve(options, &users, gone).await,
        Engine::Cluster(cluster) => cluster::serve(options, &cluster, &users, gone).await,
    }
}

/// Nothing is ever sent: the end of stdin is the end of the demo.
fn stdin_ended() -> Gone {
    let (sender, gone) = watch::channel(false);
    tokio::spawn(async move {
        let _ = tokio::io::stdin().read(&mut [0]).await;
        sender.send_replace(true);
    });
    gone
}

/// Waits for the end of stdin. Cancel safe.
async fn end(gone: &mut Gone) {
    let _ = gone.wait_for(|gone| *gone).await;
}

fn users(options: &ServeOptions) -> Vec<User> {
    let people = [WRITER, JUDGE, VISITOR].map(|name| (name.to_owned(), false));
    let replicas = options.replicas.iter().map(|name| (name.clone(), true));
    people
        .into_iter()
        .chain(replicas)
        // Drawn from the system, not from the seed: a token is a secret.
        .map(|(name, is_replica)| User { name, token: token(), is_replica })
        .collect()
}

fn token() -> String {
    Uuid::new_v4().simple().to_string()
}

async fn embedded(options: &ServeOptions, users: &[User], gone: &mut Gone) -> anyhow::Result<()> {
    let mut server = EmbeddedApiServer::builder()
        .seed(options.seed)
        .faults(faults::plan(options))
        .protect_volumes(true)
        .introspection(true)
        .request_log_capacity(LOG);
    for user in users {
        server = server.token(&user.name, &user.token);
    }
    let server = server.build();
    let binder = embedded_apiserver::User::new(volume_binder::USER).group("system:masters");
    tokio::spawn(volume_binder::run(server.client_as(binder)));
    let listener = listening(options, server.listen(&address(options)).await)?;
    present(options, users, &listener, "embedded-apiserver", |url, user| {
        server.kubeconfig(url, user)
    })?;
    end(gone).await;
    close(listener).await;
    Ok(())
}

/// A proxy with the same faults and the same log; users are still to be named.
fn proxy(options: &ServeOptions) -> FaultProxyBuilder {
    FaultProxy::builder()
        .faults(faults::plan(options))
        .introspection(true)
        .request_log_capacity(LOG)
}

fn address(options: &ServeOptions) -> String {
    format!("127.0.0.1:{}", options.port)
}

fn listening(
    options: &ServeOptions,
    listener: Result<Listener, ListenError>,
) -> anyhow::Result<Listener> {
    listener.with_context(|| format!("--port {}", options.port))
}

/// Writes a kubeconfig for each user, the visitor's header, and says where to find the server.
fn present(
    options: &ServeOptions,
    users: &[User],
    listener: &Listener,
    engine: &str,
    text: impl Fn(&str, &str) -> String,
) -> anyhow::Result<()> {
    let url = listener.url();
    let secret = |path: PathBuf, text: &str| {
        write_secret(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    for user in users {
        secret(kubeconfig(&options.dir, &user.name), &text(&url, &user.name))?;
        if user.name == VISITOR {
            secret(
                authorization(&options.dir),
                &format!("Authorization: Bearer {}\n", user.token),
            )?;
        }
    }
    say(&Answer::Ready { url, engine: engine.to_owned() });
    Ok(())
}

async fn close(listener: Listener) {
    let _ = tokio::time::timeout(Duration::from_secs(1), listener.shutdown()).await;
}

/// A demo that is gone does not hear it.
fn say(answer: &Answer) {
    let mut stdout = io::stdout().lock();
    if let Ok(line) = serde_json::to_string(answer) {
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}

fn doing(what: impl Into<String>) {
    say(&Answer::Doing { what: what.into() });
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?
        .write_all(text.as_bytes())
}

/// Removes the run's folder; processes that are just being killed may still be writing into it.
async fn remove(dir: &Path) {
    for _ in 0..20 {
        match fs::remove_dir_all(dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tokio::time::sleep(Duration::from_millis(50)).await
            }
            _ => return,
        }
    }
}
