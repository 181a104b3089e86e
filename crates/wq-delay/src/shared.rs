//! Shared: the state that all handles and futures of a queue share, and the move of due items.
//!
//! Lock order: `pending`, then the core queue's own lock. A due item moves while both are held, so
//! every caller sees it in exactly one. The timer, wakers, observers and `Drop` of items run
//! outside.

use crate::deadline::SecondAdd;
use crate::heap::{DelayHeap, Waiting};
use crate::platform::{AtomicU64, Mutex, MutexGuard};
use crate::policy::ImmediateAdd;
use crate::tick::{Tick, TimeLine};
use crate::timekeeper::{STANDBY_LAG, Timekeepers, TimerRole, WatchId};
use crate::timer::Timer;
use crate::wakes::Wakes;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;
use wq_core::{Backlog, DeferredWakes, Observer, WorkQueue};

/// The most items moved under one hold of the lock, so that adds do not wait for long.
const BATCH: usize = 128;

/// A call off duty replaces leader and standby if a deadline is this many lags late.
const OVERDUE_LAGS: u32 = 4;

pub(crate) struct Shared<T, B: Backlog> {
    pending: Mutex<Pending<T, B>>,
    /// The heap's earliest deadline, written under the lock. Getters read it without the lock.
    earliest: AtomicU64,
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) line: TimeLine,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) second_add: SecondAdd,
    pub(crate) immediate_add: ImmediateAdd,
    pub(crate) drain_awaits_delayed: bool,
    /// Whether async getters keep the time. Otherwise only blocking ones do.
    pub(crate) tasks_keep_time: bool,
}

/// Everything under the lock.
pub(crate) struct Pending<T, B: Backlog> {
    pub(crate) heap: DelayHeap<T, B::Order>,
    pub(crate) keepers: Timekeepers,
    pub(crate) drainers: Drainers,
    pub(crate) is_shut_down: bool,
    /// How often the heap became non-empty, for drainers.
    pub(crate) fills: u64,
    /// How often due items were moved, for drainers that ignore delayed items.
    pub(crate) moves: u64,
}

/// The drains that wait until nothing is delayed.
#[derive(Debug, Default)]
pub(crate) struct Drainers {
    /// No waker: woken by an empty heap while the core was not idle. A drainer that has seen an
    /// idle moment is removed.
    sleeping: BTreeMap<u64, Option<Waker>>,
    next_id: u64,
}

impl<T, B: Backlog> Shared<T, B> {
    pub(crate) fn new(settings: Settings<T, B>) -> Self {
        let Settings {
            timer,
            observer,
            second_add,
            immediate_add,
            drain_awaits_delayed,
            tasks_keep_time,
            heap,
        } = settings;
        let line = TimeLine::starting(timer.now());
        let pending = Pending {
            heap,
            keepers: Timekeepers::default(),
            drainers: Drainers::default(),
            is_shut_down: false,
            fills: 0,
            moves: 0,
        };
        Self {
            pending: Mutex::new(pending),
            earliest: AtomicU64::new(Tick::NEVER.0),
            timer,
            line,
            observer,
            second_add,
            immediate_add,
            drain_awaits_delayed,
            tasks_keep_time,
        }
    }
}

/// The settings of the builder.
pub(crate) struct Settings<T, B: Backlog> {
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) second_add: SecondAdd,
    pub(crate) immediate_add: ImmediateAdd,
    pub(crate) drain_awaits_delayed: bool,
    pub(crate) tasks_keep_time: bool,
    /// With its reserved memory.
    pub(crate) heap: DelayHeap<T, B::Order>,
}

impl<T, B: Backlog> Shared<T, B> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Pending<T, B>> {
        self.pending.lock()
    }

    pub(crate) fn now(&self) -> Tick {
        self.line.tick(self.timer.now())
    }

    /// The present time, if an item is due. Reads the clock only if an item is delayed.
    pub(crate) fn due_now(&self) -> Option<Tick> {
        let earliest = Tick(self.earliest.load(Ordering::Acquire));
        if earliest == Tick::NEVER {
            return None;
        }
        let now = self.now();
        earliest.is_due(now).then_some(now)
    }

    /// Whether an item was due at that time.
    pub(crate) fn is_due_at(&self, now: Tick) -> bool {
        Tick(self.earliest.load(Ordering::Acquire)).is_due(now)
    }

    /// Removes a getter that waits no longer.
    pub(crate) fn leave(&self, id: WatchId) {
        let mut wakes = Wakes::new();
        let _left_waker; // Dropped after the lock.
        let mut pending = self.lock();
        let earliest = pending.earliest();
        let (waker, successor) = pending.keepers.leave(id, earliest);
        _left_waker = waker;
        wakes.extend(successor);
    }

    /// Records that a getter is about to wait. Returns until when it should sleep at most.
    pub(crate) fn report(
        &self,
        id: &mut Option<WatchId>,
        role: TimerRole,
        waker: &Waker,
    ) -> Option<Tick> {
        let waker = waker.clone();
        let _left_waker; // Dropped after the lock.
        let mut pending = self.lock();
        let earliest = pending.earliest();
        let (until, replaced) = pending.keepers.report(id, role, waker, earliest);
        _left_waker = replaced;
        until
    }
}

impl<T: Hash + Eq, B: Backlog> Shared<T, B> {
    /// Moves all due items to the core queue, in the order of their deadlines. `by` is the waiting
    /// getter that calls, if it is one.
    pub(crate) fn move_due<S: BuildHasher>(&self, core: &WorkQueue<T, B, S>, by: Option<WatchId>) {
        while let Some(now) = self.due_now() {
            self.move_some(core, now, by);
        }
    }

