//! Add: the ways to add an item to the queue.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

use crate::added::{Added, AddedAll, Rejected, RejectedReason};
use crate::backlog::Backlog;
use crate::hasher::ItemHash;
use crate::insert::{Borrowed, Insert};
use crate::lock::LockGuard;
use crate::queue::WorkQueue;
use crate::shared::{Core, Shared, release};
use crate::transition::Transition;
use crate::waiters::Wakes;

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> WorkQueue<T, B, S> {
    /// Adds an item, which is handed out once after this call. Never waits, and ignores the
    /// capacity.
    ///
    /// An item that is queued already stays as it is. An item that is being processed runs again
    /// afterwards. After shutdown the item is dropped. Only a worker that adds a failed item again
    /// needs the answer.
    ///
    /// ```
    /// use wq_core::{Added, WorkQueue};
    ///
    /// let queue = WorkQueue::new();
    /// assert_eq!(queue.add("a"), Added::Queued);
    /// assert_eq!(queue.add("a"), Added::Merged);
    /// let guard = queue.try_get()?;
    /// assert_eq!(queue.add("a"), Added::Deferred); // Runs again after `guard`.
    /// # Ok::<(), wq_core::TryGetError>(())
    /// ```
    #[doc(alias = "Add")]
    pub fn add(&self, item: T) -> Added {
        self.add_with(item, B::Order::default())
    }

    /// As [`add`](Self::add), with an order for the backlog. Orders of adds that lead to one
    /// hand-out are merged.
    #[inline]
    pub fn add_with(&self, item: T, order: B::Order) -> Added {
        let hash = ItemHash::of(&item, &self.hasher);
        self.shared.add(&mut Some(item), hash, order)
    }

    /// As [`add`](Self::add), by a borrowed key, such as `&str` for `String` or `Arc<str>`. Makes
    /// the item only if the queue does not hold it, which is cheaper if most adds are merged.
    ///
    /// `From` runs under the queue's lock: it must be quick and must not call the queue.
    #[inline]
    pub fn add_ref<Q>(&self, item: &Q) -> Added
    where
        T: Borrow<Q> + for<'q> From<&'q Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        self.shared.add(&mut Borrowed::new(item), hash, B::Order::default())
    }

    /// Adds an item unless the queue is full: as many items as its capacity are queued or will run
    /// again.
    ///
    /// An item that is queued already needs no room. A queue without a capacity is never full.
    ///
    /// ```
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::builder().capacity(1).build()?;
    /// queue.try_add("a")?;
    /// let refused = queue.try_add("b").unwrap_err();
    /// assert_eq!(refused.into_item(), "b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Rejected`] returns the item if there is no room, and after shutdown.
    pub fn try_add(&self, item: T) -> Result<Added, Rejected<T>> {
        let hash = ItemHash::of(&item, &self.hasher);
        let now = self.shared.now();
        let mut item = Some(item);
        let mut core = self.shared.lock();
        let answer = core.state.add(&mut item, hash, B::Order::default(), true, now);
        let capacity = core.state.capacity();
        release(core, answer.map_or(Transition::NONE, Transition::of_add));
        self.shared.observe(|observer| match answer {
            Some(added) => observer.added(added),
            None => observer.refused(),
        });
        let reason = match (answer, capacity) {
            (None, Some(capacity)) => RejectedReason::Full { capacity },
            (None, None) | (Some(Added::ShutDown), _) => RejectedReason::ShutDown,
            (Some(added), _) => return Ok(added),
        };
        // The item of a refused add is still here.
        item.map_or(Ok(Added::Merged), |item| Err(Rejected::new(item, reason)))
    }

    /// Adds items in order under one lock, then wakes getters. Otherwise as [`add`](Self::add) for
    /// each item.
    ///
    /// The iterator and `Hash` of all items run before the lock.
    ///
    /// ```
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::new();
    /// let added = queue.add_all(["a", "b", "a"]);
    /// assert_eq!((added.queued, added.merged), (2, 1));
    /// ```
    ///
    /// # Panics
    ///
    /// If the iterator or `Hash` of an item panics: nothing was added. If `Eq` of an item panics:
    /// the items before it were added, their getters are woken, and the observer is notified.
    pub fn add_all(&self, items: impl IntoIterator<Item = T>) -> AddedAll {
        self.add_all_with(items.into_iter().map(|item| (item, B::Order::default())))
    }

    /// As [`add_all`](Self::add_all), with an order for each item.
    ///
    /// # Panics
    ///
    /// As [`add_all`](Self::add_all).
    pub fn add_all_with(&self, items: impl IntoIterator<Item = (T, B::Order)>) -> AddedAll {
        // Items that the queue does not take stay in this Vec, and are dropped after the lock.
        let hashed = items.into_iter().map(|(item, order)| {
            let hash = ItemHash::of(&item, &self.hasher);
            (Some(item), hash, order)
        });
        let mut items: Vec<_> = hashed.collect();
        let now = self.shared.now();
        let all;
        {
            let mut sweep = Sweep {
                shared: self.shared_ref(),
                added: AddedAll::default(),
                answers: Vec::new(),
                is_over: false,
                wakes: Wakes::new(),
            };
            let mut core = sweep.shared.lock();
            // One look is enough under one lock, and no memory is to be released in between.
            if core.state.is_open() {
                for (item, hash, order) in &mut items {
                    let order = std::mem::take(order);
                    // Without a bound there is always an answer.
                    let added = core
                        .state
                        .add_open(item, *hash, order, false, now)
                        .unwrap_or(Added::ShutDown);
                    sweep.added.count(added);
                    if now.is_some() {
                        sweep.answers.push(added);
                    }
                }
            } else {
                sweep.added.shut_down = items.len();
                sweep.answers.resize(if now.is_some() { items.len() } else { 0 }, Added::ShutDown);
            }
            all = sweep.added;
            if core.state.has_work() {
                core.getters.call_for(all.queued, again(all), &mut sweep.wakes);
            }
            sweep.is_over = true;
        }
        all
    }
}

