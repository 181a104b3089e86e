//! Seen: what the reconciler of a side counts, and the lines by which it tells and is asked.
//! `go/controller.go` has the same for controller-runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use k8s_openapi::api::core::v1::ConfigMap;
use rustix::time::{ClockId, clock_gettime};

use crate::tell;

/// What a reconciler does in a run, beside the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Nothing
    Noop,
    /// Tells when it ran
    Each,
    /// Reads the object
    Read,
    /// Reads the object, waits for 1 ms, and runs again at once if the object says so
    Work,
}

/// Counts runs, and the objects that show the wanted turn.
pub(crate) struct Seen {
    mode: Mode,
    wanted: AtomicU64,
    expected: AtomicU64,
    runs: AtomicU64,
    distinct: AtomicU64,
    first: AtomicU64,
    longest: AtomicU64,
    /// The last turn that was seen of each object.
    marks: Vec<AtomicU64>,
    /// Receives the time at which each run began, in [`Mode::Each`].
    each: Box<dyn Fn(u64) + Send + Sync>,
}

/// The machine's clock, the same for all processes, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    nanos(ClockId::Monotonic)
}

/// What this process has used of the processors, in nanoseconds: user and system, as getrusage.
fn used() -> u64 {
    nanos(ClockId::ProcessCPUTime)
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap_or(0)
}

impl Seen {
    /// Waits for the first turn of `map-0` to `map-(expected - 1)`.
    pub(crate) fn new(
        mode: Mode,
        expected: u64,
        each: impl Fn(u64) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let marks = (0..expected).map(|_| AtomicU64::new(u64::MAX)).collect();
        let zero = AtomicU64::default;
        Arc::new(Self {
            mode,
            wanted: zero(),
            expected: expected.into(),
            runs: zero(),
            distinct: zero(),
            first: zero(),
            longest: zero(),
            marks,
            each: Box::new(each),
        })
    }

    /// One run. Returns whether the object wants another at once.
    pub(crate) async fn run(&self, map: &ConfigMap) -> bool {
        let now = monotonic();
        self.runs.fetch_add(1, Ordering::Relaxed);
        // Another run may have been the first.
        let _ = self.first.compare_exchange(0, now, Ordering::SeqCst, Ordering::SeqCst);
        let read = |key: &str| map.data.as_ref()?.get(key);
        let number = |key: &str| read(key)?.parse::<u64>().ok();
        let turn = match self.mode {
            Mode::Noop => Some(self.wanted.load(Ordering::Relaxed)),
            Mode::Each => {
                (self.each)(now);
                Some(self.wanted.load(Ordering::Relaxed))
            }
            Mode::Read | Mode::Work => number("turn"),
        };
        let name = map.metadata.name.as_deref().unwrap_or_default();
        let place = name.strip_prefix("map-").and_then(|digits| digits.parse::<usize>().ok());
        if let (Some(mark), Some(turn)) = (place.and_then(|at| self.marks.get(at)), turn) {
            self.mark(now, mark, turn, || number("at"));
        }
        if self.mode != Mode::Work {
            return false;
        }
        work().await;
        read("again").is_some()
    }

    fn mark(&self, now: u64, mark: &AtomicU64, turn: u64, at: impl FnOnce() -> Option<u64>) {
        let order = Ordering::SeqCst;
        if turn != self.wanted.load(order) || mark.swap(turn, order) == turn {
            return;
        }
        if let Some(at) = at() {
            self.longest.fetch_max(now.saturating_sub(at), order);
        }
        if self.distinct.fetch_add(1, order) + 1 == self.expected.load(order) {
            tell(&format!("reached {now} {} {}", used(), self.first.load(order)));
        }
    }

    /// Answers the lines of the standard input until it ends.
    pub(crate) fn answer(&self) {
        let order = Ordering::SeqCst;
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let mut words = line.split(' ');
            if words.next() == Some("turn") {
                let mut number = || words.next()?.parse::<u64>().ok();
                let (turn, expected) = (number().unwrap_or(0), number().unwrap_or(0));
                self.expected.store(expected, order);
                for count in [&self.distinct, &self.first, &self.longest] {
                    count.store(0, order);
                }
                self.wanted.store(turn, order);
            }
            let counts = [&self.runs, &self.distinct, &self.longest].map(|count| count.load(order));
            let [runs, distinct, longest] = counts;
            tell(&format!("count {runs} {distinct} {longest} {}", used()));
        }
    }
}

async fn work() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
