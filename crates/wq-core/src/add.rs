//! Add: the ways to put an item into the queue.

use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::added::{Added, AddedAll, Rejected, RejectedReason};
use crate::backlog::{Backlog, Fifo};
use crate::clock::Deadline;
use crate::hasher::ItemHash;
use crate::lock::LockGuard;
use crate::news::News;
use crate::observer::Observer;
use crate::offer::{Borrowed, Offer};
use crate::one_panic::wake_and_then;
use crate::parker::block_on;
use crate::queue::WorkQueue;
use crate::shared::{Core, Shared, release, unlock};
use crate::waiters::{Key, Wakes};

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
        self.add_ref_with(item, B::Order::default())
    }

    /// As [`add_ref`](Self::add_ref), with an order.
    ///
    /// # Panics
    ///
    /// As [`add_ref`](Self::add_ref), and if the backlog panics.
    #[inline]
    pub fn add_ref_with<Q>(&self, item: &Q, order: B::Order) -> Added
    where
        T: Borrow<Q> + for<'q> From<&'q Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = ItemHash::of(item, &self.hasher);
        self.shared.add(&mut Borrowed::new(item), hash, order)
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
        self.try_add_with(item, B::Order::default())
    }

    /// As [`try_add`](Self::try_add), with an order.
    ///
    /// # Errors
    ///
    /// As [`try_add`](Self::try_add).
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    pub fn try_add_with(&self, item: T, order: B::Order) -> Result<Added, Rejected<T>> {
        let hash = ItemHash::of(&item, &self.hasher);
        let now = self.shared.now();
        let mut item = Some(item);
        let mut core = self.shared.lock();
        let answer = core.state.add(&mut item, hash, order, true, now);
        let capacity = core.state.capacity();
        let wakes = unlock(core, answer.map_or(News::NONE, News::of_add));
        wake_and_then(wakes, || {
            self.shared.observe(|observer| match answer {
                Some(added) => observer.added(added),
                None => observer.refused(),
            });
        });
        match answer {
            Some(added) => rejected_by_shutdown(added, item),
            None => rejected(item, full(capacity), Added::Merged),
        }
    }

    /// Adds an item as soon as there is room, as [`try_add`](Self::try_add) understands it.
    ///
    /// Those who wait are woken in the order in which they came. Who is awake, by this call or by `try_add`, may take the room before
    /// one who was woken for it; that one keeps its place, and no bound says how often this can happen to it.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if the queue is shut down, before or while this waits.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add), when called and when polled.
    ///
    /// # Cancel safety
    ///
    /// A future dropped before it is ready has added nothing, and drops the item. A wake-up that it was given is passed
    /// on. One that has waited and is then neither polled nor dropped may keep it to itself, until a worker finds nothing and calls
    /// another. [`AddWait::into_item`] gives up without the loss of the item.
    pub fn add_wait(&self, item: T) -> AddWait<'_, T, B> {
        self.add_wait_with(item, B::Order::default())
    }

    /// As [`add_wait`](Self::add_wait), with an order.
    ///
    /// # Errors
    ///
    /// As [`add_wait`](Self::add_wait).
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    ///
    /// # Cancel safety
    ///
    /// As [`add_wait`](Self::add_wait).
    pub fn add_wait_with(&self, item: T, order: B::Order) -> AddWait<'_, T, B> {
        let hash = ItemHash::of(&item, &self.hasher);
        AddWait { shared: self.shared_ref(), hash, add: Some((Some(item), order)), key: None }
    }

    /// As [`add_wait`](Self::add_wait), blocking the thread. Threads and tasks that wait for room stand in one line.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if the queue is shut down, before or while this waits.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add).
    pub fn add_wait_blocking(&self, item: T) -> Result<Added, Rejected<T>> {
        self.add_wait_blocking_with(item, B::Order::default())
    }

    /// As [`add_wait_blocking`](Self::add_wait_blocking), with an order.
    ///
    /// # Errors
    ///
    /// As [`add_wait_blocking`](Self::add_wait_blocking).
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    pub fn add_wait_blocking_with(&self, item: T, order: B::Order) -> Result<Added, Rejected<T>> {
        self.add_wait_until(item, order, Deadline::NEVER)
    }

    /// As [`add_wait_blocking`](Self::add_wait_blocking), for at most this long. With a zero time-out it takes the room that is
    /// there.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if no room came in time, and if the queue is shut down, before or while this waits.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add). If the time is over and the waker of another, or the observer, panics, the item is dropped.
    pub fn add_wait_timeout(&self, item: T, timeout: Duration) -> Result<Added, Rejected<T>> {
        self.add_wait_timeout_with(item, timeout, B::Order::default())
    }

    /// As [`add_wait_timeout`](Self::add_wait_timeout), with an order.
    ///
    /// # Errors
    ///
    /// As [`add_wait_timeout`](Self::add_wait_timeout).
    ///
    /// # Panics
    ///
    /// As [`add_wait_timeout`](Self::add_wait_timeout), and if the backlog panics.
    pub fn add_wait_timeout_with(
        &self,
        item: T,
        timeout: Duration,
        order: B::Order,
    ) -> Result<Added, Rejected<T>> {
        self.add_wait_until(item, order, Deadline::after(timeout))
    }

    fn add_wait_until(&self, item: T, order: B::Order, deadline: Deadline) -> Result<Added, Rejected<T>> {
        let mut adding = self.add_wait_with(item, order);
        if let Some(result) = block_on(&mut adding, deadline) {
            return result;
        }
        let wakes = adding.leave();
        wake_and_then(wakes, || self.shared.observe(|observer| observer.refused()));
        rejected(adding.into_item(), RejectedReason::TimedOut, Added::Merged)
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
        if self.answers.is_empty() {
            return;
        }
        let tell = |observer: &dyn Observer| self.answers.iter().for_each(|&added| observer.added(added));
        wake_and_then(Some(std::mem::take(&mut self.wakes)), || self.shared.observe(tell));
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
        let wakes = unlock(core, News::of_add(added));
        wake_and_then(wakes, || self.observe(|observer| observer.added(added)));
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

const fn full(capacity: Option<NonZeroUsize>) -> RejectedReason {
    match capacity {
        Some(capacity) => RejectedReason::Full { capacity },
        None => RejectedReason::ShutDown,
    }
}

fn rejected_by_shutdown<T>(added: Added, item: Option<T>) -> Result<Added, Rejected<T>> {
    match added {
        Added::ShutDown => rejected(item, RejectedReason::ShutDown, added),
        _ => Ok(added),
    }
}

/// The item of a refused add was not taken, so it is here.
fn rejected<T>(item: Option<T>, reason: RejectedReason, otherwise: Added) -> Result<Added, Rejected<T>> {
    match item {
        Some(item) => Err(Rejected::new(item, reason)),
        None => Ok(otherwise),
    }
}

/// The future of [`WorkQueue::add_wait`]. It holds no place in line until it is polled.
///
/// # Panics
///
/// When polled again after it was ready.
#[must_use = "futures do nothing unless polled"]
pub struct AddWait<'q, T, B: Backlog = Fifo> {
    shared: &'q Shared<T, B>,
    hash: ItemHash,
    /// The item and its order; taken when the future is ready.
    add: Option<(Option<T>, B::Order)>,
    key: Option<Key>,
}

