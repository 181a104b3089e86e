//! The signals that ask a program to stop: the first for an orderly stop, the second for an exit.

use std::future::Future;
use std::io;

/// Completes at the first SIGTERM or SIGINT (Ctrl-C on other systems), for
/// [`Manager::run`](crate::Manager::run). The second one ends the process at once, with a line in
/// the log and exit status 1, as in controller-runtime. On Unix the handlers are installed when
/// this returns.
///
/// # Errors
///
/// If a handler cannot be installed.
///
/// # Cancel safety
///
/// A signal that came before the future was dropped is lost with it. The second signal counts from
/// the completion on.
#[doc(alias = "SetupSignalHandler")]
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut signals = Signals::new()?;
    Ok(async move {
        signals.next().await;
        exit_at_next(signals);
    })
}

/// Waits in a thread and a runtime of its own: that of the program may be blocked, or end first.
fn exit_at_next(mut signals: Signals) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let waiting = runtime.and_then(|runtime| {
        let wait = move || {
            runtime.block_on(signals.next());
            tracing::error!("a second signal: the process ends without waiting for its work");
            std::process::exit(1);
        };
        std::thread::Builder::new().name("second-signal".to_owned()).spawn(wait)
    });
    if let Err(error) = waiting {
        tracing::warn!(%error, "a second signal will not end the process");
    }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // An error means that no handler could be installed, so no signal can come.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
