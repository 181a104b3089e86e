//! Player: one thread of a history. It makes the calls that its seed draws, and records the
//! answers.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

use wq_core::{Added, ProcessingGuard, RejectedReason, TryGetError, WorkQueue};

use crate::call::Call;
use crate::oracle::Next;
use crate::platform::{block_on, dawdle};

/// Few items, so that the threads compete for them.
const ITEMS: u8 = 3;
pub(crate) const THREADS: usize = 3;
/// The number of random calls of each thread, before the calls that finish its work.
const DRAWN: usize = 7;

/// A call, with the logical times of its beginning and its end.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) thread: usize,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) call: Call,
}

/// The queue, seed and capacity that all threads of one history share.
#[derive(Clone)]
pub(crate) struct Game {
    queue: WorkQueue<u8>,
    seed: u64,
    pub(crate) capacity: Option<usize>,
}

impl Game {
    pub(crate) fn new(seed: u64) -> Self {
        let capacity = seed.is_multiple_of(3).then_some(2);
        let queue = match capacity {
            Some(capacity) => WorkQueue::builder().capacity(capacity).build().unwrap(),
            None => WorkQueue::new(),
        };
        Self { queue, seed, capacity }
    }
}

/// Plays the part of one thread to its end. All threads share `time`.
pub(crate) fn play(thread: usize, game: &Game, time: &AtomicU64) -> Vec<Recorded> {
    let mut player = Player::new(thread, game, time);
    player.play();
    player.recorded
}

struct Player<'g> {
    thread: usize,
    queue: &'g WorkQueue<u8>,
    dice: u64,
    time: &'g AtomicU64,
    guards: Vec<ProcessingGuard<'g, u8>>,
    stale: Vec<ProcessingGuard<'g, u8>>,
    recorded: Vec<Recorded>,
}

impl<'g> Player<'g> {
    fn new(thread: usize, game: &'g Game, time: &'g AtomicU64) -> Self {
        let dice = game.seed.wrapping_mul(THREADS as u64).wrapping_add(thread as u64);
        let mut player = Self {
            thread,
            queue: &game.queue,
            dice,
            time,
            guards: Vec::new(),
            stale: Vec::new(),
            recorded: Vec::new(),
        };
        (0..8).for_each(|_| {
            player.roll(2); // Neighbouring seeds begin alike.
        });
        player
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % sides
    }

    fn item(&mut self) -> u8 {
        u8::try_from(self.roll(u64::from(ITEMS))).unwrap()
    }

    fn record(&mut self, call: impl FnOnce(&mut Self) -> Call) {
        let began = self.time.fetch_add(1, SeqCst);
        let call = call(self);
        let ended = self.time.fetch_add(1, SeqCst);
        self.recorded.push(Recorded { thread: self.thread, began, ended, call });
    }

    fn play(&mut self) {
        for _ in 0..DRAWN {
            dawdle(self.roll(200));
            self.draw();
        }
        if self.thread == 0 {
            self.record(|this| {
                this.queue.shutdown();
                Call::Shutdown
            });
        }
        self.finish();
    }

    /// Whether a wait is safe: waiting threads hold no item, and the thread that shuts down never
    /// waits.
    fn may_wait(&self) -> bool {
        self.thread > 0 && self.guards.is_empty()
    }

