//! Fencing a table: a column keeps the greatest token that has written a row, and an update of an
//! older term finds no row to change.
//!
//! ```sql
//! ALTER TABLE job ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
//!
//! UPDATE job SET state = $state, fence = $fence
//!  WHERE id = $id AND fence <= $fence;     -- 0 rows: there is no such row, or a later leader has been here: stop
//! ```
//!
//! `$fence` is [`FenceToken::number`](lease_election::FenceToken::number). A new leader's first
//! write to a row is what shuts the old one out of it: before it acts on what it reads, it raises
//! the fence of the rows it is about to rely on (`UPDATE .. SET fence = $fence WHERE .. AND fence
//! <= $fence`, then `SELECT`). The same holds for rows that a stale leader could insert, or delete:
//! let each transaction raise a row that stands for the whole table first, and go on only if that
//! changed it. (MySQL counts rows that were changed and not ones that were found, unless asked with
//! `CLIENT_FOUND_ROWS`.) The table here is SQLite's, in memory; the election is real, on tokio's
//! paused clock.
//!
//! **After etcd was restored from a backup** resource versions, and with them tokens, go on from
//! where the backup was. The table kept greater ones, and so it refuses every leader, until the
//! server has made as many writes again. Restore with a revision that is beyond all that were
//! handed out (`etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`), and tokens
//! go on rising. Where that was not done: stop all replicas, wait until none of their writes can be
//! on its way any more, `UPDATE job SET fence = 0`, and start them again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lease_election::{
    Config, Fault, FenceToken, LeaderElector, MemoryLeaseStore, Outcome, TokioClock,
};
use rusqlite::{Connection, params};
use tokio::sync::oneshot;

/// The table, as it was before there were several replicas.
const TABLE: &str = "
    CREATE TABLE job (id BIGINT PRIMARY KEY, state TEXT NOT NULL);
    INSERT INTO job (id, state) VALUES (1, 'new');
";

/// Once, in a migration.
const FENCED: &str = "ALTER TABLE job ADD COLUMN fence BIGINT NOT NULL DEFAULT 0";

/// Every write of a leader.
const UPDATE: &str = "UPDATE job SET state = ?2, fence = ?3 WHERE id = ?1 AND fence <= ?3";

type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Jobs(Arc<Mutex<Connection>>);

impl Jobs {
    fn new() -> rusqlite::Result<Self> {
        let database = Connection::open_in_memory()?;
        database.execute_batch(TABLE)?;
        database.execute(FENCED, [])?;
        Ok(Self(Arc::new(Mutex::new(database))))
    }

    /// How many rows were changed: with none, a later leader has been here. Whoever has a token
    /// that is no `BIGINT` may not write; those of etcd are.
    fn update(&self, id: i64, state: &str, fence: &FenceToken) -> Result<usize, Error> {
        let number = fence.number().and_then(|number| i64::try_from(number).ok());
        let number = number.ok_or_else(|| format!("{fence} is no BIGINT"))?;
        let database = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(database.execute(UPDATE, params![id, state, number])?)
    }

    fn state(&self, id: i64) -> rusqlite::Result<String> {
        let database = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        database.query_row("SELECT state FROM job WHERE id = ?1", [id], |row| row.get(0))
    }
}

/// One row, the elector's lease, and whether the first candidate can reach it.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Error> {
    let jobs = Jobs::new()?;

    let cut = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&cut);
    let store = MemoryLeaseStore::new().with_faults(move |client, _| {
        if client == "first" && is_cut.load(Ordering::SeqCst) { Fault::Lost } else { Fault::None }
    });
    let elector = |name: &str, seed| -> Result<LeaderElector, Error> {
        let config = Config::builder("default", "jobs").fast().identity(name).build()?;
        Ok(LeaderElector::with_clock(store.client(name), config, TokioClock::new(), seed))
    };
    let (first, second) = (elector("first", 1)?, elector("second", 2)?);

    // The first leader writes, and prepares another write, which stays on its way: in a driver's
    // buffer, in a network, in a process that was stopped.
    let (send, late_write) = oneshot::channel();
    let table = jobs.clone();
    let leading = tokio::spawn(async move {
        first
            .run(|leadership| async move {
                let fence = leadership.fence();
                let wrote = table.update(1, "begun by the first", &fence);
                let late = move || table.update(1, "finished by the first", &fence);
                let _ = send.send((wrote, late));
                leadership.lost().await
            })
            .await
    });
    let (wrote, late_write) = late_write.await?;
    assert_eq!(wrote?, 1, "a leader's write is taken");

    // It is cut off from the API server, so its term ends, and another's begins.
    cut.store(true, Ordering::SeqCst);
    let table = jobs.clone();
    let wrote = second
        .run(|leadership| async move {
            let fence = leadership.fence();
            Ok((
                table.update(1, "taken over by the second", &fence)?,
                table.update(1, "done", &fence)?,
            ))
        })
        .await;
    let Outcome::Finished(wrote): Outcome<Result<(usize, usize), Error>> = wrote else {
        return Err(format!("no term: {wrote:?}").into());
    };
    assert_eq!(wrote?, (1, 1), "a later leader's writes are taken");
    say(&format!("the first ended: {:?}", leading.await?));

    // Only now the old leader's write arrives.
    let rows = late_write()?;
    say(&format!("its late write changed {rows} rows; the job is {:?}", jobs.state(1)?));
    assert_eq!(rows, 0, "a stale leader's write is refused");
    assert_eq!(jobs.state(1)?, "done");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn say(what: &str) {
    println!("{what}");
}
