//! Waiting for what a server does in its own time: its controllers, its caches, its discovery.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::conformance::{Outcome, Target};

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

impl Target {
    /// Reads until `holds` is true of the status code and the body, and returns that body; `what`
    /// names it where it does not come about.
    pub(super) async fn until(
        &self,
        path: &str,
        what: &str,
        holds: impl Fn(u16, &Value) -> bool,
    ) -> Result<Value, String> {
        eventually(async || {
            let answer = self.get(path).await?;
            if holds(answer.code, &answer.json) {
                return Ok(Ok(answer.json));
            }
            Ok(Err(format!("GET {path} is not {what}: {:.400}", answer.text)))
        })
        .await
    }

    pub(super) async fn until_gone(&self, path: &str) -> Outcome {
        self.until(path, "gone", |code, _| code == 404).await.map(drop)
    }
}
