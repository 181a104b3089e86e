//! The signals that ask a program to stop.

use std::future::Future;
use std::io;

/// Completes at the first SIGTERM or SIGINT (Ctrl-C on other systems), for
/// [`Manager::run`](crate::Manager::run). On Unix the handlers are installed when this returns.
///
/// # Errors
///
/// If a handler cannot be installed.
///
/// # Cancel safety
///
/// A signal that came before the future was dropped is lost with it.
#[doc(alias = "SetupSignalHandler")]
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    {
        Ok(async {
            // An error means that no handler could be installed, so no signal can come.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
