//! Reads of a target until an object is what a case waits for.

use serde_json::Value;

use crate::conformance::answer::Outcome;
use crate::conformance::target::Target;
use crate::conformance::waiting::eventually;

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
