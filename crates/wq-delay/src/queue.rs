//! `DelayingQueue`: the handle, and the verbs that have to do with time. The verbs of the core queue are in `forward`.

use crate::after::After;
use crate::builder::Builder;
use crate::heap::{Inserted, Waiting};
use crate::planted::planted;
use crate::scheduled::Scheduled;
use crate::shared::{Pending, Shared};
use crate::tick::Tick;
use crate::wish::Wish;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wq_core::{Added, Backlog, DefaultHasher, DeferredWakes, Fifo, ItemHash, WorkQueue};

/// What happens when an item that waits for its deadline is added without a delay.
///
/// The answer of the add, and when the item comes out:
///
#[doc = include_str!("immediate_add.md")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ImmediateAdd {
    /// Both count, as in client-go: the item runs now, and once more at its deadline. No request is ever lost.
    #[default]
    Keep,
    /// One run, now: the add takes the waiting request with it. A deadline that was set only once is gone then.
    Merge,
    /// One run, later: the add joins the waiting request. An event can then wait as long as the longest delay; one that joins a
    /// request without an end (a delay of [`Duration::MAX`]) never comes out, unless that is
    /// [canceled](DelayingQueue::cancel) first, or moved.
    Defer,
}

/// A work queue whose items may be added now or for later.
///
/// All that [`wq_core::WorkQueue`] promises holds: an item is queued at most once, is in the hands of at most one guard,
/// and no add is forgotten. On top of that an item waits for at most one deadline, never comes out before it, and due
/// items come out in the order of their deadlines, equal ones in the order of adding.
///
/// No thread or task of its own keeps the time: the getters that wait do. Items become due while nobody waits, but it
/// is the next call that looks which queues them, the getters' and [`len`](Self::len) alike.
///
/// A clone is another handle to the same queue. `Hash`, `Eq` and `Clone` of items run under the queue's locks and must not
/// call the queue; if they panic, see [the crate](crate#panics-in-user-code).
#[doc(alias = "DelayingInterface")]
#[doc(alias = "TypedDelayingInterface")]
pub struct DelayingQueue<T, B: Backlog = Fifo, S = DefaultHasher> {
    pub(crate) core: WorkQueue<T, B, S>,
    pub(crate) shared: Arc<Shared<T, B>>,
}

