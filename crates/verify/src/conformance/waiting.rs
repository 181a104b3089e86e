//! Waiting for what a server does in its own time: its controllers, its caches, its discovery.

use std::cell::RefCell;
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// How long one answer may take, so that it is this which fails, and not who waits for several.
pub(super) const ANSWER: Duration = Duration::from_secs(30);

/// What hangs must fail by its name; what is slow on a machine with other work must not.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(50);

/// Asks until the answer is what the case waits for. The inner error says what it is instead, the
/// outer one ends the case.
pub(super) async fn eventually<R>(
    ask: impl AsyncFn() -> Result<Result<R, String>, String>,
) -> Result<R, String> {
    let why = RefCell::new(String::new());
    let answered = async {
        loop {
            match ask().await? {
                Ok(answer) => return Ok(answer),
                Err(instead) => why.replace(instead),
            };
            sleep(PAUSE).await;
        }
    };
    timeout(PATIENCE, answered)
        .await
        .unwrap_or_else(|_| Err(format!("not within {} s: {}", PATIENCE.as_secs(), why.take())))
}
