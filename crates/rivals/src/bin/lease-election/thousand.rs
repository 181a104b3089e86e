//! A thousand electors in one process, each the leader of a Lease of its own on the embedded
//! server, which is a process of its own: whether they renew on time.
#![expect(clippy::cast_precision_loss, reason = "far below 2^53")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use embedded_apiserver::EmbeddedApiServer;
use lease_election::{
    BootClock, Clock as _, Config, KubeLeaseStore, LeaderElector, LeaseEvents, LeaseStore, Moment,
    Record, StoreError, StoredLease, Version,
};
use rivals::measured;
use tokio::runtime::Builder;

use crate::{ELECTORS, NAMESPACE, allocated, allow_many_sockets, pause, tell};

/// From the start of one to the start of the next.
const BETWEEN: Duration = Duration::from_millis(4);
/// For how long they are looked at.
const SPAN: Duration = Duration::from_secs(30);

/// Until standard input ends.
pub(crate) fn serve() -> Result<()> {
    allow_many_sockets();
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = EmbeddedApiServer::new();
        let listener = server.listen("127.0.0.1:0").await?;
        tell(&listener.url());
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        ended.await??;
        listener.shutdown().await;
        Ok(())
    })
}

/// How much later than they were due renewals were sent, in nanoseconds.
type Lateness = Arc<Mutex<Vec<u64>>>;

/// A store that notes when renewals are sent.
struct Timed {
    store: KubeLeaseStore,
    interval: Duration,
    /// When the last write was sent that succeeded; none after one that did not.
    last: Mutex<Option<Moment>>,
    lateness: Lateness,
}

#[async_trait]
impl LeaseStore for Timed {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.store.get().await
    }

    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.store.create(record).await
    }

    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        let sent = BootClock.now();
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(last) = last {
            let late = sent.since(last.after(self.interval)).as_nanos();
            let mut lateness = self.lateness.lock().unwrap_or_else(PoisonError::into_inner);
            lateness.push(u64::try_from(late).unwrap_or(u64::MAX));
        }
        let answer = self.store.update(version, record).await;
        if answer.is_ok() {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(sent);
        }
        answer
    }

    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.store.watch(from).await
    }
}

pub(crate) fn run() -> Result<()> {
    allow_many_sockets();
    let mut server = Command::new(std::env::current_exe()?)
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the embedded server")?;
    let mut url = String::new();
    let stdout = server.stdout.take().context("no output")?;
    BufReader::new(stdout).read_line(&mut url)?;
    let found = electors(url.trim());
    drop(server.stdin.take());
    server.wait()?;
    found
}

fn electors(url: &str) -> Result<()> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let lateness = Lateness::default();
    let mut cluster = kube::Config::new(url.parse().context("no URL")?);
    cluster.default_retry = false;
    let mut stores = Vec::new();
    let entered = runtime.enter();
    let client = kube::Client::try_from(cluster)?;
    let before = allocated();
    for number in 0..ELECTORS {
        let config = Config::builder(NAMESPACE, format!("elector-{number}")).build()?;
        let store = Timed {
            store: KubeLeaseStore::new(client.clone(), &config),
            interval: config.retry_period(),
            last: Mutex::default(),
            lateness: Arc::clone(&lateness),
        };
        let elector = LeaderElector::new(store, config);
        let running = elector.clone();
        runtime.spawn(async move {
            running
                .run_forever(|leadership| async move {
                    let _ = leadership.ending().await;
                })
                .await;
        });
        stores.push(elector);
        // One after the other, so that their connections are as many as they need and not as many
        // as a burst does.
        pause(BETWEEN);
    }
    drop(entered);
    let deadline = BootClock.now().after(Duration::from_secs(60));
    let all = |ready: fn(&LeaderElector) -> bool| stores.iter().all(ready);
    while !all(|elector| elector.is_leader() && elector.status().watching) {
        ensure!(BootClock.now() < deadline, "not all of them lead");
        pause(Duration::from_millis(10));
    }
    // All have found their pace, and the burst of the start is given back.
    pause(Duration::from_secs(10));
    let sum = || stores.iter().map(|elector| elector.stats().renewals).sum::<u64>();
    std::mem::take(&mut *lateness.lock().unwrap_or_else(PoisonError::into_inner));
    let renewed = sum();
    pause(SPAN);
    let renewed = sum() - renewed;
    let mut late = std::mem::take(&mut *lateness.lock().unwrap_or_else(PoisonError::into_inner));
    let noted = late.capacity() * size_of::<u64>();
    let held = allocated().saturating_sub(before).saturating_sub(noted);
    let terms: u64 = stores.iter().map(|elector| elector.stats().terms).sum();
    ensure!(terms == ELECTORS as u64, "{terms} terms of {ELECTORS} electors");
    late.sort_unstable();
    let at = |part: usize| late.get((late.len() * part / 1000).min(late.len() - 1)).copied();
    let ms = |part: usize| at(part).map_or(f64::NAN, |nanos| nanos as f64 / 1e6);
    ensure!(late.len() > ELECTORS * 10, "only {} renewals", late.len());
    let each = held as f64 / ELECTORS as f64 / 1e3;
    eprintln!(
        "{ELECTORS} electors: {renewed} renewals in {SPAN:?}, late by {:.1} ms at p50, {:.1} at p99, {:.1} at most; {each:.1} kB each with its connections",
        ms(500),
        ms(990),
        ms(1000),
    );
    measured("lateness", ms(990));
    runtime.shutdown_background();
    Ok(())
}
