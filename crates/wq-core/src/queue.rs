//! WorkQueue: the handle, and the verbs that neither add nor get.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use crate::backlog::{Backlog, Fifo, Survey};
use crate::builder::Builder;
use crate::hasher::{DefaultHasher, ItemHash};
use crate::news::News;
use crate::shared::{Shared, release};
use crate::snapshot::{Counts, Gauges, Phase, Snapshot};
use crate::state::Finished;
use crate::waiters::Wakes;

/// A work queue: an item waits in it at most once, is in the hands of at most one guard, and no add is forgotten.
///
/// A clone is another handle to the same queue. The queue lives as long as a handle, an owned guard or an owned future
/// does; dropping handles does not shut it down.
///
/// `T` is the key of the work, not the work itself: something small and cheap to clone (`Arc<str>`, an id). Its `Hash`
/// decides, together with `Eq`, what is one item; `Eq` and `Clone` run under the queue's lock and must not call the
/// queue. They may panic: the queue stays usable.
#[doc(alias = "Interface")]
#[doc(alias = "TypedInterface")]
pub struct WorkQueue<T, B: Backlog = Fifo, S = DefaultHasher> {
    pub(crate) shared: Arc<Shared<T, B>>,
    pub(crate) hasher: S,
}

impl<T> WorkQueue<T> {
    /// A queue without a bound, first in first out.
    #[must_use]
    #[doc(alias = "NewTyped")]
    pub fn new() -> Self {
        let shared = Shared::new(None, None, None, Fifo::default(), None);
        Self { shared: Arc::new(shared), hasher: DefaultHasher::default() }
    }

    /// Begins the settings of a queue: name, observer, backlog, capacity, hasher.
    #[doc(alias = "NewTypedWithConfig")]
    #[doc(alias = "TypedQueueConfig")]
    pub fn builder() -> Builder<T> {
        Builder::new()
    }
}

impl<T, B: Backlog, S> WorkQueue<T, B, S> {
    pub(crate) fn shared_ref(&self) -> &Shared<T, B> {
        &self.shared
    }

