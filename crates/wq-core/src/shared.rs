//! Shared: the common part of all handles, guards and futures of a queue, and the wake-up rules.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Waker;
use std::time::Instant;

use crate::backlog::{Backlog, Survey};
use crate::clock;
use crate::clock::Clock;
use crate::lock::{Lock, LockGuard};
use crate::observer::Observer;
use crate::planted::planted;
use crate::snapshot::Gauges;
use crate::state::{Finished, State, Ticket};
use crate::transition::Transition;
use crate::waiters::{Key, Waiters, Wakes};

pub(crate) struct Shared<T, B: Backlog> {
    core: Lock<Core<T, B>>,
    /// Whether the last new getter found nothing: a hint for the next one.
    was_empty: AtomicBool,
    pub(crate) name: Option<String>,
    watched: Option<Watched>,
}

/// The observer of a queue.
struct Watched {
    by: Box<dyn Observer>,
    /// Replaces the machine's clock.
    clock: Option<Box<Clock>>,
    /// The constant time for an observer that is not timed.
    stopped: Option<Instant>,
}

impl Watched {
    fn now(&self) -> Instant {
        self.clock.as_ref().map_or_else(clock::now, |clock| clock())
    }
}

/// Everything under the lock.
pub(crate) struct Core<T, B: Backlog> {
    pub(crate) state: State<T, B>,
    /// The line of waiters for an item.
    pub(crate) getters: Waiters,
    /// The line of waiters for a drain. It is separate, so that a wake-up never reaches the wrong
    /// kind.
    pub(crate) drainers: Waiters,
}

impl<T, B: Backlog> Shared<T, B> {
    pub(crate) fn new(
        name: Option<String>,
        observer: Option<Box<dyn Observer>>,
        clock: Option<Box<Clock>>,
        backlog: B,
        capacity: Option<NonZeroUsize>,
    ) -> Self {
        let core = Core {
            state: State::new(backlog, capacity),
            getters: Waiters::new(),
            drainers: Waiters::new(),
        };
        let watched =
            observer.map(|by| Watched { stopped: (!by.is_timed()).then(clock::now), clock, by });
        Self { core: Lock::new(core), was_empty: AtomicBool::new(false), name, watched }
    }

    /// Locks the queue. The caller declares values that it drops or wakes after the lock before
    /// this call: a panic then keeps that order too.
    #[inline(always)]
    pub(crate) fn lock(&self) -> LockGuard<'_, Core<T, B>> {
        self.core.lock()
    }

    /// Whether a new getter should prepare to wait before it looks, so that it need not look twice.
    #[inline(always)]
    pub(crate) fn is_likely_empty(&self) -> bool {
        self.was_empty.load(Relaxed)
    }

    pub(crate) fn found_empty(&self, is_empty: bool) {
        // A store takes the cache line away from the other callers.
        if self.is_likely_empty() != is_empty {
            self.was_empty.store(is_empty, Relaxed);
        }
    }

    /// The time of an event, if the queue has an observer.
    #[inline]
    pub(crate) fn now(&self) -> Option<Instant> {
        self.watched.as_ref().map(|watched| watched.stopped.unwrap_or_else(|| watched.now()))
    }

    /// The time, if the queue measures ages.
    pub(crate) fn now_for_ages(&self) -> Option<Instant> {
        self.watched.as_ref().filter(|watched| watched.stopped.is_none()).map(Watched::now)
    }

    #[inline]
    pub(crate) fn observe(&self, tell: impl FnOnce(&dyn Observer)) {
        if let Some(watched) = &self.watched {
            tell(&*watched.by);
        }
    }

    pub(crate) fn gauges(&self) -> Gauges {
        let now = self.now_for_ages();
        self.lock().state.gauges(now)
    }

    pub(crate) fn survey(&self, found: &mut B::Found) -> Gauges
    where
        B: Survey,
    {
        let now = self.now_for_ages();
        let core = self.lock();
        core.state.survey(found, self.watched.is_some());
        core.state.gauges(now)
    }

    /// Ends a hand-out.
    #[inline(never)]
    pub(crate) fn finish(&self, ticket: Ticket) {
        match self.now() {
            None => {
                let mut core = self.lock();
                let finished = core.state.done(ticket, None);
                release(core, Transition::of_finish(&finished));
                drop(finished);
            }
            now => self.finish_observed(ticket, now),
        }
    }

    #[inline(never)]
    fn finish_observed(&self, ticket: Ticket, now: Option<Instant>) {
        let mut core = self.lock();
        let finished = core.state.done(ticket, now);
        self.unlock_and_end(core, finished);
    }

    /// Unlocks the queue, wakes the waiters that the end of a hand-out concerns, and notifies the
    /// observer.
    #[inline(always)]
    pub(crate) fn unlock_and_end(&self, core: LockGuard<'_, Core<T, B>>, finished: Finished<T>) {
        let wakes = unlock(core, Transition::of_finish(&finished));
        self.end_after(wakes, finished);
    }

    /// Wakes, then calls [`end`](Self::end).
    #[inline(always)]
    pub(crate) fn end_after(&self, wakes: Option<Wakes>, finished: Finished<T>) {
        match wakes {
            None => self.end(finished),
            Some(wakes) => self.wake_and_end(wakes, finished),
        }
    }

    /// Not inlined, because its callers nearly never wake: it would force `finished` into memory
    /// for them.
    #[cold]
    #[inline(never)]
    fn wake_and_end(&self, wakes: Wakes, finished: Finished<T>) {
        wakes.fire();
        self.end(finished);
    }

    /// Notifies the observer of the end of a hand-out. Then drops the item, outside the lock.
    #[inline(always)]
    fn end(&self, finished: Finished<T>) {
        match finished {
            Finished::Left { item, worked } => {
                if let Some(worked) = worked {
                    self.observe(|observer| observer.done(worked));
                }
                drop(item);
            }
            Finished::Requeued { worked: Some(worked) } => self.observe(|observer| {
                observer.done(worked);
                observer.requeued();
            }),
            Finished::Requeued { worked: None } | Finished::Stale => {}
        }
    }
}