    /// Moves one batch of due items.
    pub(crate) fn move_some<S: BuildHasher>(
        &self,
        core: &WorkQueue<T, B, S>,
        now: Tick,
        by: Option<WatchId>,
    ) {
        let mut wakes = Wakes::new();
        let mut adds = core.defer_wakes();
        let mut pending = self.lock();
        let late = self.move_batch(&mut pending, core, now, by, &mut wakes, &mut adds);
        drop(pending);
        drop(adds); // Getters first: observers may be slow.
        drop(wakes);
        if let Some(observer) = &self.observer {
            late.into_iter().for_each(|late| observer.due(late));
        }
    }

    /// The part of `move_some` under the lock. Returns how late each item was, if there is an
    /// observer.
    fn move_batch<S: BuildHasher>(
        &self,
        pending: &mut Pending<T, B>,
        core: &WorkQueue<T, B, S>,
        now: Tick,
        by: Option<WatchId>,
        wakes: &mut Wakes,
        adds: &mut DeferredWakes<'_, T, B, S>,
    ) -> Vec<Duration> {
        let mut late = Vec::new();
        pending.moves += 1;
        let first = pending.earliest();
        let missed_by = |lag| first.is_some_and(|first| first.after(lag).is_due(now));
        {
            let mut moving = Moving { shared: self, pending, core, wakes, due: Vec::new() };
            moving.pending.heap.pop_all_due(now, BATCH, &mut moving.due);
            if self.observer.is_some() {
                late.extend(moving.due.iter().map(|waiting| now.since(waiting.deadline)));
            }
            moving.due.reverse();
            let due = &mut moving.due;
            adds.add_all(std::iter::from_fn(|| due.pop()).map(Waiting::into_add));
        }
        let earliest = pending.earliest();
        if by.is_some_and(|id| pending.keepers.is_standby(id)) {
            if missed_by(STANDBY_LAG) {
                wakes.extend(pending.keepers.relieve_leader(earliest));
            }
        } else if missed_by(STANDBY_LAG * OVERDUE_LAGS)
            && !by.is_some_and(|id| pending.keepers.is_leader(id))
        {
            wakes.extend(pending.keepers.relieve_both(earliest).into_iter().flatten());
        }
        late
    }

    /// Call this before the lock is released if the heap may have lost items.
    pub(crate) fn changed<S: BuildHasher>(
        &self,
        pending: &mut Pending<T, B>,
        core: &WorkQueue<T, B, S>,
        wakes: &mut Wakes,
    ) {
        self.publish(pending);
        if pending.heap.is_empty() && !pending.drainers.sleeping.is_empty() {
            let is_idle = core.counts().is_idle();
            wakes.extend(pending.drainers.emptied(is_idle));
        }
    }

    /// Call this before the lock is released if the heap may have gained an item.
    #[inline]
    pub(crate) fn gained(
        &self,
        pending: &mut Pending<T, B>,
        before: Option<Tick>,
        wakes: &mut Wakes,
    ) {
        if pending.earliest() != before {
            self.gained_another_first(pending, before, wakes);
        }
    }

    #[inline(never)]
    fn gained_another_first(
        &self,
        pending: &mut Pending<T, B>,
        before: Option<Tick>,
        wakes: &mut Wakes,
    ) {
        if before.is_none() {
            pending.fills += 1;
        }
        self.publish(pending);
        if let Some(earliest) = pending.earliest()
            && earliest != Tick::NEVER
            && before.is_none_or(|before| earliest < before)
        {
            wakes.extend(pending.keepers.earlier(earliest).into_iter().flatten());
        }
    }

    fn publish(&self, pending: &Pending<T, B>) {
        let earliest = pending.earliest().unwrap_or(Tick::NEVER);
        self.earliest.store(earliest.0, Ordering::Release);
    }
}

/// A batch that is being moved. If `Eq` of an item panics, the items behind it go back to the heap.
struct Moving<'a, T: Hash + Eq, B: Backlog, S: BuildHasher> {
    shared: &'a Shared<T, B>,
    pending: &'a mut Pending<T, B>,
    core: &'a WorkQueue<T, B, S>,
    wakes: &'a mut Wakes,
    /// The last item comes first.
    due: Vec<Waiting<T, B::Order>>,
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> Drop for Moving<'_, T, B, S> {
    fn drop(&mut self) {
        for waiting in self.due.drain(..) {
            self.pending.heap.put_back(waiting);
        }
        self.shared.changed(self.pending, self.core, self.wakes);
    }
}

impl<T, B: Backlog> Pending<T, B> {
    pub(crate) fn earliest(&self) -> Option<Tick> {
        self.heap.earliest()
    }
}

impl Drainers {
    /// Waits for the heap to become empty. Returns the waker that this replaces.
    pub(crate) fn sleep(&mut self, id: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let id = *id.get_or_insert_with(|| {
            self.next_id += 1;
            self.next_id
        });
        self.sleeping.insert(id, Some(waker)).flatten()
    }

    /// Whether the heap was empty and the core idle at one moment of this wait.
    pub(crate) fn has_seen(&self, id: u64) -> bool {
        !self.sleeping.contains_key(&id)
    }

    pub(crate) fn leave(&mut self, id: u64) -> Option<Waker> {
        self.sleeping.remove(&id).flatten()
    }

    fn emptied(&mut self, is_idle: bool) -> Vec<Waker> {
        if is_idle {
            return std::mem::take(&mut self.sleeping).into_values().flatten().collect();
        }
        self.sleeping.values_mut().filter_map(Option::take).collect()
    }
}
