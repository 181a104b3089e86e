//! Fencing a table: a column keeps the greatest token that has written a row, and an update of an older term finds no row to change.
//!
//! ```sql
//! ALTER TABLE job ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
//!
//! UPDATE job SET state = $state, fence = $fence
//!  WHERE id = $id AND fence <= $fence;     -- 0 rows: a later leader has been here, stop
//! ```
//!
//! `$fence` is [`FenceToken::number`](lease_election::FenceToken::number). A new leader's first write to a row is what shuts the old one out of it: before it acts on
//! what it reads, it raises the fence of the rows it is about to rely on (`UPDATE .. SET fence = $fence WHERE .. AND fence <= $fence`, then `SELECT`). The
//! table here is a model of that one statement (an SQL engine is a minute of C to build, and would show no more of it); the election is real, on tokio's
//! paused clock.
//!
//! **After etcd was restored from a backup** resource versions, and with them tokens, go on from where the backup was. The table kept greater ones, and so it
//! refuses every leader, until the server has made as many writes again. Restore with a revision that is beyond all that were handed out
//! (`etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`), and tokens go on rising. Where that was not done: stop all replicas, wait until
//! none of their writes can be on its way any more, `UPDATE job SET fence = 0`, and start them again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lease_election::{Config, Fault, LeaderElector, MemoryLeaseStore, TokioClock};
use tokio::sync::oneshot;

/// A table `job(id, state, fence)`.
#[derive(Clone, Default)]
struct Jobs(Arc<Mutex<HashMap<u32, (String, u64)>>>);

impl Jobs {
    /// `INSERT INTO job (id, state, fence) VALUES (..)`.
    fn insert(&self, id: u32, state: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, (state.to_owned(), 0));
    }

    /// `UPDATE job SET state = .., fence = .. WHERE id = .. AND fence <= ..`; how many rows were changed.
    fn update(&self, id: u32, state: &str, fence: u64) -> usize {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match rows.get_mut(&id) {
            Some(row) if row.1 <= fence => {
                *row = (state.to_owned(), fence);
                1
            }
            _ => 0,
        }
    }

    /// `SELECT state FROM job WHERE id = ..`.
    fn state(&self, id: u32) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).map(|row| row.0.clone())
    }
}

/// One row, the elector's lease, and whether the first candidate can reach it.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let jobs = Jobs::default();
    jobs.insert(1, "new");

    let cut = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&cut);
    let store = MemoryLeaseStore::new().with_faults(move |client, _| {
        if client == "first" && is_cut.load(Ordering::SeqCst) { Fault::Lost } else { Fault::None }
    });
    let elector = |name: &str, seed| -> Result<LeaderElector, Box<dyn std::error::Error>> {
        let config = Config::builder("default", "jobs").fast().identity(name).build()?;
        Ok(LeaderElector::with_clock(store.client(name), config, TokioClock::new(), seed))
    };
    let (first, second) = (elector("first", 1)?, elector("second", 2)?);

    // The first leader writes, and prepares another write, which stays on its way: in a driver's buffer, in a network, in a process that was stopped.
    let (send, late_write) = oneshot::channel();
    let table = jobs.clone();
    let leading = tokio::spawn(async move {
        first
            .run(|leadership| async move {
                let fence = leadership.fence().number().unwrap_or(0);
                let wrote = table.update(1, "begun by the first", fence);
                let late = move || table.update(1, "finished by the first", fence);
                let _ = send.send((wrote, late));
                leadership.lost().await
            })
            .await
    });
    let (wrote, late_write) = late_write.await?;
    assert_eq!(wrote, 1, "a leader's write is taken");

    // It is cut off from the API server, so its term ends, and another's begins.
    cut.store(true, Ordering::SeqCst);
    let table = jobs.clone();
    second
        .run(|leadership| async move {
            let fence = leadership.fence().number().unwrap_or(0);
            assert_eq!(
                table.update(1, "taken over by the second", fence),
                1,
                "a later leader's write is taken"
            );
            assert_eq!(table.update(1, "done", fence), 1, "and its next ones");
        })
        .await;
    say(&format!("the first ended: {:?}", leading.await?));

    // Only now the old leader's write arrives.
    let rows = late_write();
    say(&format!("its late write changed {rows} rows; the job is {:?}", jobs.state(1)));
    assert_eq!(rows, 0, "a stale leader's write is refused");
    assert_eq!(jobs.state(1).as_deref(), Some("done"));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn say(what: &str) {
    println!("{what}");
}
