//! Threads: many adders and workers of every kind at once, against counts that must be exact.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use wq_contract::wakes::Wakes;
use wq_core::{Added, TryGetError, WorkQueue};

const ITEMS: usize = 64;
const LONG: Duration = Duration::from_secs(30);
/// Miri takes a hundred times as long for each step, and does not look for rare schedules.
const FEWER: usize = if cfg!(miri) { 3000 } else { 1 };

/// The state of one item, tracked outside the queue.
#[derive(Default)]
struct Known {
    /// Incremented before each add.
    version: AtomicU64,
    /// The highest version that a worker has seen after a hand-out.
    seen: AtomicU64,
    is_held: AtomicBool,
}

struct Oracle {
    items: Vec<Known>,
    /// Adds answered with `Queued` or `Deferred`: each leads to one hand-out.
    promised: AtomicUsize,
    handed_out: AtomicUsize,
}

impl Oracle {
    fn new() -> Self {
        let items = (0..ITEMS).map(|_| Known::default()).collect();
        Self { items, promised: AtomicUsize::new(0), handed_out: AtomicUsize::new(0) }
    }

    /// Call before the add.
    fn change(&self, item: usize) {
        self.items[item].version.fetch_add(1, SeqCst);
    }

    fn added(&self, added: Added) {
        match added {
            Added::Queued | Added::Deferred => {
                self.promised.fetch_add(1, SeqCst);
            }
            Added::Merged => {}
            other => panic!("not expected here: {other:?}"),
        }
    }

    /// Call while the item is held.
    fn work(&self, item: usize) {
        let known = &self.items[item];
        assert!(!known.is_held.swap(true, SeqCst), "item {item} is in two hands");
        self.handed_out.fetch_add(1, SeqCst);
        let version = known.version.load(SeqCst);
        known.seen.fetch_max(version, SeqCst);
        if version.is_multiple_of(7) {
            thread::yield_now();
        }
        assert!(known.is_held.swap(false, SeqCst));
    }

    fn judge(&self, queue: &WorkQueue<usize>) {
        for (item, known) in self.items.iter().enumerate() {
            assert_eq!(
                known.seen.load(SeqCst),
                known.version.load(SeqCst),
                "an add of {item} was lost"
            );
        }
        assert_eq!(self.handed_out.load(SeqCst), self.promised.load(SeqCst));
        assert!(queue.counts().is_idle());
    }
}

/// Shuts the queue down at the end of a scope. If the test fails, the workers end instead of
/// waiting.
struct Ends<'q>(&'q WorkQueue<usize>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

/// Pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn item(&mut self) -> usize {
        usize::try_from(self.roll(ITEMS as u64)).unwrap()
    }
}

fn produce(queue: &WorkQueue<usize>, oracle: &Oracle, seed: u64, rounds: usize) {
    let mut dice = Dice(seed);
    for _ in 0..rounds {
        match dice.roll(8) {
            0 => {
                let batch: Vec<usize> = (0..dice.roll(6)).map(|_| dice.item()).collect();
                batch.iter().for_each(|&item| oracle.change(item));
                let all = queue.add_all(batch);
                oracle.promised.fetch_add(all.queued + all.deferred, SeqCst);
            }
            1 => {
                let item = dice.item();
                oracle.change(item);
                oracle.added(queue.try_add(item).unwrap_or_else(|_| queue.add(item)));
            }
            2 => {
                let mut adds = queue.defer_wakes();
                let item = dice.item();
                oracle.change(item);
                oracle.added(adds.add(item, ()));
            }
            _ => {
                let item = dice.item();
                oracle.change(item);
                oracle.added(queue.add(item));
            }
        }
    }
}

/// A blocking worker that cycles through the ways to get.
fn work_blocking(queue: &WorkQueue<usize>, oracle: &Oracle) {
    for turn in 0.. {
        let guard = match turn % 3 {
            0 => match queue.get_timeout(Duration::from_micros(50)) {
                Ok(guard) => guard,
                Err(wq_core::GetTimeoutError::TimedOut) => continue,
                Err(_) => return,
            },
            1 => match queue.try_get() {
                Ok(guard) => guard,
                Err(TryGetError::ShutDown) => return,
                Err(_) => continue,
            },
            _ => match queue.get_blocking() {
                Some(guard) => guard,
                None => return,
            },
        };
        oracle.work(*guard.item());
        let mut next = guard.done_and_get();
        while let Ok(guard) = next {
            oracle.work(*guard.item());
            next = guard.done_and_get();
        }
    }
}

