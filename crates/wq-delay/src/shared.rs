//! `Shared`: what all handles and futures of one queue have in common, and how due items move to the core queue.
//!
//! Lock order: `pending`, then the core queue's own lock. A due item moves while both are held, so nobody sees it in
//! neither or in both. The timer, wakers, observers and drops of items run outside.

use crate::after::After;
use crate::heap::{DelayHeap, Waiting};
use crate::platform::{AtomicU64, Mutex, MutexGuard};
use crate::queue::ImmediateAdd;
use crate::tick::{Tick, TimeLine};
use crate::timekeeper::{RESERVE_LAG, Timekeepers, WatchId, Watcher};
use crate::timer::Timer;
use crate::wish::SecondAdd;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;
use wq_core::{Backlog, DeferredWakes, Observer, WorkQueue};

/// Items moved under one hold of the lock: a flood of due items may not keep adders out for long.
const BATCH: usize = 128;

/// How many lags a deadline may be missed by before one who is not on duty calls others to it.
const OVERDUE_LAGS: u32 = 4;

pub(crate) struct Shared<T, B: Backlog> {
    pending: Mutex<Pending<T, B>>,
    /// The heap's earliest deadline, so that getters of a queue in which nothing is due take no lock for it. Written
    /// under the lock.
    earliest: AtomicU64,
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) line: TimeLine,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) second_add: SecondAdd,
    pub(crate) immediate_add: ImmediateAdd,
    pub(crate) drain_awaits_delayed: bool,
    /// Whether async getters keep time. If not, blocking ones do.
    pub(crate) tasks_keep_time: bool,
}

/// Everything under the lock.
pub(crate) struct Pending<T, B: Backlog> {
    pub(crate) heap: DelayHeap<T, B::Order>,
    pub(crate) keepers: Timekeepers,
    pub(crate) drainers: Drainers,
    pub(crate) is_shut_down: bool,
    /// How often the heap became non-empty: a drainer sees by it whether it was empty all the while.
    pub(crate) fills: u64,
    /// How often due items were moved: a drainer that does not wait for delayed ones sees by it whether some were due.
    pub(crate) moves: u64,
}

/// Those who wait until nothing is delayed.
#[derive(Debug, Default)]
pub(crate) struct Drainers {
    /// Without a waker: woken, but not because of an idle moment. Not in here: has seen its idle moment.
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

/// What the builder settles.
pub(crate) struct Settings<T, B: Backlog> {
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) second_add: SecondAdd,
    pub(crate) immediate_add: ImmediateAdd,
    pub(crate) drain_awaits_delayed: bool,
    pub(crate) tasks_keep_time: bool,
    /// With the room that it is to have.
    pub(crate) heap: DelayHeap<T, B::Order>,
}

impl<T, B: Backlog> Shared<T, B> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Pending<T, B>> {
        self.pending.lock()
    }

    pub(crate) fn now(&self) -> Tick {
        self.line.tick(self.timer.now())
    }

    /// Whether something is due. Reads the clock only if something is delayed.
    pub(crate) fn due_now(&self) -> Option<Tick> {
        let earliest = Tick(self.earliest.load(Ordering::Acquire));
        if earliest == Tick::NEVER {
            return None;
        }
        let now = self.now();
        earliest.is_due(now).then_some(now)
    }

    /// Whether something was due at that time.
    pub(crate) fn is_due_at(&self, now: Tick) -> bool {
        Tick(self.earliest.load(Ordering::Acquire)).is_due(now)
    }

    /// A waiting getter no longer waits.
    pub(crate) fn leave(&self, id: WatchId) {
        let mut after = After::new();
        let _left_waker; // Dropped after the lock.
        let mut pending = self.lock();
        let earliest = pending.earliest();
        let (waker, successor) = pending.keepers.leave(id, earliest);
        _left_waker = waker;
        after.wake(successor);
    }

    /// A getter is about to wait: until when should it sleep at most?
    pub(crate) fn report(&self, id: &mut Option<WatchId>, watcher: Watcher, waker: &Waker) -> Option<Tick> {
        let waker = waker.clone();
        let _left_waker; // Dropped after the lock.
        let mut pending = self.lock();
        let earliest = pending.earliest();
        let (until, replaced) = pending.keepers.report(id, watcher, waker, earliest);
        _left_waker = replaced;
        until
    }
}

impl<T: Hash + Eq, B: Backlog> Shared<T, B> {
    /// Moves all that is due to the core queue, in the order of the deadlines. `by` is the waiting getter that looks, if
    /// it is one.
    pub(crate) fn move_due<S: BuildHasher>(&self, core: &WorkQueue<T, B, S>, by: Option<WatchId>) {
        while let Some(now) = self.due_now() {
            self.move_some(core, now, by);
        }
    }

