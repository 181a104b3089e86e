//! What the server's process says on stdout, in lines of JSON.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

/// A message of the server's process on stdout: one line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// Something that takes time; said again now and then while it lasts.
    Doing { what: String },
    /// It listens; `engine` is what answers, as in `kube-apiserver v1.36.3`.
    Ready { url: String, engine: String },
    /// It does not listen, and it has left nothing behind.
    Refused { why: String },
    /// The end: what could not be taken away, in sentences.
    Left { what: Vec<String> },
}

/// A demo that is gone does not hear it.
pub(super) fn say(answer: &Answer) {
    let mut stdout = io::stdout().lock();
    if let Ok(line) = serde_json::to_string(answer) {
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}

pub(super) fn doing(what: impl Into<String>) {
    say(&Answer::Doing { what: what.into() });
}