/// Wakes getters and notifies the observer for a whole batch, also if an item in its middle panics.
struct Sweep<'q, T, B: Backlog> {
    shared: &'q Shared<T, B>,
    added: AddedAll,
    /// The result of each add, if there is an observer.
    answers: Vec<Added>,
    is_over: bool,
    wakes: Wakes,
}

/// How many adds of a batch brought nothing new ([`Transition::of_add`]).
fn again(added: AddedAll) -> usize {
    added.merged + added.deferred
}

impl<T, B: Backlog> Drop for Sweep<'_, T, B> {
    fn drop(&mut self) {
        if !self.is_over && self.added.queued > 0 {
            let mut core = self.shared.lock();
            if core.state.has_work() {
                core.getters.call_for(self.added.queued, again(self.added), &mut self.wakes);
            }
        }
        std::mem::take(&mut self.wakes).fire();
        self.shared
            .observe(|observer| self.answers.iter().for_each(|&added| observer.added(added)));
    }
}

impl<T, B: Backlog> Shared<T, B> {
    /// Adds without a bound. An item that the queue does not take stays in `insert`.
    #[inline]
    fn add(&self, insert: &mut impl Insert<T>, hash: ItemHash, order: B::Order) -> Added {
        match self.now() {
            None => {
                let (core, added) = self.add_at(insert, hash, order, None);
                release(core, Transition::of_add(added));
                added
            }
            now => self.add_observed(insert, hash, order, now),
        }
    }

    #[inline(never)]
    fn add_observed(
        &self,
        insert: &mut impl Insert<T>,
        hash: ItemHash,
        order: B::Order,
        now: Option<Instant>,
    ) -> Added {
        let (core, added) = self.add_at(insert, hash, order, now);
        release(core, Transition::of_add(added));
        self.observe(|observer| observer.added(added));
        added
    }

    #[inline(always)]
    fn add_at(
        &self,
        insert: &mut impl Insert<T>,
        hash: ItemHash,
        order: B::Order,
        now: Option<Instant>,
    ) -> (LockGuard<'_, Core<T, B>>, Added) {
        let mut core = self.lock();
        // Without a bound there is always an answer.
        let added = core.state.add(insert, hash, order, false, now).unwrap_or(Added::ShutDown);
        (core, added)
    }
}
