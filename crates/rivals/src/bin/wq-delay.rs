//! wq-delay beside client-go's delaying queue, and beside tokio-util's `DelayQueue` with a map:
//! what its gates in `gates.toml` are about. The twin of the first is in `go/delay.go`.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use anyhow::{Result, ensure};
use rivals::{Bench, Pinned, alone, each, integers, measured, now};
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;
use wq_delay::{DelayingQueue, ManualTimer, ThreadTimer};

const MILLION: usize = 1_000_000;
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn main() -> Result<()> {
    let mut bench = Bench::start()?;
    for (gate, count) in [("add_after_100k", 100_000), ("add_after_1m", MILLION)] {
        let (keys, delays) = (integers(count), delays(count));
        bench.beside_client_go(gate, &format!("add-after-int64 {count}"), || {
            add_after(&keys, &delays)
        })?;
    }
    let (keys, delays) = (integers(MILLION), delays(MILLION));
    slowest(&bench, &keys, &delays)?;
    let other = "so long as wq-delay,";
    let ours = |work: Work| ours(&keys, &delays, work);
    let theirs = |work: Work, locked| theirs(&keys, &delays, work, locked);
    for (gate, work) in
        [("insert", Work::Insert), ("earlier", Work::Earlier), ("drain", Work::Drain)]
    {
        bench.beside_itself(gate, other, || theirs(work, Locked::Once), || ours(work))?;
        // No gate: what threads that share the peer would pay for a lock of their own around it, as
        // ours has one within.
        bench.beside_itself(
            &format!("{gate}_shared"),
            other,
            || theirs(work, Locked::Each),
            || ours(work),
        )?;
    }
    bench.end();
    Ok(())
}

/// Up to a minute, the same in each run.
fn delays(count: usize) -> Vec<Duration> {
    let mut state = 1_u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_nanos(1 + (state >> 16) % 60_000_000_000)
    };
    (0..count).map(|_| draw()).collect()
}

/// Delays all keys on the real clock; nanoseconds an add. None becomes due meanwhile. The last add
/// is, and is got, as in the twin, where it says that all others are in the heap.
fn add_after(keys: &[u64], delays: &[Duration]) -> Result<f64> {
    let queue = DelayingQueue::builder().timer(ThreadTimer).build_blocking()?;
    alone(keys.len(), || {
        for (key, delay) in keys.iter().zip(delays) {
            queue.add_after(*key, *delay + HOUR);
        }
        queue.add_after(u64::MAX, Duration::from_nanos(1));
        ensure!(queue.get_blocking().is_some(), "the queue was empty");
        Ok(())
    })
}

/// The slowest of a million calls with room reserved, and the hundredth without, in microseconds:
/// the least of the rounds, since the system interrupts some of them for longer.
fn slowest(bench: &Bench, keys: &[u64], delays: &[Duration]) -> Result<()> {
    for (gate, reserved, rank) in [("worst_reserved", MILLION, 0), ("p9999", 0, MILLION / 10_000)] {
        if !bench.wants(gate) {
            continue;
        }
        let rounds: Result<Vec<f64>> = (0..bench.rounds())
            .map(|_| calls(keys, delays, reserved).map(|calls| calls[rank]))
            .collect();
        measured(gate, rounds?.into_iter().fold(f64::INFINITY, f64::min));
    }
    Ok(())
}

/// How long each call took, in microseconds, the slowest first.
fn calls(keys: &[u64], delays: &[Duration], reserved: usize) -> Result<Vec<f64>> {
    let _pinned = Pinned::to(0)?;
    let queue =
        DelayingQueue::builder().timer(ThreadTimer).reserve_delayed(reserved).build_blocking()?;
    let mut took = Vec::with_capacity(keys.len());
    for (key, delay) in keys.iter().zip(delays) {
        let begin = now();
        queue.add_after(*key, *delay + HOUR);
        took.push(each(begin, 1) / 1000.0);
    }
    took.sort_unstable_by(|one, two| two.total_cmp(one));
    Ok(took)
}

/// With a million keys that are delayed.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// They are added.
    Insert,
    /// They are added again, for half the time.
    Earlier,
    /// They are due, and all are taken out of the delays.
    Drain,
}

/// Nanoseconds a key, on a clock that stands still, as the peer's does. A drain moves them into the
/// queue.
fn ours(keys: &[u64], delays: &[Duration], work: Work) -> Result<f64> {
    let timer = ManualTimer::new();
    let queue = DelayingQueue::builder().timer(timer.clone()).build_blocking()?;
    let add = |by| {
        for (key, delay) in keys.iter().zip(delays) {
            queue.add_after(*key, *delay / by);
        }
        Ok(())
    };
    if let Work::Insert = work {
        return alone(keys.len(), || add(1));
    }
    add(1)?;
    if let Work::Earlier = work {
        return alone(keys.len(), || add(2));
    }
    timer.advance(MINUTE);
    alone(keys.len(), || {
        ensure!(queue.counts().queued == keys.len(), "not all were due");
        Ok(())
    })
}

/// The same of tokio-util's, with a map that tells where an item is. A drain takes them out of the
/// map too.
fn theirs(keys: &[u64], delays: &[Duration], work: Work, locked: Locked) -> Result<f64> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    // A task is told to pause now and then otherwise, and a drain would end early.
    runtime.block_on(tokio::task::unconstrained(async {
        let peer = Mutex::new(MappedDelays::default());
        let add = |by| {
            let items = keys.iter().zip(delays);
            locked.visit(&peer, items, |peer, (key, delay)| peer.add(*key, *delay / by));
            Ok(())
        };
        if let Work::Insert = work {
            return alone(keys.len(), || add(1));
        }
        add(1)?;
        if let Work::Earlier = work {
            return alone(keys.len(), || add(2));
        }
        tokio::time::advance(MINUTE + Duration::from_millis(2)).await;
        alone(keys.len(), || {
            let mut taken = 0;
            locked.visit(&peer, keys, |peer, _| taken += usize::from(peer.take()));
            ensure!(taken == keys.len(), "{taken} were due");
            Ok(())
        })
    }))
}

/// How long the peer is locked for.
#[derive(Debug, Clone, Copy)]
enum Locked {
    /// For all items at once: it is used by one thread.
    Once,
    /// For each anew, as by threads that share it.
    Each,
}

impl Locked {
    fn visit<I>(
        self,
        peer: &Mutex<MappedDelays>,
        items: impl IntoIterator<Item = I>,
        mut visit: impl FnMut(&mut MappedDelays, I),
    ) {
        let lock = || peer.lock().unwrap_or_else(PoisonError::into_inner);
        match self {
            Self::Once => {
                let mut peer = lock();
                items.into_iter().for_each(|item| visit(&mut peer, item));
            }
            Self::Each => items.into_iter().for_each(|item| visit(&mut lock(), item)),
        }
    }
}

#[derive(Debug, Default)]
struct MappedDelays {
    queue: DelayQueue<u64>,
    places: HashMap<u64, Key, wq_core::DefaultHasher>,
}

impl MappedDelays {
    fn add(&mut self, key: u64, delay: Duration) {
        match self.places.get(&key) {
            Some(place) => self.queue.reset(place, delay),
            None => {
                self.places.insert(key, self.queue.insert(key, delay));
            }
        }
    }

    /// Takes out one that is due; false: none is.
    fn take(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Some(expired)) = Pin::new(&mut self.queue).poll_expired(&mut context)
        else {
            return false;
        };
        self.places.remove(expired.get_ref());
        true
    }
}