    /// Moves the first of what is due.
    pub(crate) fn move_some<S: BuildHasher>(
        &self,
        core: &WorkQueue<T, B, S>,
        now: Tick,
        by: Option<WatchId>,
    ) {
        let mut after = After::new();
        let mut adds = core.defer_wakes();
        let mut pending = self.lock();
        let late = self.move_batch(&mut pending, core, now, by, &mut after, &mut adds);
        drop(pending);
        drop(adds); // Getters first: observers may take their time.
        drop(after);
        if let Some(observer) = &self.observer {
            late.into_iter().for_each(|late| observer.due(late));
        }
    }

    /// One hold of the lock. How late each item was, if anybody wants to know.
    fn move_batch<S: BuildHasher>(
        &self,
        pending: &mut Pending<T, B>,
        core: &WorkQueue<T, B, S>,
        now: Tick,
        by: Option<WatchId>,
        after: &mut After,
        adds: &mut DeferredWakes<'_, T, B, S>,
    ) -> Vec<Duration> {
        let mut late = Vec::new();
        pending.moves += 1;
        let first = pending.earliest();
        let missed_by = |lag| first.is_some_and(|first| first.after(lag).is_due(now));
        {
            let mut moving = Moving { shared: self, pending, core, after, due: Vec::new() };
            moving.pending.heap.pop_all_due(now, BATCH, &mut moving.due);
            if self.observer.is_some() {
                late.extend(moving.due.iter().map(|waiting| now.since(waiting.deadline)));
            }
            moving.due.reverse();
            let due = &mut moving.due;
            adds.add_all(std::iter::from_fn(|| due.pop()).map(Waiting::into_add));
        }
        let earliest = pending.earliest();
        if by.is_some_and(|id| pending.keepers.is_reserve(id)) {
            if missed_by(RESERVE_LAG) {
                after.wake(pending.keepers.relieve_keeper(earliest));
            }
        } else if missed_by(RESERVE_LAG * OVERDUE_LAGS) && !by.is_some_and(|id| pending.keepers.is_keeper(id))
        {
            after.wake(pending.keepers.relieve_both(earliest).into_iter().flatten());
        }
        late
    }

    /// To be called before the lock is let go whenever the heap may have lost items.
    pub(crate) fn changed<S: BuildHasher>(
        &self,
        pending: &mut Pending<T, B>,
        core: &WorkQueue<T, B, S>,
        after: &mut After,
    ) {
        self.publish(pending);
        if pending.heap.is_empty() && !pending.drainers.sleeping.is_empty() {
            let is_idle = core.counts().is_idle();
            after.wake(pending.drainers.emptied(is_idle));
        }
    }

    /// To be called before the lock is let go whenever the heap may have gained an item.
    #[inline]
    pub(crate) fn gained(&self, pending: &mut Pending<T, B>, before: Option<Tick>, after: &mut After) {
        if pending.earliest() != before {
            self.gained_another_first(pending, before, after);
        }
    }

    #[inline(never)]
    fn gained_another_first(&self, pending: &mut Pending<T, B>, before: Option<Tick>, after: &mut After) {
        if before.is_none() {
            pending.fills += 1;
        }
        self.publish(pending);
        if let Some(earliest) = pending.earliest()
            && earliest != Tick::NEVER
            && before.is_none_or(|before| earliest < before)
        {
            after.wake(pending.keepers.earlier(earliest).into_iter().flatten());
        }
    }

    fn publish(&self, pending: &Pending<T, B>) {
        let earliest = pending.earliest().unwrap_or(Tick::NEVER);
        self.earliest.store(earliest.0, Ordering::Release);
    }
}

/// A batch being moved. If the `Eq` of an item panics, those behind it go back, and that the heap has changed is made known.
struct Moving<'a, T: Hash + Eq, B: Backlog, S: BuildHasher> {
    shared: &'a Shared<T, B>,
    pending: &'a mut Pending<T, B>,
    core: &'a WorkQueue<T, B, S>,
    after: &'a mut After,
    /// The last one first.
    due: Vec<Waiting<T, B::Order>>,
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> Drop for Moving<'_, T, B, S> {
    fn drop(&mut self) {
        for waiting in self.due.drain(..) {
            self.pending.heap.put_back(waiting);
        }
        self.shared.changed(self.pending, self.core, self.after);
    }
}

impl<T, B: Backlog> Pending<T, B> {
    pub(crate) fn earliest(&self) -> Option<Tick> {
        self.heap.earliest()
    }
}

impl Drainers {
    /// Waits (on) for the heap to become empty. Hands out a waker that is no longer needed.
    pub(crate) fn sleep(&mut self, id: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let id = *id.get_or_insert_with(|| {
            self.next_id += 1;
            self.next_id
        });
        self.sleeping.insert(id, Some(waker)).flatten()
    }

    /// Whether this one has seen the heap empty and the core idle in one moment.
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
