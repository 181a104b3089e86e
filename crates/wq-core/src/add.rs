//! Add: the ways to put an item into the queue.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

use crate::added::{Added, AddedAll, Rejected, RejectedReason};
use crate::backlog::Backlog;
use crate::hasher::ItemHash;
use crate::lock::LockGuard;
use crate::news::News;
use crate::offer::{Borrowed, Offer};
use crate::queue::WorkQueue;
use crate::shared::{Core, Shared, release};
use crate::waiters::Wakes;

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> WorkQueue<T, B, S> {
    /// Adds an item, to be handed out once after this call.
    ///
    /// If it waits already, nothing changes; if it is being processed, it runs again afterwards. Never waits and never
    /// refuses for want of capacity; after shutdown the item is dropped. The answer may be ignored.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics; the queue is then unchanged. If the waker of one who waits for an item panics, or the
    /// observer; the item has then been added, and the observer has been told.
    #[doc(alias = "Add")]
    pub fn add(&self, item: T) -> Added {
        self.add_with(item, B::Order::default())
    }

    /// As [`add`](Self::add), with an order that the backlog understands. Orders of adds that lead to one hand-out are
    /// merged.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add), and if the backlog panics.
    #[inline]
    pub fn add_with(&self, item: T, order: B::Order) -> Added {
        let hash = ItemHash::of(&item, &self.hasher);
        self.shared.add(&mut Some(item), hash, order)
    }

    /// Adds an item by what it is known by, as a `&str` for a `String` or an `Arc<str>`: the item is made only if the queue
    /// does not hold it. Otherwise as [`add`](Self::add), for adds that mostly find their item there already.
    ///
    /// The item is made under the queue's lock: `From` must be quick, and must not call the queue.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add), and if `From` panics.
    #[inline]
    pub fn add_ref<Q>(&self, item: &Q) -> Added
    where
        T: Borrow<Q> + for<'q> From<&'q Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        self.shared.add(&mut Borrowed::new(item), hash, B::Order::default())
    }

    /// Adds an item unless the queue is full: as many items as its capacity are queued or will run again.
    ///
    /// An item that waits already needs no room. Without a capacity a queue is never full.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if there is no room, and after shutdown.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add).
    pub fn try_add(&self, item: T) -> Result<Added, Rejected<T>> {
        let hash = ItemHash::of(&item, &self.hasher);
        let now = self.shared.now();
        let mut item = Some(item);
        let mut core = self.shared.lock();
        let answer = core.state.add(&mut item, hash, B::Order::default(), true, now);
        let capacity = core.state.capacity();
        release(core, answer.map_or(News::NONE, News::of_add));
        self.shared.observe(|observer| match answer {
            Some(added) => observer.added(added),
            None => observer.refused(),
        });
        let reason = match (answer, capacity) {
            (None, Some(capacity)) => RejectedReason::Full { capacity },
            (None, None) | (Some(Added::ShutDown), _) => RejectedReason::ShutDown,
            (Some(added), _) => return Ok(added),
        };
        // The item of a refused add was not taken, so it is here.
        item.map_or(Ok(Added::Merged), |item| Err(Rejected::new(item, reason)))
    }

    /// Adds items in their order under one lock, and then wakes. Otherwise as [`add`](Self::add) for each.
    ///
    /// The iterator is run, and all items are hashed, before the lock is taken.
    ///
    /// # Panics
    ///
    /// If the iterator or `Hash` of an item panics; nothing has then been added. If `Eq` of an item panics; the items before that
    /// one have then been added, whoever waits for them is woken, and the observer is told. If a waker or the observer panics; all
    /// have then been added.
    pub fn add_all(&self, items: impl IntoIterator<Item = T>) -> AddedAll {
        self.add_all_with(items.into_iter().map(|item| (item, B::Order::default())))
    }

    /// As [`add_all`](Self::add_all), with an order for each item.
    ///
    /// # Panics
    ///
    /// As [`add_all`](Self::add_all), and if the backlog panics.
    pub fn add_all_with(&self, items: impl IntoIterator<Item = (T, B::Order)>) -> AddedAll {
        // What is not taken into the queue stays in this Vec, to be dropped after the lock.
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
            // Under one lock: it stays so, and no memory is to be given back in between.
            if core.state.is_open() {
                for (item, hash, order) in &mut items {
                    let order = std::mem::take(order);
                    // Without a bound there is always an answer.
                    let added =
                        core.state.add_open(item, *hash, order, false, now).unwrap_or(Added::ShutDown);
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

/// The one wake-up sweep of a batch, and what its observer is told; also when an item in its middle panics.
struct Sweep<'q, T, B: Backlog> {
    shared: &'q Shared<T, B>,
    added: AddedAll,
    /// One by one, if somebody is told of them.
    answers: Vec<Added>,
    is_over: bool,
    wakes: Wakes,
}

/// How many of a batch brought nothing new ([`News::of_add`]).
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
        self.shared.observe(|observer| self.answers.iter().for_each(|&added| observer.added(added)));
    }
}

impl<T, B: Backlog> Shared<T, B> {
    /// Adds without a bound. What the queue does not take is left in the offer.
    #[inline]
    fn add(&self, offer: &mut impl Offer<T>, hash: ItemHash, order: B::Order) -> Added {
        match self.now() {
            None => {
                let (core, added) = self.add_at(offer, hash, order, None);
                release(core, News::of_add(added));
                added
            }
            now => self.add_observed(offer, hash, order, now),
        }
    }

    #[inline(never)]
    fn add_observed(
        &self,
        offer: &mut impl Offer<T>,
        hash: ItemHash,
        order: B::Order,
        now: Option<Instant>,
    ) -> Added {
        let (core, added) = self.add_at(offer, hash, order, now);
        release(core, News::of_add(added));
        self.observe(|observer| observer.added(added));
        added
    }

    #[inline(always)]
    fn add_at(
        &self,
        offer: &mut impl Offer<T>,
        hash: ItemHash,
        order: B::Order,
        now: Option<Instant>,
    ) -> (LockGuard<'_, Core<T, B>>, Added) {
        let mut core = self.lock();
        // Without a bound there is always an answer.
        let added = core.state.add(offer, hash, order, false, now).unwrap_or(Added::ShutDown);
        (core, added)
    }
}
