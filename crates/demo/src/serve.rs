//! `demo serve`, the hidden command: the API server in a process of its own, with tokens and fault
//! plan. Which one is behind says the engine: the embedded one (here), a real control plane
//! (`real`), or a cluster of the user's (`cluster`).
//!
//! It says on stdout, in lines of JSON, what it does, where it listens or why it cannot, and ends
//! when its stdin does. Then it also takes away what it started and made, and the run's folder: if
//! the demo was killed without a word, nobody else would.

mod answer;
mod client;
mod cluster;
mod faults;
mod front;
mod gone;
mod real;
mod sweep;

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;

pub(crate) use self::answer::Answer;
pub(crate) use self::faults::LATE;

use self::answer::say;
use self::front::{LOG, address, close, listening, present};
use self::gone::{Gone, end, stdin_ended};
use crate::cli::{self, ServeOptions};
use crate::users::{User, users};
use crate::venue::Engine;

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