impl<T> DelayingQueue<T> {
    /// Begins the settings of a queue. A [`timer`](Builder::timer) must be among them.
    #[doc(alias = "NewTypedDelayingQueue")]
    #[doc(alias = "TypedDelayingQueueConfig")]
    pub fn builder() -> Builder<T> {
        Builder::new()
    }
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Adds an item once this delay is over. A delay of zero is [`add`](Self::add), also for an item that waits: what
    /// becomes of the deadline is then for [`ImmediateAdd`] to say, as in client-go, and not for
    /// [`SecondAdd`](crate::SecondAdd). One beyond 584 years never ends.
    ///
    /// An item that waits already keeps one deadline: the earlier of the two, unless the builder's
    /// [`second_add`](Builder::second_add) says otherwise. Never waits.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, item: T, delay: Duration) -> Scheduled {
        self.add_after_with(item, delay, B::Order::default())
    }

    /// As [`add_after`](Self::add_after), with an order for the backlog. Orders of adds that lead to one hand-out are
    /// merged.
    ///
    /// # Panics
    ///
    /// As [`add_after`](Self::add_after), and if the backlog panics.
    pub fn add_after_with(&self, item: T, delay: Duration, order: B::Order) -> Scheduled {
        if delay.is_zero() {
            self.tell_retried();
            return Scheduled::at_once(self.add_with(item, order));
        }
        let now = self.shared.now();
        self.schedule(item, order, Wish::At(now.after(delay), self.shared.second_add), now)
    }

    /// Adds an item once the timer's clock shows this instant; at once if it does already. Otherwise as
    /// [`add_after`](Self::add_after).
    ///
    /// # Panics
    ///
    /// As [`add_after`](Self::add_after).
    pub fn add_at(&self, item: T, deadline: Instant) -> Scheduled {
        self.add_at_with(item, deadline, B::Order::default())
    }

    /// As [`add_at`](Self::add_at), with an order for the backlog.
    ///
    /// # Panics
    ///
    /// As [`add_after_with`](Self::add_after_with).
    pub fn add_at_with(&self, item: T, deadline: Instant, order: B::Order) -> Scheduled {
        let now = self.shared.now();
        let wish = Wish::At(self.shared.line.tick(deadline), self.shared.second_add);
        self.schedule(item, order, wish, now)
    }

    /// Takes a delayed item out: it does not come out at its deadline. `None` if it is not delayed, or was due already.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics. If the waker of a drain that this ends does, the item is out, and dropped.
    pub fn cancel<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.core.item_hash(item);
        let taken = self.settled(|pending, after| {
            let taken = pending.heap.remove(hash, item);
            self.shared.changed(pending, &self.core, after);
            taken
        });
        taken.map(|waiting| waiting.item)
    }

    /// When a delayed item will be due. `None` if it is not delayed, or was due already.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
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

    /// How many items wait for their deadline.
    ///
    /// # Panics
    ///
    /// As [`move_due`](Self::move_due).
    #[must_use]
    pub fn delayed_len(&self) -> usize {
        self.settled(|pending, _| pending.heap.len())
    }

    /// Queues the items that are due, as every getter and every verb that looks at queued items does.
    ///
    /// [`ProcessingGuard::done_and_get`](wq_core::ProcessingGuard::done_and_get) belongs to the queue
    /// below and does not: a worker that uses it alone calls this now and then, or another task runs
    /// [`keep_time`](Self::keep_time).
    pub fn move_due(&self) {
        self.shared.move_due(&self.core, None);
    }

    /// Takes no more items, now or for later. What is queued, or due already, is still handed out. The items whose
    /// deadline has not come are dropped from the queue and handed back, in the order of their deadlines; a second call
    /// has none.
    ///
    /// A worker that adds a failed item again after this call is answered [`Scheduled::ShutDown`]: the queue does not have the item then. Call
    /// [`drained`](Self::drained) first where all items are to be worked on.
    ///
    /// # Panics
    ///
    /// If `Eq` of an item that is due panics: the queue is not shut down then.
    #[doc(alias = "ShutDown")]
    #[must_use = "these items wait for their deadline, and the queue does not hand them out any more"]
    pub fn shutdown(&self) -> Vec<T> {
        let mut after = After::new();
        let delayed = self.end_delays(&mut after);
        self.core.shutdown();
        delayed
    }

    /// Shuts down and hands back all work that nobody has begun: what was queued, in the order of the backlog, then what
    /// would have run again, then what was delayed, in the order of the deadlines. Guards in flight end without a
    /// requeue.
    ///
    /// # Panics
    ///
    /// If `Eq` of an item that is due panics: the queue is not shut down then. If `Clone` of one that is to run again does:
    /// the delayed items are dropped.
    #[must_use = "these items will not be handed out any more"]
    pub fn shutdown_now(&self) -> Vec<T>
    where
        T: Clone,
    {
        let mut after = After::new();
        let delayed = self.end_delays(&mut after);
        let mut left = self.core.shutdown_now();
        left.extend(delayed);
        left
    }

    fn end_delays(&self, after: &mut After) -> Vec<T> {
        self.shared.move_due(&self.core, None);
        let mut pending = self.shared.lock();
        pending.is_shut_down = true;
        let items = pending.heap.take_all().into_iter().map(|waiting| waiting.item).collect();
        self.shared.changed(&mut pending, &self.core, after);
        let watchers = pending.keepers.everybody();
        after.wake(watchers);
        if planted("shutdown-drops-in-silence") { Vec::new() } else { items }
    }

    /// Runs a step under the lock, after what was due has been moved.
    pub(crate) fn settled<R>(&self, step: impl FnOnce(&mut Pending<T, B>, &mut After) -> R) -> R {
        self.shared.move_due(&self.core, None);
        self.look(step)
    }

    /// Runs a step under the lock.
    pub(crate) fn look<R>(&self, step: impl FnOnce(&mut Pending<T, B>, &mut After) -> R) -> R {
        let mut after = After::new();
        let mut pending = self.shared.lock();
        step(&mut pending, &mut after)
    }

    pub(crate) fn schedule(&self, item: T, order: B::Order, wish: Wish, now: Tick) -> Scheduled {
        self.tell_retried();
        if wish.term().deadline.is_due(now) {
            return Scheduled::at_once(self.add_now(item, order));
        }
        let hash = self.core.item_hash(&item);
        self.settle(hash, &item, now);
        let mut item = Some(item); // What is left of it is dropped after the lock.
        let mut after = After::new();
        let mut pending = self.shared.lock();
        if pending.is_shut_down {
            return Scheduled::ShutDown;
        }
        let before = pending.earliest();
        let inserted = pending.heap.insert(hash, &mut item, order, wish, B::merge);
        self.shared.gained(&mut pending, before, &mut after);
        match inserted {
            Inserted::New => Scheduled::Delayed,
            Inserted::Moved => Scheduled::Moved,
            Inserted::Kept => Scheduled::Kept,
        }
    }

    /// Sees to it that the item is queued if it was due at that time: what is due is no longer delayed, and no add may change
    /// its deadline. An adder pays for what is due before its item, which keeps its place in the order, and not for all else
    /// that is due, whoever should have seen to that.
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

    /// The same at present. Reads the clock only if something is delayed.
    pub(crate) fn settle_now<Q>(&self, hash: ItemHash, item: &Q)
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        if let Some(now) = self.shared.due_now() {
            self.settle(hash, item, now);
        }
    }

    /// Counts a delayed add in upstream's `retries`, as client-go does: also one without a delay, none after shutdown.
    pub(crate) fn tell_retried(&self) {
        if let Some(observer) = &self.shared.observer
            && !self.core.is_shutting_down()
        {
            observer.retried();
        }
    }

    /// An add without a delay, as the queue's policy has it.
    pub(crate) fn add_now(&self, item: T, order: B::Order) -> Added {
        let policy = self.shared.immediate_add;
        self.add_by(policy, policy, item, order)
    }

    /// Adds an item as [`add_with`](Self::add_with), for layers above: by the policy `retry` if the item
    /// waits for a [retry](Self::add_retry) alone, by the policy `other` otherwise.
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    pub fn add_by(&self, retry: ImmediateAdd, other: ImmediateAdd, item: T, order: B::Order) -> Added {
        if (retry, other) == (ImmediateAdd::Keep, ImmediateAdd::Keep) {
            return self.core.add_with(item, order);
        }
        let hash = self.core.item_hash(&item);
        self.settle_now(hash, &item);
        let _waited; // Dropped after the lock.
        let mut after = After::new();
        let mut adds = self.core.defer_wakes();
        let mut pending = self.shared.lock();
        let slot = pending.heap.find(hash, &item);
        let by = slot.map(|slot| if pending.heap.is_retry(slot) { retry } else { other });
        match (slot, by) {
            (Some(slot), Some(ImmediateAdd::Merge)) => {
                let added;
                (added, _waited) = self.take_along(&mut pending, slot, item, Some(order), &mut adds);
                self.shared.changed(&mut pending, &self.core, &mut after);
                added
            }
            (Some(slot), Some(ImmediateAdd::Defer)) => {
                pending.heap.join(slot, order, B::merge);
                drop(pending); // And then the item.
                Added::Merged
            }
            _ => {
                drop(pending);
                self.core.add_with(item, order)
            }
        }
    }

    /// One add of an item and of the request that waits for it: a worker between two would be asked to
    /// run it again. If the add panics the request still waits.
    fn take_along(
        &self,
        pending: &mut Pending<T, B>,
        slot: u32,
        item: T,
        order: Option<B::Order>,
        adds: &mut DeferredWakes<'_, T, B, S>,
    ) -> (Added, Option<Waiting<T, B::Order>>) {
        let mut merged = pending.heap.order(slot).cloned().unwrap_or_default();
        if let Some(order) = order {
            B::merge(&mut merged, order);
        }
        let added = adds.add(item, merged);
        (added, pending.heap.remove_at(slot))
    }

    /// After a bounded add that went through: with [`ImmediateAdd::Merge`] the waiting request is taken along.
    pub(crate) fn join_added(&self, hash: ItemHash, item: T) {
        self.settle_now(hash, &item);
        let _waited; // Dropped after the lock.
        let mut after = After::new();
        let mut adds = self.core.defer_wakes();
        let mut pending = self.shared.lock();
        if let Some(slot) = pending.heap.find(hash, &item) {
            (_, _waited) = self.take_along(&mut pending, slot, item, None, &mut adds);
            self.shared.changed(&mut pending, &self.core, &mut after);
        }
    }
}

impl<T, B: Backlog, S> DelayingQueue<T, B, S> {
    /// The present, by the queue's timer.
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
