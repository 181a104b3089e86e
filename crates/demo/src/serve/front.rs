//! The front of every engine: its address, its listener, the proxy before an engine that is not
//! embedded, and the files by which the users find it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use embedded_apiserver::{FaultProxy, FaultProxyBuilder, ListenError, Listener};

use super::answer::{Answer, say};
use super::faults;
use crate::cli::ServeOptions;
use crate::users::{User, VISITOR, authorization, kubeconfig};

/// Requests kept in the log; one takes some hundred bytes.
pub(super) const LOG: usize = 1 << 20;

/// A proxy with the same faults and the same log; users are still to be named.
pub(super) fn proxy(options: &ServeOptions) -> FaultProxyBuilder {
    FaultProxy::builder()
        .faults(faults::plan(options))
        .introspection(true)
        .request_log_capacity(LOG)
}

pub(super) fn address(options: &ServeOptions) -> String {
    format!("127.0.0.1:{}", options.port)
}

pub(super) fn listening(
    options: &ServeOptions,
    listener: Result<Listener, ListenError>,
) -> anyhow::Result<Listener> {
    listener.with_context(|| format!("--port {}", options.port))
}

/// Writes a kubeconfig for each user, the visitor's header, and says where to find the server.
pub(super) fn present(
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

pub(super) async fn close(listener: Listener) {
    let _ = tokio::time::timeout(Duration::from_secs(1), listener.shutdown()).await;
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
