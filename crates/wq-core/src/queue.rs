//! WorkQueue: the handle, and the verbs that neither add nor get.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use crate::backlog::{Backlog, Fifo};
use crate::hasher::{DefaultHasher, ItemHash};
use crate::shared::{Shared, release};
use crate::snapshot::{Counts, Phase, Snapshot};
use crate::state::Finished;
use crate::transition::Transition;
use crate::waiters::Wakes;

/// A FIFO work queue: an item is queued at most once, has at most one holder, and no add is
/// forgotten.
///
/// A clone is another handle to the same queue. The queue lives as long as a handle, an owned guard
/// or an owned future. Dropping the handles does not shut it down.
///
/// `T` is the key of the work, not the work itself: small and cheap to clone, such as `Arc<str>` or
/// an id. `Hash` and `Eq` decide which items are equal. `Eq` and `Clone` run under the queue's lock
/// and must not call the queue.
#[doc(alias = "Interface")]
#[doc(alias = "TypedInterface")]
pub struct WorkQueue<T, B: Backlog = Fifo, S = DefaultHasher> {
    pub(crate) shared: Arc<Shared<T, B>>,
    pub(crate) hasher: S,
}

impl<T> WorkQueue<T> {
    /// Makes a FIFO queue without a capacity.
    #[must_use]
    #[doc(alias = "NewTyped")]
    pub fn new() -> Self {
        let shared = Shared::new(None, None, None, Fifo::default(), None);
        Self { shared: Arc::new(shared), hasher: DefaultHasher::default() }
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

    /// The number of items in each phase, at one moment. Takes constant time.
    ///
    /// ```
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::new();
    /// queue.add_all(["a", "b"]);
    /// let _guard = queue.try_get()?;
    /// assert_eq!((queue.counts().queued, queue.counts().in_flight), (1, 1));
    /// # Ok::<(), wq_core::TryGetError>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.lock().state.counts()
    }

    /// Clones every item while holding the queue's lock. Cost is linear in the recent peak size,
    /// and all other calls block meanwhile.
    ///
    /// For a queue with millions of items use [`counts`](Self::counts), or items that are cheap to
    /// clone (`Arc<str>`). `Clone` of an item must not call this queue,
    /// nor wait for a thread that does: that is a deadlock.
    ///
    /// ```
    /// use wq_core::{Phase, WorkQueue};
    ///
    /// let queue = WorkQueue::new();
    /// queue.add("a");
    /// let snapshot = queue.snapshot();
    /// assert_eq!((snapshot.items[0].item, snapshot.items[0].phase), ("a", Phase::Queued));
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<T>
    where
        T: Clone,
    {
        let now = self.shared.now_for_ages();
        let counts = self.counts();
        // Reserved before the lock, so that other calls wait less, and dropped after it. `see`
        // reserves more if items came meanwhile.
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

    /// Stops hand-outs until [`resume`](Self::resume) or shutdown: gets wait although items are
    /// queued.
    ///
    /// Adds and guards go on. Pauses are not counted: one `resume` ends all. Does nothing after
    /// shutdown.
    ///
    /// ```
    /// use wq_core::{TryGetError, WorkQueue};
    ///
    /// let queue = WorkQueue::new();
    /// queue.add("a");
    /// queue.pause();
    /// assert_eq!(queue.try_get().unwrap_err(), TryGetError::Empty);
    /// queue.resume();
    /// assert_eq!(*queue.try_get()?.item(), "a");
    /// # Ok::<(), TryGetError>(())
    /// ```
    pub fn pause(&self) {
        self.shared.lock().state.pause();
    }

    /// Ends a pause and wakes getters. See [`pause`](Self::pause).
    pub fn resume(&self) {
        let mut wakes = Wakes::new();
        let mut core = self.shared.lock();
        core.state.resume();
        let queued = core.state.counts().queued;
        core.getters.call_for(queued, 0, &mut wakes);
        drop(core);
        wakes.fire();
    }

    /// Whether the queue is shut down. A shutdown is final.
    #[must_use]
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.shared.lock().state.is_shutting_down()
    }

    /// Refuses adds from now on. Items that are queued or run again are still handed out; then
    /// every get returns `None`.
    ///
    /// Ends a pause. Does not wait: see [`drained`](Self::drained).
    ///
    /// ```
    /// use wq_core::{Added, TryGetError, WorkQueue};
    ///
    /// let queue = WorkQueue::new();
    /// queue.add("a");
    /// queue.shutdown();
    /// assert_eq!(queue.add("b"), Added::ShutDown);
    /// queue.try_get()?.done();
    /// assert_eq!(queue.try_get().unwrap_err(), TryGetError::ShutDown);
    /// # Ok::<(), TryGetError>(())
    /// ```
    #[doc(alias = "ShutDown")]
    pub fn shutdown(&self) {
        let mut wakes = Wakes::new();
        let mut core = self.shared.lock();
        core.state.shutdown();
        core.end_came(&mut wakes);
        drop(core);
        wakes.fire();
    }

    /// Shuts down and returns the items that no worker has started: the queued items in the
    /// backlog's order, then items that would run again.
    ///
    /// Guards in flight then end without a requeue.
    ///
    /// ```
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::new();
    /// queue.add_all(["a", "b"]);
    /// let a = queue.try_get()?;
    /// assert_eq!(queue.shutdown_now(), ["b"]);
    /// a.done();
    /// assert!(queue.counts().is_idle());
    /// # Ok::<(), wq_core::TryGetError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `Clone` of an item panics. The queue is then shut down and still holds its items.
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
        core.tell(Transition::IDLE, &mut wakes);
        drop(core);
        wakes.fire();
        self.shared.observe(|observer| items.iter().for_each(|_| observer.removed()));
        items
    }
}

impl<T, B: Backlog, S: BuildHasher> WorkQueue<T, B, S> {
    /// The phase of this item, or `None` if the queue does not hold it. Other threads can change it
    /// at any time.
    #[must_use]
    pub fn phase<Q>(&self, item: &Q) -> Option<Phase>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        self.shared.lock().state.phase(item, hash)
    }

    /// Removes a queued item and returns it. `None` if it is not queued: an item in flight stays,
    /// and so does its mark to run again.
    ///
    /// With [`Fifo`] it takes time linear in the number of queued items.
    ///
    /// ```
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::new();
    /// queue.add("a");
    /// assert_eq!(queue.remove("a"), Some("a"));
    /// assert_eq!(queue.counts().queued, 0);
    /// ```
    pub fn remove<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        let mut core = self.shared.lock();
        let removed = core.state.remove(item, hash);
        release(core, if removed.is_some() { Transition::IDLE } else { Transition::NONE });
        let (item, _order) = removed?;
        self.shared.observe(|observer| observer.removed());
        Some(item)
    }

    /// Ends the processing of an item whose guard was forgotten, as the end of the guard would.
    /// Returns whether the item was in flight.
    ///
    /// If its holder still works, the item can get a second holder from here on. The first holder's
    /// guard then has no effect on the item or on its next holder, unless it is kept for exactly
    /// 2^30 hand-outs.
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
