//! Shared: what all handles, guards and futures of one queue have in common, and the rules by which a change of the
//! state wakes those who wait for it.

use std::fmt;
use std::num::NonZeroUsize;
use std::task::Waker;
use std::time::Instant;

use crate::backlog::Backlog;
use crate::clock;
use crate::lock::{Lock, LockGuard};
use crate::observer::Observer;
use crate::planted::planted;
use crate::snapshot::Gauges;
use crate::state::{Finished, State, Ticket};
use crate::waiters::{Key, Waiters, Wakes};

pub(crate) struct Shared<T, B: Backlog> {
    core: Lock<Core<T, B>>,
    pub(crate) name: Option<String>,
    observer: Option<Box<dyn Observer>>,
}

/// Everything under the lock.
pub(crate) struct Core<T, B: Backlog> {
    pub(crate) state: State<T, B>,
    /// Wait for an item.
    pub(crate) getters: Waiters,
    /// Wait for room.
    pub(crate) adders: Waiters,
    /// Wait until nothing is queued and nothing in flight. A list of their own: no signal is used up by the wrong kind.
    pub(crate) drainers: Waiters,
}

impl<T, B: Backlog> Shared<T, B> {
    pub(crate) fn new(
        name: Option<String>,
        observer: Option<Box<dyn Observer>>,
        backlog: B,
        capacity: Option<NonZeroUsize>,
        spares: usize,
    ) -> Self {
        let core = Core {
            state: State::new(backlog, capacity, spares),
            getters: Waiters::new(),
            adders: Waiters::new(),
            drainers: Waiters::new(),
        };
        Self { core: Lock::new(core), name, observer }
    }

    /// Locks the queue. What is to be dropped or woken after the lock is declared before this call, so that it is also
    /// in the case of a panic.
    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, Core<T, B>> {
        self.core.lock()
    }

    /// The time, if somebody wants to know it.
    #[inline]
    pub(crate) fn now(&self) -> Option<Instant> {
        self.observer.as_ref().map(|_| clock::now())
    }

    #[inline]
    pub(crate) fn observe(&self, tell: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = &self.observer {
            tell(&**observer);
        }
    }

    pub(crate) fn gauges(&self) -> Gauges {
        let now = self.now();
        self.lock().state.gauges(now)
    }

    /// Ends a hand-out.
    #[inline]
    pub(crate) fn finish(&self, ticket: Ticket) {
        let now = self.now();
        let mut core = self.lock();
        let finished = core.state.done(ticket, now);
        release(core, |core, wakes| core.after_finish(&finished, wakes));
        self.end(finished);
    }

    /// Tells the observer of the end of a hand-out, and drops the item: outside the lock, and last.
    #[inline]
    pub(crate) fn end(&self, finished: Finished<T>) {
        match finished {
            Finished::Left { item, worked } => {
                self.observe(|observer| observer.done(worked.unwrap_or_default()));
                drop(item);
            }
            Finished::Requeued { worked } => self.observe(|observer| {
                observer.done(worked.unwrap_or_default());
                observer.requeued();
            }),
            Finished::Stale => {}
        }
    }
}

/// Unlocks the queue, and then wakes those whom `call` names. Nearly always nobody waits, and it costs a look.
#[inline]
pub(crate) fn release<T, B: Backlog>(
    core: LockGuard<'_, Core<T, B>>,
    call: impl FnOnce(&mut Core<T, B>, &mut Wakes),
) {
    if core.has_sleepers() {
        release_and_wake(core, call);
    }
}

#[cold]
#[inline(never)]
fn release_and_wake<T, B: Backlog>(
    mut core: LockGuard<'_, Core<T, B>>,
    call: impl FnOnce(&mut Core<T, B>, &mut Wakes),
) {
    let mut wakes = Wakes::new();
    call(&mut core, &mut wakes);
    drop(core);
    wakes.fire();
}

impl<T, B: Backlog> Core<T, B> {
    #[inline]
    fn has_sleepers(&self) -> bool {
        self.getters.asleep() + self.adders.asleep() + self.drainers.asleep() > 0
    }

    /// One more item can be handed out.
    #[inline]
    pub(crate) fn work_came(&mut self, wakes: &mut Wakes) {
        if self.state.has_work() {
            self.getters.call(wakes);
        }
    }

    /// Room for one more item came up.
    #[inline]
    pub(crate) fn room_came(&mut self, wakes: &mut Wakes) {
        if self.state.has_room() && !planted("room-wakes-nobody") {
            self.adders.call(wakes);
        }
    }

    /// The state may have become idle.
    #[inline]
    pub(crate) fn idle_came(&mut self, wakes: &mut Wakes) {
        let between = planted("drain-between-two-items") && self.state.counts().in_flight == 0;
        if self.state.is_idle() || between {
            if planted("one-drainer-woken") {
                return self.drainers.call(wakes);
            }
            self.drainers.call_everybody(wakes);
        }
    }

    /// The queue was shut down.
    pub(crate) fn end_came(&mut self, wakes: &mut Wakes) {
        if planted("shutdown-wakes-one") {
            self.getters.call(wakes);
        } else {
            self.getters.call_everybody(wakes);
        }
        self.adders.call_everybody(wakes);
    }

    #[inline]
    pub(crate) fn after_finish(&mut self, finished: &Finished<T>, wakes: &mut Wakes) {
        match finished {
            Finished::Left { .. } => self.idle_came(wakes),
            Finished::Requeued { .. } if planted("requeue-wakes-nobody") => {}
            Finished::Requeued { .. } => self.work_came(wakes),
            Finished::Stale => {}
        }
    }

    /// A getter leaves the line, having got something or given up, and calls the next if it was woken and items
    /// remain. Its waker is handed out.
    #[must_use]
    pub(crate) fn getter_leaves(&mut self, key: Key, wakes: &mut Wakes) -> Option<Waker> {
        let (was_woken, waker) = self.getters.leave(key);
        if was_woken && self.state.has_work() {
            self.getters.call_for(1, wakes);
        }
        waker
    }

    /// The same for one that waits for room.
    #[must_use]
    pub(crate) fn adder_leaves(&mut self, key: Key, wakes: &mut Wakes) -> Option<Waker> {
        let (was_woken, waker) = self.adders.leave(key);
        if was_woken && self.state.has_room() {
            self.adders.call_for(1, wakes);
        }
        waker
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
