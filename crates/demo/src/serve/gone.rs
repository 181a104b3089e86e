//! The end of stdin: the demo is gone, or wants the server's process to end.

use tokio::io::AsyncReadExt;
use tokio::sync::watch;

/// Turns true when the demo is gone, or wants this to be.
pub(super) type Gone = watch::Receiver<bool>;

/// Nothing is ever sent: the end of stdin is the end of the demo.
pub(super) fn stdin_ended() -> Gone {
    let (sender, gone) = watch::channel(false);
    tokio::spawn(async move {
        let _ = tokio::io::stdin().read(&mut [0]).await;
        sender.send_replace(true);
    });
    gone
}

/// Waits for the end of stdin. Cancel safe.
pub(super) async fn end(gone: &mut Gone) {
    let _ = gone.wait_for(|gone| *gone).await;
}
