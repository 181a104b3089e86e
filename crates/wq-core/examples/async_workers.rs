//! Async workers on a queue. The queue needs no runtime; this example happens to use tokio.

use std::io::{self, Write};
use std::time::Duration;

use wq_core::WorkQueue;

#[tokio::main]
async fn main() -> io::Result<()> {
    let queue = WorkQueue::<String>::builder().name("claims").build().map_err(io::Error::other)?;
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut done = 0;
                while let Some(claim) = queue.get().await {
                    tokio::time::sleep(Duration::from_millis(1)).await; // The work.
                    claim.done();
                    done += 1;
                }
                (worker, done)
            })
        })
        .collect();
    queue.add_all((0..60).map(|claim| format!("claim-{claim}")));
    queue.shutdown();
    queue.drained().await;
    for worker in workers {
        let (worker, done) = worker.await.map_err(io::Error::other)?;
        writeln!(io::stdout(), "worker {worker} worked on {done} claims")?;
    }
    writeln!(io::stdout(), "{queue:?}")
}