impl<T, B: Backlog> AddWait<'_, T, B> {
    /// Gives up, and hands the item back; `None` if this was ready. Otherwise as dropping it: a wake-up that it was given is
    /// passed on.
    ///
    /// For time-outs and `select!`, which are to be given `&mut` of this.
    ///
    /// # Panics
    ///
    /// If the waker of the next in line panics; the item is then dropped.
    #[must_use = "the item was not added"]
    pub fn into_item(mut self) -> Option<T> {
        self.add.take().and_then(|(item, _)| item)
    }

    /// Leaves the line, if it stands in it. Whom that concerns is handed out.
    fn leave(&mut self) -> Option<Wakes> {
        let key = self.key.take()?;
        let mut core = self.shared.lock();
        let (left, _waker) = core.adder_leaves(key);
        unlock(core, left)
    }
}

/// Nothing in it is ever pinned.
impl<T, B: Backlog> Unpin for AddWait<'_, T, B> {}

impl<T: Eq, B: Backlog> Future for AddWait<'_, T, B> {
    type Output = Result<Added, Rejected<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let shared = this.shared;
        let now = shared.now();
        let mut fresh: Option<Waker> = None;
        loop {
            let _left_waker; // Dropped after the lock.
            let Some((item, order)) = this.add.as_mut() else {
                panic!("AddWait was polled after it was ready");
            };
            let offered = order.clone();
            let mut core = shared.lock();
            match core.state.add(item, this.hash, offered, true, now) {
                Some(added) => {
                    let left;
                    (left, _left_waker) =
                        this.key.take().map_or((News::NONE, None), |key| core.adder_leaves(key));
                    let wakes = unlock(core, News::of_add(added).and(left));
                    let item = this.add.take().and_then(|(item, _)| item); // First: a waker may panic.
                    wake_and_then(wakes, || shared.observe(|observer| observer.added(added)));
                    return Poll::Ready(rejected_by_shutdown(added, item));
                }
                None => {
                    if this.key.as_ref().is_some_and(|key| core.adders.sleeps_with(key, context.waker())) {
                        return Poll::Pending;
                    }
                    if let Some(waker) = fresh.take() {
                        _left_waker = core.adders.sleep(&mut this.key, waker);
                        drop(core);
                        return Poll::Pending;
                    }
                    drop(core);
                    fresh = Some(context.waker().clone());
                }
            }
        }
    }
}

impl<T, B: Backlog> Drop for AddWait<'_, T, B> {
    fn drop(&mut self) {
        if let Some(wakes) = self.leave() {
            wakes.fire();
        }
    }
}

impl<T, B: Backlog> fmt::Debug for AddWait<'_, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddWait").field("is_in_line", &self.key.is_some()).finish_non_exhaustive()
    }
}
