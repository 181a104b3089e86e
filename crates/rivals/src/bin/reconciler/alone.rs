//! Alone: from the answer of a write to the first line of the run that it causes, with server,
//! writer and controller on one thread and no sockets.

use anyhow::{Context as _, Result};
use http::Method;
use rivals::median;
use tokio::sync::mpsc::unbounded_channel;

use crate::roles::{Who, control};
use crate::seen::{Mode, Seen, monotonic};
use crate::server::{MAPS, fill, map, send, server};
use crate::tell;

const OBJECTS: usize = 1_000;
const WRITES: usize = 2_000;

/// Prints the median, in nanoseconds.
pub(crate) fn run(who: Who) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = server();
        fill(&server, 0..OBJECTS).await?;
        let (told, mut runs) = unbounded_channel();
        let seen = Seen::new(Mode::Each, 0, move |at| {
            // Nobody listens any more at the end.
            let _ = told.send(at);
        });
        let controller = tokio::spawn(control(who, server.client(), 0, seen));
        for _ in 0..OBJECTS {
            runs.recv().await.context("the controller has ended")?;
        }
        let mut took = Vec::new();
        for write in 0..WRITES {
            let number = write % OBJECTS;
            let body = map(number, 1 + write as u64);
            send(&server, Method::PUT, &format!("{MAPS}/map-{number}"), body).await?;
            let answered = monotonic();
            let ran = runs.recv().await.context("the controller has ended")?;
            took.push(ran.saturating_sub(answered) as f64);
        }
        controller.abort();
        tell(&median(&mut took).to_string());
        Ok(())
    })
}