    /// The name given to the builder.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.shared.name.as_deref()
    }

    /// How many items are queued: neither those in flight nor those that will run again. Out of date as soon as it is
    /// known.
    #[must_use]
    #[doc(alias = "Len")]
    pub fn len(&self) -> usize {
        self.counts().queued
    }

    /// Whether no item is queued. Items may be in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items are where, counted under one lock, in constant time.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.lock().state.counts()
    }

    /// What a scrape of metrics reads: how many items are where and how long those in flight have been in hand, under one
    /// lock, in time proportional to the items in flight.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        self.shared.gauges()
    }

    /// What the backlog tells of the items that still have to be handed out, queued or to run again, under one lock.
    #[must_use]
    pub fn survey(&self) -> B::Found
    where
        B: Survey,
    {
        let mut found = B::Found::default();
        let _ = self.survey_into(&mut found);
        found
    }

    /// As [`survey`](Self::survey), added to what was found before, and with the gauges of the same moment. In time
    /// proportional to the items in flight, beside what the backlog takes; in a queue without an observer, which keeps no list of
    /// those, to the most items held lately while any is to run again.
    pub fn survey_into(&self, found: &mut B::Found) -> Gauges
    where
        B: Survey,
    {
        self.shared.survey_into(found)
    }

    /// Clones everything that the queue holds, under one lock: takes time in proportion to the most items held lately, and
    /// whoever else calls the queue waits for that.
    ///
    /// `Clone` of the items runs under that lock, as it does in a get: it must not call this queue, nor wait for somebody who
    /// does, which would be a deadlock. It may call others. Outside of the lock there is nothing to clone: the queue has its items
    /// by value, and the end of a guard may drop any of them as soon as the lock is free; to have each behind a pointer that can be
    /// shared would cost every add an allocation. Items that are such pointers (`Arc<str>`) are cloned in no time; of a queue with
    /// millions of others ask [`counts`](Self::counts) or [`survey`](Self::survey) instead.
    ///
    /// # Panics
    ///
    /// If `Clone` of an item panics. The queue is as before, and the clones made by then are dropped after the lock.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<T>
    where
        T: Clone,
    {
        let now = self.shared.now_for_ages();
        let counts = self.counts();
        // Before the lock, so that others need not wait for it, and dropped after it. What came meanwhile is made room for there.
        let mut items = Vec::with_capacity(counts.queued.saturating_add(counts.in_flight));
        let core = self.shared.lock();
        core.state.see(&mut items, now);
        Snapshot {
            items,
            counts: core.state.counts(),
            is_paused: core.state.is_paused(),
            is_shutting_down: core.state.is_shutting_down(),
        }
    }

    /// Stops handing out items until [`resume`](Self::resume) or shutdown: gets wait although items are queued. Adds and
    /// guards go on. No effect after shutdown. Pauses are not counted: one `resume` ends all.
    pub fn pause(&self) {
        self.shared.lock().state.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        let mut wakes = Wakes::new();
        let mut core = self.shared.lock();
        core.state.resume();
        let queued = core.state.counts().queued;
        core.getters.call_for(queued, 0, &mut wakes);
        drop(core);
        wakes.fire();
    }

    /// Whether the queue was shut down. It never comes back from that.
    #[must_use]
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.shared.lock().state.is_shutting_down()
    }

    /// Takes no more items; what is queued, and what comes back from guards, is still handed out, and then every get
    /// answers `None`. Ends a pause. Does not wait: see [`drained`](Self::drained).
    #[doc(alias = "ShutDown")]
    pub fn shutdown(&self) {
        let mut wakes = Wakes::new();
        let mut core = self.shared.lock();
        core.state.shutdown();
        core.end_came(&mut wakes);
        drop(core);
        wakes.fire();
    }

    /// Shuts down and hands back the work that nobody has begun: what was queued, in the order of the backlog, then what
    /// would have run again. Guards in flight end without a requeue.
    ///
    /// # Panics
    ///
    /// If `Clone` of an item panics; the queue is then shut down, and holds its items still.
    #[must_use = "these items will not be handed out any more"]
    pub fn shutdown_now(&self) -> Vec<T>
    where
        T: Clone,
    {
        let mut items = Vec::new();
        let mut wakes = Wakes::new();
        let mut core = self.shared.lock();
        core.state.shutdown();
        core.end_came(&mut wakes);
        core.state.take_all(&mut items);
        core.tell(News::IDLE, &mut wakes);
        drop(core);
        wakes.fire();
        self.shared.observe(|observer| items.iter().for_each(|_| observer.removed()));
        items
    }

    /// Gives back memory that is not in use, in time proportional to the most items held lately. What lies below the highest
    /// place that an item is held in stays. An empty queue does this by itself too, after a while of low occupancy.
    pub fn shrink(&self) {
        let mut core = self.shared.lock();
        core.state.shrink();
        core.getters.shrink();
        core.drainers.shrink();
    }
}

impl<T, B: Backlog, S: BuildHasher> WorkQueue<T, B, S> {
    /// Whether the queue holds this item: queued or in flight.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    #[must_use]
    pub fn contains<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        self.shared.lock().state.phase(item, hash).is_some()
    }

    /// Where this item is; `None` if the queue does not hold it. Out of date as soon as it is known.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    #[must_use]
    pub fn phase<Q>(&self, item: &Q) -> Option<Phase>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        self.shared.lock().state.phase(item, hash)
    }

    /// Takes a queued item out: it is not handed out for the adds made so far. `None` if it is not queued; one that is
    /// being processed is left alone, together with its mark to run again.
    ///
    /// With [`Fifo`] it takes time in proportion to the items queued.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    pub fn remove<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        let mut core = self.shared.lock();
        let removed = core.state.remove(item, hash);
        release(core, if removed.is_some() { News::IDLE } else { News::NONE });
        let (item, _order) = removed?;
        self.shared.observe(|observer| observer.removed());
        Some(item)
    }

    /// Ends the processing of an item whose guard was forgotten, as if the guard had ended now. Says whether somebody held
    /// the item.
    ///
    /// If its holder is in truth still at work, the item can be in two hands from here on; that holder's guard has no
    /// effect any more, neither on the item nor on its next holder, unless it is kept for exactly 2^30 hand-outs.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics. If a waker, the observer or `Drop` of the item panics, its processing has ended.
    pub fn abandon<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        let now = self.shared.now();
        let mut core = self.shared.lock();
        let finished = core.state.abandon(item, hash, now);
        let was_held = !matches!(finished, Finished::Stale);
        self.shared.unlock_and_end(core, finished);
        was_held
    }
}

impl<T, B: Backlog, S: Clone> Clone for WorkQueue<T, B, S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), hasher: self.hasher.clone() }
    }
}

impl<T> Default for WorkQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, B: Backlog, S> fmt::Debug for WorkQueue<T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