/// Unlocks the queue, then wakes the waiters that the transition concerns.
///
/// Nearly always none waits, and this is one comparison. An empty [`Wakes`] would cost a tenth of
/// an operation.
#[inline(always)]
pub(crate) fn release<T, B: Backlog>(mut core: LockGuard<'_, Core<T, B>>, transition: Transition) {
    let due = core.due(transition);
    if due.is_any() {
        release_and_wake(core, due);
    }
}

#[cold]
#[inline(never)]
fn release_and_wake<T, B: Backlog>(core: LockGuard<'_, Core<T, B>>, due: Transition) {
    unlock_and_call(core, due).fire();
}

/// Unlocks the queue and returns the wakers that the transition concerns, for a caller that must
/// make a guard first.
#[inline(always)]
pub(crate) fn unlock<T, B: Backlog>(
    mut core: LockGuard<'_, Core<T, B>>,
    transition: Transition,
) -> Option<Wakes> {
    let due = core.due(transition);
    if due.is_any() { Some(unlock_and_call(core, due)) } else { None }
}

#[cold]
#[inline(never)]
fn unlock_and_call<T, B: Backlog>(mut core: LockGuard<'_, Core<T, B>>, due: Transition) -> Wakes {
    let mut wakes = Wakes::new();
    core.call(due, &mut wakes);
    wakes
}

impl<T, B: Backlog> Core<T, B> {
    /// Whether any waiter sleeps.
    #[inline(always)]
    pub(crate) fn somebody_waits(&self) -> bool {
        (self.getters.asleep() | self.drainers.asleep()) > 0
    }

    /// Adds the wakers that the transition concerns.
    #[inline(always)]
    pub(crate) fn gather(&mut self, transition: Transition, wakes: &mut Option<Wakes>) {
        let due = self.due(transition);
        if due.is_any() {
            self.call_into(due, wakes);
        }
    }

    #[cold]
    #[inline(never)]
    fn call_into(&mut self, due: Transition, wakes: &mut Option<Wakes>) {
        self.call(due, wakes.get_or_insert_default());
    }

    pub(crate) fn tell(&mut self, transition: Transition, wakes: &mut Wakes) {
        let due = self.due(transition);
        self.call(due, wakes);
    }

    /// The part of the transition that needs a wake-up. It counts the rest (`Waiters::is_due`).
    #[inline(always)]
    fn due(&mut self, transition: Transition) -> Transition {
        Transition {
            work: (transition.work | transition.again)
                && self.getters.asleep() > 0
                && self.state.has_work()
                && if transition.work { self.getters.is_due() } else { self.getters.is_overdue() },
            again: false,
            idle: transition.idle && self.drainers.asleep() > 0 && self.state.is_idle(),
        }
    }

    fn call(&mut self, due: Transition, wakes: &mut Wakes) {
        if due.work {
            self.getters.wake_first(wakes);
        }
        if due.idle {
            self.drainers.call_everybody(wakes);
        }
    }

    /// Whether a drainer's wait is over.
    ///
    /// Only an idle moment wakes a drainer, so a woken one has had its moment. After shutdown the
    /// answer is final, so that moment is not enough: a later one comes, because adds are refused.
    pub(crate) fn was_drained(&self, drainer: Option<&Key>) -> bool {
        let is_woken = drainer.is_some_and(|key| self.drainers.is_woken(key));
        self.state.is_idle() || is_woken && !self.state.is_shutting_down()
    }

    /// Wakes the getters after a shutdown.
    pub(crate) fn end_came(&mut self, wakes: &mut Wakes) {
        if planted("shutdown-wakes-one") {
            self.getters.call_for(1, 0, wakes);
        } else {
            self.getters.call_everybody(wakes);
        }
    }

    /// Removes a getter that got something or gives up. Returns its waker, and a transition for the
    /// next getter if it was woken.
    #[must_use]
    pub(crate) fn getter_leaves(&mut self, key: Key) -> (Transition, Option<Waker>) {
        let (was_woken, waker) = self.getters.leave(key);
        (if was_woken { Transition::WORK } else { Transition::NONE }, waker)
    }
}

impl<T, B: Backlog> fmt::Debug for Shared<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = self.lock();
        let (counts, is_paused, is_shutting_down) =
            (core.state.counts(), core.state.is_paused(), core.state.is_shutting_down());
        drop(core);
        f.debug_struct("WorkQueue")
            .field("name", &self.name)
            .field("counts", &counts)
            .field("is_paused", &is_paused)
            .field("is_shutting_down", &is_shutting_down)
            .finish_non_exhaustive()
    }
}
