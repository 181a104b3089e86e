//! Fence SQL: a column keeps the greatest token that wrote a row, so an older term's update finds
//! no row to change.
//!
//! ```sql
//! ALTER TABLE job ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
//!
//! UPDATE job SET state = $state, fence = $fence
//!  WHERE id = $id AND fence <= $fence;     -- 0 rows: there is no such row, or a later leader has been here: stop
//! ```
//!
//! `$fence` is [`FenceToken::number`](lease_election::FenceToken::number). A new leader's first
//! write to a row shuts the old leader out of it. So a leader raises the fence of the rows that it
//! relies on before it reads them (`UPDATE .. SET fence = $fence WHERE .. AND fence <= $fence`,
//! then `SELECT`). A stale leader could also insert or delete rows. Let each transaction first
//! raise a row that stands for the whole table, and go on only if that changed it. (MySQL counts
//! changed rows, and found ones only with `CLIENT_FOUND_ROWS`.)
//!
//! The table here is SQLite's, in memory; the election is real, on tokio's paused clock.
//!
//! **After a restore of etcd** tokens go on from the backup's resource versions. The table keeps
//! greater ones, so it refuses every leader until the server has made as many writes again. Restore
//! with a revision above all that were given out (`etcdutl snapshot restore --bump-revision
//! 1000000000 --mark-compacted`), and tokens go on rising. Otherwise stop all replicas, and wait
//! until none of their writes can land. Then run `UPDATE job SET fence = 0`, and start them again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lease_election::{
    Config, Fault, FenceToken, LeaderElector, MemoryLeaseStore, Outcome, TokioClock,
};
use rusqlite::{Connection, params};
use tokio::sync::oneshot;

/// The table before there were several replicas.
const TABLE: &str = "
    CREATE TABLE job (id BIGINT PRIMARY KEY, state TEXT NOT NULL);
    INSERT INTO job (id, state) VALUES (1, 'new');
";

/// Run once, in a migration.
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

    /// Returns the number of changed rows: zero means that a later leader has written the row. A
    /// token that is no `BIGINT` may not write; etcd's tokens are.
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

/// One row, the electors' lease, and a first candidate that loses its link to the lease.
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

    // The first leader writes, and prepares another write that stays in flight: in a driver's
    // buffer, in a network, in a stopped process.
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

    // The first leader is cut off from the API server: its term ends, and another's begins.
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

    // The old leader's write arrives only now.
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