    fn draw(&mut self) {
        let item = self.item();
        match self.roll(24) {
            0..=4 => self.record(|this| Call::Add(item, this.queue.add(item))),
            5 => {
                let other = self.item();
                self.record(|this| {
                    let all = this.queue.add_all([item, other]);
                    Call::AddBoth(
                        item,
                        other,
                        [all.queued, all.deferred, all.merged, all.shut_down],
                    )
                });
            }
            6 => self.record(|this| match this.queue.try_add(item) {
                Ok(added) => Call::TryAdd(item, Some(added)),
                Err(rejected) if rejected.reason() == RejectedReason::ShutDown => {
                    Call::TryAdd(item, Some(Added::ShutDown))
                }
                Err(_) => Call::TryAdd(item, None),
            }),
            7..=9 if self.may_wait() => drop(self.wait()),
            7..=11 => self.record(|this| {
                let next = this.queue.try_get();
                Call::Get(this.take(next))
            }),
            12 => self.record(|this| {
                let mut get = this.queue.get();
                let next = match Pin::new(&mut get).poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Some(guard)) => Ok(guard),
                    Poll::Ready(None) => Err(TryGetError::ShutDown),
                    Poll::Pending => Err(TryGetError::Empty),
                };
                Call::Get(this.take(next))
            }),
            13..=15 => {
                if let Some(guard) = self.guards.pop() {
                    self.done(guard);
                }
            }
            16 => {
                if let Some(guard) = self.guards.pop() {
                    self.record(|this| {
                        let item = *guard.item();
                        let next = guard.done_and_get();
                        Call::DoneAndGet(item, this.take(next))
                    });
                }
            }
            17 => {
                if let Some(guard) = self.guards.pop() {
                    self.record(|this| {
                        let item = *guard.item();
                        let held = this.queue.abandon(&item);
                        this.stale.push(guard);
                        Call::Abandon(item, held)
                    });
                }
            }
            18 => self.end_stale(),
            19 => self.record(|this| Call::Remove(item, this.queue.remove(&item).is_some())),
            20 => self.record(|this| Call::Contains(item, this.queue.phase(&item).is_some())),
            21 => self.record(|this| Call::Counts(this.queue.counts())),
            22 => self.record(|this| {
                let seen = this.queue.snapshot().items;
                let phases: BTreeMap<_, _> =
                    seen.iter().map(|seen| (seen.item, seen.phase)).collect();
                assert_eq!(phases.len(), seen.len(), "an item is there twice");
                Call::Snapshot(phases)
            }),
            _ => self.pause_or_end(),
        }
    }

    fn pause_or_end(&mut self) {
        match self.roll(5) {
            0 | 1 => self.record(|this| {
                this.queue.pause();
                Call::Pause
            }),
            2 | 3 => self.record(|this| {
                this.queue.resume();
                Call::Resume
            }),
            _ => self.record(|this| Call::ShutdownNow(this.queue.shutdown_now())),
        }
    }

    fn take(&mut self, next: Result<ProcessingGuard<'g, u8>, TryGetError>) -> Next {
        match next {
            Ok(guard) => {
                let item = *guard.item();
                self.guards.push(guard);
                Next::Item(item)
            }
            Err(TryGetError::ShutDown) => Next::Ended,
            Err(_) => Next::Wait,
        }
    }

    /// A get that waits.
    fn wait(&mut self) -> Next {
        let blocks = self.roll(2) == 0;
        let mut answer = Next::Wait;
        self.record(|this| {
            let guard = if blocks { this.queue.get_blocking() } else { block_on(this.queue.get()) };
            answer = this.take(guard.ok_or(TryGetError::ShutDown));
            Call::Get(answer)
        });
        answer
    }

    /// Ends the held guards, handles the remaining items, and waits until the queue is drained.
    fn finish(&mut self) {
        loop {
            while let Some(guard) = self.guards.pop() {
                self.done(guard);
            }
            self.end_stale();
            if self.wait() == Next::Ended {
                break;
            }
        }
        while !self.stale.is_empty() {
            self.end_stale();
        }
        self.record(|this| {
            block_on(this.queue.drained());
            Call::Drained
        });
    }

    fn done(&mut self, guard: ProcessingGuard<'g, u8>) {
        self.record(|_| {
            let item = *guard.item();
            guard.done();
            Call::Done(item)
        });
    }

    fn end_stale(&mut self) {
        if let Some(guard) = self.stale.pop() {
            self.record(|_| {
                let item = *guard.item();
                guard.done();
                Call::Stale(item)
            });
        }
    }
}
