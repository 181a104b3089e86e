//! `demo serve`, the hidden command: the API server in a process of its own, with tokens, volume binder and fault plan.
//!
//! It says on stdout, in one line of JSON, where it listens or why it cannot, and ends when its stdin does. Then it also removes the
//! run's folder: if the demo was killed without a word, nobody else would.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule, Verb};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use uuid::Uuid;

use crate::cli::{self, ServeOptions};
use crate::figures::ms;

/// Who creates and deletes claims.
pub(crate) const WRITER: &str = "writer";
/// Who only reads, and judges.
pub(crate) const JUDGE: &str = "judge";
/// Who looks around, with kubectl or otherwise.
pub(crate) const VISITOR: &str = "visitor";

/// A write that is answered late is applied within this time of its arrival.
pub(crate) const LATE: Duration = Duration::from_millis(1500);

/// Requests kept in the log; one takes some hundred bytes.
const LOG: usize = 1 << 20;

/// What is said on stdout.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Ready { url: String },
    Refused { why: String },
}

/// Where a user's kubeconfig is.
pub(crate) fn kubeconfig(dir: &Path, user: &str) -> PathBuf {
    dir.join(format!("kubeconfig-{user}.yaml"))
}

/// Runs until stdin ends.
pub(crate) fn main(options: ServeOptions) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return cli::refuse(&format!("cannot start a runtime: {error}")),
    };
    let ended = runtime.block_on(serve(&options));
    runtime.block_on(remove(&options.dir));
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let why = format!("{error:#}");
            let _ = say(&Answer::Refused { why: why.clone() });
            cli::refuse(&why)
        }
    }
}

async fn serve(options: &ServeOptions) -> anyhow::Result<()> {
    let mut server = EmbeddedApiServer::builder()
        .seed(options.seed)
        .faults(faults(options))
        .volume_binder(true)
        .introspection(true)
        .request_log_capacity(LOG);
    let people = [WRITER, JUDGE, VISITOR].map(str::to_owned);
    let users: Vec<String> = people.into_iter().chain(options.replicas.iter().cloned()).collect();
    for user in &users {
        // Drawn from the system, not from the seed: a token is a secret.
        server = server.token(user, Uuid::new_v4().simple().to_string());
    }
    let server = server.build();
    let address = format!("127.0.0.1:{}", options.port);
    let listener = server.listen(&address).await.with_context(|| format!("--port {}", options.port))?;
    let url = listener.url();
    for user in &users {
        let path = kubeconfig(&options.dir, user);
        write_secret(&path, &server.kubeconfig(&url, user))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    say(&Answer::Ready { url })?;

    // Nothing is ever sent: the end of stdin is the end of the demo.
    let _ = tokio::io::stdin().read(&mut [0]).await;
    let _ = tokio::time::timeout(Duration::from_secs(1), listener.shutdown()).await;
    Ok(())
}

/// What goes wrong for the replicas: every kind of error a client must live with, none of which lasts longer than a client's own time-out.
fn faults(options: &ServeOptions) -> FaultPlan {
    let percent = u32::from(options.faults);
    let replicas = || options.replicas.iter().fold(Match::any(), |rule, user| rule.user(user.clone()));
    let quick = [
        Fault::Conflict,
        Fault::InternalError,
        Fault::Unavailable,
        Fault::DropBefore,
        Fault::DropAfter,
        Fault::Latency { min_ms: 5, max_ms: 50 },
    ];
    // No answer at all, or a late one: for writes, where nobody can tell whether they were applied. A read, or an election, that waits
    // for a time-out would only measure it.
    let slow = quick.clone().into_iter().chain([
        Fault::TooManyRequests { retry_after_s: 1 },
        Fault::GatewayTimeout,
        Fault::Latency { min_ms: 50, max_ms: 1000 },
        Fault::NeverAnswer,
        Fault::ApplyNeverAnswer,
        Fault::ApplyLate { after_ms: ms(LATE) },
    ]);
    let writes = replicas().writes().except_resource("leases");
    let reads = [Verb::Get, Verb::List, Verb::Watch]
        .into_iter()
        .fold(replicas(), Match::verb)
        .except_resource("leases");
    // A replica has few watches, and they live long: most are cut, early or late, between events or within one.
    let cut = |mid_line| Fault::CutWatch { min_events: 5, max_events: 300, after_ms: Some(8000), mid_line };
    FaultPlan::seeded(options.seed)
        .rule(
            Rule::one_of(replicas().verb(Verb::Watch), [cut(false), cut(true)])
                .percent(percent.saturating_mul(10)),
        )
        .rule(Rule::one_of(writes, slow).percent(percent))
        .rule(Rule::one_of(reads, quick.clone()).percent(percent))
        .rule(Rule::one_of(replicas().resource("leases"), quick).percent(percent))
}

fn say(answer: &Answer) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, answer)?;
    writeln!(stdout)?;
    stdout.flush()
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
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
