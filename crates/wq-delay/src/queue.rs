//! DelayingQueue: the handle, and the verbs of time. The core queue's verbs are in `forward`.

use crate::deadline::DeadlineRequest;
use crate::heap::Inserted;
use crate::planted::planted;
use crate::scheduled::Scheduled;
use crate::shared::{Pending, Shared};
use crate::tick::Tick;
use crate::wakes::Wakes;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wq_core::{Backlog, DefaultHasher, Fifo, ItemHash, WorkQueue};

/// A work queue whose items can be added now or for later.
///
/// The guarantees of [`wq_core::WorkQueue`] hold: an item is queued at most once, has at most one
/// holder, and no add is forgotten. An item has at most one deadline and never comes out before it.
/// Due items come out in the order of their deadlines, equal deadlines FIFO.
///
/// The queue starts no thread and no task: waiting getters keep the time. If no getter waits, a due
/// item is queued by the next call that needs it, such as a get or [`counts`](Self::counts).
///
/// A clone is another handle to the same queue. `Hash`, `Eq` and `Clone` of items run under the
/// queue's locks and must not call the queue; if they panic, see [the
/// crate](crate#panics-in-user-code).
#[doc(alias = "DelayingInterface")]
#[doc(alias = "TypedDelayingInterface")]
pub struct DelayingQueue<T, B: Backlog = Fifo, S = DefaultHasher> {
    pub(crate) core: WorkQueue<T, B, S>,
    pub(crate) shared: Arc<Shared<T, B>>,
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Adds an item when this delay is over. Never waits.
    ///
    /// If the item is delayed already, the earlier deadline wins; the builder's
    /// [`second_add`](crate::Builder::second_add) sets another rule. A delay of zero is
    /// [`add`](Self::add), also for a delayed item. A deadline more than 584 years after the queue
    /// was built is never due.
    ///
    /// ```
    /// use std::time::Duration;
    /// use wq_delay::{DelayingQueue, ManualTimer, Scheduled};
    ///
    /// let timer = ManualTimer::new();
    /// let queue = DelayingQueue::builder().timer(timer.clone()).build()?;
    /// assert_eq!(queue.add_after("a", Duration::from_secs(5)), Scheduled::Delayed);
    /// assert!(queue.try_get().is_err());
    /// timer.advance(Duration::from_secs(5));
    /// assert_eq!(*queue.try_get()?.item(), "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, item: T, delay: Duration) -> Scheduled {
        self.add_after_with(item, delay, B::Order::default())
    }

    /// As [`add_after`](Self::add_after), with an order for the backlog. Orders of adds that lead
    /// to one hand-out are merged.
    pub fn add_after_with(&self, item: T, delay: Duration, order: B::Order) -> Scheduled {
        if delay.is_zero() {
            self.tell_retried();
            return Scheduled::at_once(self.add_with(item, order));
        }
        let now = self.shared.now();
        self.schedule(
            item,
            order,
            DeadlineRequest::At(now.after(delay), self.shared.second_add),
            now,
        )
    }

    /// Adds an item when the timer's clock shows this instant, or at once if it has passed.
    /// Otherwise as [`add_after`](Self::add_after).
    ///
    /// ```
    /// use std::time::Duration;
    /// use wq_delay::{DelayingQueue, ManualTimer};
    ///
    /// let queue = DelayingQueue::builder().timer(ManualTimer::new()).build()?;
    /// let deadline = queue.now() + Duration::from_secs(5);
    /// queue.add_at("a", deadline);
    /// assert_eq!(queue.deadline("a"), Some(deadline));
    /// # Ok::<(), wq_delay::BuildError>(())
    /// ```
    pub fn add_at(&self, item: T, deadline: Instant) -> Scheduled {
        self.add_at_with(item, deadline, B::Order::default())
    }

    /// As [`add_at`](Self::add_at), with an order for the backlog.
    pub fn add_at_with(&self, item: T, deadline: Instant, order: B::Order) -> Scheduled {
        let now = self.shared.now();
        let wish = DeadlineRequest::At(self.shared.line.tick(deadline), self.shared.second_add);
        self.schedule(item, order, wish, now)
    }

    /// Removes a delayed item and returns it. `None` if it is not delayed, or is due already.
    ///
    /// ```
    /// use std::time::Duration;
    /// use wq_delay::{DelayingQueue, ManualTimer};
    ///
    /// let queue = DelayingQueue::builder().timer(ManualTimer::new()).build()?;
    /// queue.add_after("a", Duration::from_secs(5));
    /// assert_eq!(queue.cancel("a"), Some("a"));
    /// assert_eq!(queue.delayed_len(), 0);
    /// # Ok::<(), wq_delay::BuildError>(())
    /// ```
    pub fn cancel<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.core.item_hash(item);
        let taken = self.settled(|pending, wakes| {
            let taken = pending.heap.remove(hash, item);
            self.shared.changed(pending, &self.core, wakes);
            taken
        });
        taken.map(|waiting| waiting.item)
    }

    /// The deadline of a delayed item. `None` if it is not delayed, or is due already.
    ///
    /// ```
    /// use std::time::Duration;
    /// use wq_delay::{DelayingQueue, ManualTimer};
    ///
    /// let queue = DelayingQueue::builder().timer(ManualTimer::new()).build()?;
    /// queue.add_after("a", Duration::from_secs(5));
    /// assert_eq!(queue.deadline("a"), Some(queue.now() + Duration::from_secs(5)));
    /// # Ok::<(), wq_delay::BuildError>(())
    /// ```
    #[must_use]
    pub fn deadline<Q>(&self, item: &Q) -> Option<Instant>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.core.item_hash(item);
        let deadline = self.settled(|pending, _| pending.heap.deadline(hash, item))?;
        Some(self.shared.line.instant(deadline))
    }

    /// The number of items that wait for their deadline.
    #[must_use]
    pub fn delayed_len(&self) -> usize {
        self.settled(|pending, _| pending.heap.len())
    }

    /// Queues the items that are due, as every getter and every verb that looks at queued items
    /// does.
    ///
    /// [`ProcessingGuard::done_and_get`](wq_core::ProcessingGuard::done_and_get) belongs to the
    /// queue below and does not: a worker that uses it alone calls this now and then, or
    /// another task runs [`keep_time`](Self::keep_time).
    pub fn move_due(&self) {
        self.shared.move_due(&self.core, None);
    }

    /// Refuses adds from now on, and returns the delayed items in the order of their deadlines.
    ///
    /// Items that are queued or due are still handed out; then every get returns `None`. A second
    /// call returns no items. Delayed adds then return [`Scheduled::ShutDown`]: a worker keeps its
    /// failed item itself.
    ///
    /// If delayed items must run first, wait for [`drained`](Self::drained) before the shutdown.
    ///
    /// ```
    /// use std::time::Duration;
    /// use wq_delay::{DelayingQueue, ManualTimer};
    ///
    /// let queue = DelayingQueue::builder().timer(ManualTimer::new()).build()?;
    /// queue.add("a");
    /// queue.add_after("b", Duration::from_secs(5));
    /// assert_eq!(queue.shutdown(), ["b"]);
    /// assert_eq!(*queue.try_get()?.item(), "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `Eq` of a due item panics. The queue is not shut down then.
    #[doc(alias = "ShutDown")]
    #[must_use = "these items wait for their deadline, and the queue does not hand them out any more"]
    pub fn shutdown(&self) -> Vec<T> {
        let mut wakes = Wakes::new();
        let delayed = self.end_delays(&mut wakes);
        self.core.shutdown();
        delayed
    }

    /// Shuts down and returns the items that no worker has started: the queued items in the
    /// backlog's order, items that would run again, then the delayed items by deadline.
    ///
    /// Guards in flight then end without a requeue.
    ///
    /// # Panics
    ///
    /// If `Eq` of a due item panics: the queue is not shut down then. If `Clone` of an item that
    /// would run again panics: the delayed items are dropped.
    #[must_use = "these items will not be handed out any more"]
    pub fn shutdown_now(&self) -> Vec<T>
    where
        T: Clone,
    {
        let mut wakes = Wakes::new();
        let delayed = self.end_delays(&mut wakes);
        let mut left = self.core.shutdown_now();
        left.extend(delayed);
        left
    }

    fn end_delays(&self, wakes: &mut Wakes) -> Vec<T> {
        self.shared.move_due(&self.core, None);
        let mut pending = self.shared.lock();
        pending.is_shut_down = true;
        let items = pending.heap.take_all().into_iter().map(|waiting| waiting.item).collect();
        self.shared.changed(&mut pending, &self.core, wakes);
        let watchers = pending.keepers.everybody();
        wakes.extend(watchers);
        if planted("shutdown-drops-in-silence") { Vec::new() } else { items }
    }

    /// Moves due items, then runs a step under the lock.
    pub(crate) fn settled<R>(&self, step: impl FnOnce(&mut Pending<T, B>, &mut Wakes) -> R) -> R {
        self.shared.move_due(&self.core, None);
        self.look(step)
    }

    /// Runs a step under the lock.
    pub(crate) fn look<R>(&self, step: impl FnOnce(&mut Pending<T, B>, &mut Wakes) -> R) -> R {
        let mut wakes = Wakes::new();
        let mut pending = self.shared.lock();
        step(&mut pending, &mut wakes)
    }

    pub(crate) fn schedule(
        &self,
        item: T,
        order: B::Order,
        request: DeadlineRequest,
        now: Tick,
    ) -> Scheduled {
        self.tell_retried();
        if request.deadline().due.is_due(now) {
            return Scheduled::at_once(self.add_now(item, order));
        }
        let hash = self.core.item_hash(&item);
        self.settle(hash, &item, now);
        let mut item = Some(item); // Dropped after the lock.
        let mut wakes = Wakes::new();
        let mut pending = self.shared.lock();
        if pending.is_shut_down {
            return Scheduled::ShutDown;
        }
        let before = pending.earliest();
        let inserted = pending.heap.insert(hash, &mut item, order, request, B::merge);
        self.shared.gained(&mut pending, before, &mut wakes);
        match inserted {
            Inserted::New => Scheduled::Delayed,
            Inserted::Moved => Scheduled::Moved,
            Inserted::Kept => Scheduled::Kept,
        }
    }

    /// Queues the item if it was due at `now`: no add may change a deadline that has come. Moves
    /// due items in batches until the item is not among them.
    fn settle<Q>(&self, hash: ItemHash, item: &Q, now: Tick)
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        while self.shared.is_due_at(now) {
            self.shared.move_some(&self.core, now, None);
            let deadline = self.shared.lock().heap.deadline(hash, item);
            if !deadline.is_some_and(|deadline| deadline.is_due(now)) {
                return;
            }
        }
    }

    /// As `settle`, at the present time. Reads the clock only if an item is delayed.
    pub(crate) fn settle_now<Q>(&self, hash: ItemHash, item: &Q)
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        if let Some(now) = self.shared.due_now() {
            self.settle(hash, item, now);
        }
    }

    /// Counts a delayed add in client-go's metric `retries`: also without a delay, not after
    /// shutdown.
    pub(crate) fn tell_retried(&self) {
        if let Some(observer) = &self.shared.observer
            && !self.core.is_shutting_down()
        {
            observer.retried();
        }
    }
}

impl<T, B: Backlog, S> DelayingQueue<T, B, S> {
    /// The present time of the queue's timer.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.shared.timer.now()
    }
}

impl<T, B: Backlog, S: Clone> Clone for DelayingQueue<T, B, S> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<T, B: Backlog, S> fmt::Debug for DelayingQueue<T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delayed = self.shared.lock().heap.len();
        f.debug_struct("DelayingQueue")
            .field("core", &self.core)
            .field("delayed", &delayed)
            .field("timer", &self.shared.timer)
            .finish_non_exhaustive()
    }
}