/// An async worker that drops some of its waits, woken or not.
async fn work_async(queue: &WorkQueue<usize>, oracle: &Oracle, seed: u64) {
    let mut dice = Dice(seed);
    loop {
        match dice.roll(3) {
            0 => {
                let wakes = Wakes::new();
                let mut given_up = queue.get();
                match wakes.poll(&mut given_up) {
                    Poll::Ready(Some(guard)) => oracle.work(*guard.item()),
                    Poll::Ready(None) => return,
                    Poll::Pending => tokio::task::yield_now().await,
                }
            }
            1 => match queue.get_owned().await {
                Some(guard) => oracle.work(*guard.item()),
                None => return,
            },
            _ => match queue.get().await {
                Some(guard) => {
                    oracle.work(*guard.item());
                    tokio::task::yield_now().await;
                }
                None => return,
            },
        }
    }
}

fn stress(queue: &WorkQueue<usize>, producers: u64, rounds: usize) {
    let oracle = Oracle::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    thread::scope(|scope| {
        let _ends = Ends(queue);
        for _ in 0..3 {
            scope.spawn(|| work_blocking(queue, &oracle));
        }
        for seed in 0..2 {
            let (queue, oracle, handle) = (queue, &oracle, runtime.handle());
            scope.spawn(move || {
                handle.block_on(async {
                    tokio::join!(
                        work_async(queue, oracle, seed * 3),
                        work_async(queue, oracle, seed * 3 + 1),
                        work_async(queue, oracle, seed * 3 + 2),
                    )
                });
            });
        }
        thread::scope(|adding| {
            for seed in 0..producers {
                let oracle = &oracle;
                adding.spawn(move || produce(queue, oracle, 1000 + seed, rounds));
            }
        });
        queue.shutdown();
        queue.drained().wait_timeout(LONG).unwrap();
    });
    oracle.judge(queue);
}

#[test]
fn no_add_is_lost_and_no_item_is_in_two_hands() {
    stress(&WorkQueue::new(), 4, 60_000 / FEWER);
}

#[test]
fn nor_in_a_small_bounded_queue() {
    stress(&WorkQueue::builder().capacity(2).build().unwrap(), 3, 30_000 / FEWER);
}

/// Sends single items to many sleeping workers. A lost wake-up stalls the next step.
#[test]
fn no_wake_up_is_lost_when_everybody_sleeps() {
    let queue = WorkQueue::new();
    let oracle = Oracle::new();
    thread::scope(|scope| {
        let _ends = Ends(&queue);
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(guard) = queue.get_blocking() {
                    oracle.work(*guard.item());
                }
            });
        }
        for round in 0..3_000 / FEWER {
            let item = round % ITEMS;
            oracle.change(item);
            oracle.added(queue.add(item));
            queue.drained().wait_timeout(LONG).unwrap();
        }
        queue.shutdown();
    });
    oracle.judge(&queue);
}

#[test]
fn many_drainers_all_return() {
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        let queue = WorkQueue::new();
        queue.add_all(0..20);
        thread::scope(|scope| {
            let _ends = Ends(&queue);
            for _ in 0..4 {
                scope.spawn(|| {
                    queue.shutdown();
                    queue.drained().wait_timeout(LONG).unwrap();
                    assert!(queue.counts().is_idle());
                });
            }
            for _ in 0..2 {
                scope.spawn(|| while queue.get_blocking().is_some() {});
            }
        });
    }
}

#[test]
fn a_worker_that_panics_frees_its_item_for_the_others() {
    let queue = WorkQueue::new();
    queue.add(1_usize);
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let guard = queue.get_blocking().unwrap();
            queue.add(*guard.item());
            std::panic::resume_unwind(Box::new("the panic that this test wants"));
        });
        assert!(worker.join().is_err());
    });
    queue.shutdown();
    assert_eq!(queue.get_blocking().map(|guard| *guard.item()), Some(1));
    queue.drained().wait_timeout(LONG).unwrap();
}

/// TestParallelizeUntil, with its numbers of pieces and workers. Its other cases vary a chunk size,
/// which this queue does not have.
#[test]
fn every_piece_is_visited_once() {
    const PIECES: usize = if cfg!(miri) { 20 } else { 1000 };
    let queue = WorkQueue::new();
    queue.add_all(0..PIECES);
    queue.shutdown();
    let visits: Vec<AtomicUsize> = (0..PIECES).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                while let Some(piece) = queue.get_blocking() {
                    visits[*piece.item()].fetch_add(1, SeqCst);
                }
            });
        }
    });
    assert!(visits.iter().all(|visits| visits.load(SeqCst) == 1));
}
