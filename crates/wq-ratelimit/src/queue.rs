//! `RateLimitingQueue`: the handle and the retry verbs; and `Inner`, which all its verbs go through.

use crate::builder::{Builder, NoLimiter};
use crate::control::{Ask, By, Control, DuringBackoff, When};
use crate::limiter::RateLimiter;
use crate::outcome::Combine;
use crate::parked::{Mark, MarkId};
use crate::platform::{AtomicU64, Mutex};
use crate::remembered::Remembered;
use crate::unparked::Unparked;
use crate::windows::Opened;
use hashbrown::HashSet;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wq_delay::{Added, Backlog, DefaultHasher, DelayingQueue, Fifo, Joins, Phase, Scheduled};

/// A delaying queue that knows how long a failed item has to wait.
///
/// A worker ends its work on an item with one call, [`ProcessingGuard::finish`](crate::ProcessingGuard::finish). All that
/// [`wq_delay::DelayingQueue`] promises holds.
///
/// Only attempts that really ran their course count: an event that brings a failed item back before its time neither
/// raises its back-off nor shortens it, unless the builder's
/// [`during_backoff`](crate::Builder::during_backoff) or [`count_early_attempts`](crate::Builder::count_early_attempts)
/// asks for it.
///
/// What waits and what is remembered of failures are under two locks. Where two verbs change both for one item at one moment (a
/// postponement beside the end of its work or beside another, a cancel beside a failure, a forget beside the last one), the one may come
/// between the steps of the other. No item is lost by that, or in the hands of two workers; its attempts, its back-off, its deadline
/// among those asked for, or whether it is parked may be as if one of the two had not been, and what is released while the queue shuts
/// down may be handed back and queued.
///
/// Times are those of a program's life: a failure is remembered for 136 years at most, and a back-off without an end lasts for 200.
///
/// A clone is another handle to the same queue. `Hash`, `Eq` and `Clone` of items and the limiter run under locks of the
/// queue and must not call it. They may panic: no item that waits is lost by that, but for what
/// [`DelayingQueue`] says of its own. What is remembered of failures may be: a table that grows or ages hashes what it holds,
/// and one that cannot go on drops the rest, under the lock.
#[doc(alias = "RateLimitingInterface")]
#[doc(alias = "TypedRateLimitingInterface")]
pub struct RateLimitingQueue<T, L, B: Backlog = Fifo, S = DefaultHasher> {
    pub(crate) inner: Arc<Inner<T, L, B, S>>,
}

pub(crate) struct Inner<T, L, B: Backlog, S> {
    pub(crate) queue: DelayingQueue<T, B, S>,
    /// A copy of the rule, so that adds need not lock to see that there is nothing to do; and whether an event may join a retry that waits.
    pub(crate) during_backoff: DuringBackoff,
    pub(crate) events_join: bool,
    /// How many items have a mark, so that hand-outs need not lock to see that there is none. Written under the lock.
    pub(crate) marked: AtomicU64,
    /// Never held together with a lock of the queue.
    pub(crate) control: Mutex<Control<T, L, B::Order, S>>,
}

impl<T: Send> RateLimitingQueue<T, NoLimiter> {
    /// Begins the settings of a queue. A [`limiter`](Builder::limiter) and a [`timer`](Builder::timer) must be among them. Items, the limiter, the
    /// backlog and the hasher must be `Send`: the getters need it.
    #[doc(alias = "NewTypedRateLimitingQueue")]
    #[doc(alias = "TypedRateLimitingQueueConfig")]
    pub fn builder() -> Builder<T> {
        Builder::new()
    }
}

impl<T, L, B, S> RateLimitingQueue<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Adds an item when the limiter allows it, and counts an attempt. A wait of zero is an [`add`](Self::add) without a
    /// delay, as in client-go: if the item is delayed, [`immediate_add`](crate::Builder::immediate_add) says what becomes of
    /// that.
    ///
    /// An item that is backing off keeps its time, and one that is queued, or due, or runs again after the work that goes on,
    /// stays so: nothing is counted then and no token is taken, so that many such adds of one item cost the others nothing. (With
    /// [`count_early_attempts`](crate::Builder::count_early_attempts) each counts, as in client-go.) After shutdown nothing is
    /// counted either. Never parks: a [`retry_limit`](crate::Builder::retry_limit) is about attempts that
    /// [`finish`](crate::ProcessingGuard::finish).
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item, or the limiter, panics.
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) -> Scheduled {
        self.add_rate_limited_with(item, B::Order::default())
    }

    /// As [`add_rate_limited`](Self::add_rate_limited), with an order for the backlog.
    ///
    /// # Panics
    ///
    /// As [`add_rate_limited`](Self::add_rate_limited), and if the backlog panics.
    pub fn add_rate_limited_with(&self, item: T, order: B::Order) -> Scheduled {
        self.inner.add_asking(item, order, Ask::default())
    }

    /// As [`add_rate_limited`](Self::add_rate_limited), with a delay of the caller's, which is combined with the limiter's:
    /// `Combine::Min` is what controller-runtime's priority queue does with `After` and `RateLimited` together. Of an item
    /// that waits already the earlier time counts.
    ///
    /// # Panics
    ///
    /// As [`add_rate_limited`](Self::add_rate_limited).
    #[doc(alias = "AddWithOpts")]
    pub fn add_rate_limited_after(&self, item: T, delay: Duration, combine: Combine) -> Scheduled {
        self.add_rate_limited_after_with(item, delay, combine, B::Order::default())
    }

    /// As [`add_rate_limited_after`](Self::add_rate_limited_after), with an order for the backlog.
    ///
    /// # Panics
    ///
    /// As [`add_rate_limited_with`](Self::add_rate_limited_with).
    pub fn add_rate_limited_after_with(
        &self,
        item: T,
        delay: Duration,
        combine: Combine,
        order: B::Order,
    ) -> Scheduled {
        self.inner.add_asking(item, order, Ask { own: Some((delay, combine)), ..Ask::default() })
    }

    /// Forgets the attempts of an item: the next counts as the first. Does not take the item out of the queue, and does
    /// not end its work. One that is parked is no longer.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item, or the limiter, panics.
    #[doc(alias = "Forget")]
    pub fn forget(&self, item: &T) {
        self.inner.forget(item);
    }

    /// [Forgets](Self::forget) all items that `predicate` wants, and says how many: for example those of a namespace that
    /// is gone. It sees clones of all that is remembered, outside of all locks; an attempt that is counted meanwhile may
    /// be forgotten with the rest.
    ///
    /// # Panics
    ///
    /// If `predicate` does, or as [`forget`](Self::forget).
    pub fn forget_where(&self, mut predicate: impl FnMut(&T) -> bool) -> usize {
        // Some are remembered for more than one reason.
        let mut items: HashSet<T, DefaultHasher> = self.inner.remembered_items().into_iter().collect();
        items.retain(|item| predicate(item));
        items.iter().for_each(|item| drop(self.inner.forget(item)));
        items.len()
    }

    /// How many attempts of an item were counted since it was last forgotten.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item, or the limiter, panics.
    #[must_use]
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self, item: &T) -> u32 {
        self.inner.attempts(item)
    }

    /// How many failed items the limiter remembers, and how many it has dropped by itself.
    #[must_use]
    pub fn remembered(&self) -> Remembered {
        self.inner.control.lock().limiter.remembered()
    }

    /// How many items are backing off, or have been lately, and how many of them the queue has forgotten by itself: for age, or because there were more
    /// than 262 144. At that number those that failed last are known, at least the half of them. An item that is not keeps the retry that waits for it, and
    /// events still do by [policy](crate::Builder::during_backoff) what they do to one that an outcome has asked for, and no user with a delay; but the next
    /// failure counts, also before its time, and where the queue has counted its [attempts](crate::Builder::retry_limit) it begins anew.
    #[must_use]
    pub fn remembered_backoffs(&self) -> Remembered {
        self.inner.control.lock().windows.remembered()
    }

    /// How many items are remembered as [parked](Self::parked), or as back from that with their attempts, and how many
    /// the queue has forgotten by itself: `expired` when they were back for a day, `evicted` when there were too many.
    #[must_use]
    pub fn remembered_parked(&self) -> Remembered {
        self.inner.control.lock().parked.remembered()
    }

    /// The items that are parked: out of retries (or [`Outcome::Park`](crate::Outcome::Park)), and neither added nor released since. In no
    /// particular order. They are not part of the queue: no drain waits for them, no shutdown hands them back.
    ///
    /// One that is added is parked no longer, whatever becomes of it: work whose guard is dropped, or that is taken out of
    /// the queue again (`remove`, `cancel`, shutdown), does not park it anew.
    ///
    /// Time alone ends none, but at most 262 144 are known, and of more than half of that, at least the half that was
    /// parked last. One that made room is parked no longer, and begins anew when it is added:
    /// [`remembered_parked`](Self::remembered_parked) counts it as `evicted`.
    ///
    /// # Panics
    ///
    /// If `Hash`, `Eq` or `Clone` of an item panics.
    #[must_use]
    pub fn parked(&self) -> Vec<T> {
        let mut items: Vec<(T, MarkId)> = Vec::new(); // Dropped after the lock, if a clone panics.
        {
            let control = self.inner.control.lock();
            items.extend(control.parked.listed().map(|(item, id)| (item.clone(), id)));
        }
        items.retain(|(item, _)| !self.inner.queue.holds(item));
        if !items.is_empty() {
            // One that has come and gone meanwhile was in the queue, and not parked.
            let still = |(item, id): &(T, MarkId)| self.inner.control.lock().parked.id(item) == Some(*id);
            items.retain(still);
        }
        items.into_iter().map(|(item, _)| item).collect()
    }

    /// Whether this item is among the [`parked`](Self::parked) ones.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    #[must_use]
    pub fn is_parked(&self, item: &T) -> bool {
        self.inner.parked_id(item).is_some()
    }

    /// Adds a parked item, with the order that it was parked with and all its retries. False if it is not parked, and after
    /// shutdown: it stays parked then.
    ///
    /// # Panics
    ///
    /// If `Hash`, `Eq` or `Clone` of the item, the limiter or the backlog panics: it is parked still, or added.
    pub fn release(&self, item: &T) -> bool {
        if self.is_shutting_down() {
            return false;
        }
        let Some(id) = self.inner.parked_id(item) else { return false };
        let mut discarded = Vec::new();
        let step =
            |control: &mut Control<_, _, _, _>, discarded: &mut Vec<T>| control.release(item, id, discarded);
        let Some(mark) = self.inner.controlled_into(&mut discarded, step) else { return false };
        let mut unparked = Unparked { inner: &*self.inner, item, mark: Some(mark), added: None };
        let order = unparked.mark.as_ref().map_or_else(B::Order::default, |mark| mark.order.clone());
        unparked.add(Joins::ByOwnPolicy, item.clone(), order).is_accepted()
    }
}

impl<T, L, B, S> Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// A step under the lock. What it discards is dropped after it.
    pub(crate) fn controlled<R>(
        &self,
        step: impl FnOnce(&mut Control<T, L, B::Order, S>, &mut Vec<T>) -> R,
    ) -> R {
        self.controlled_into(&mut Vec::new(), step)
    }

    /// The same, by one who drops what is discarded: after whatever must not be lost if that panics.
    fn controlled_into<R>(
        &self,
        discarded: &mut Vec<T>,
        step: impl FnOnce(&mut Control<T, L, B::Order, S>, &mut Vec<T>) -> R,
    ) -> R {
        let mut control = self.control.lock();
        let answer = step(&mut control, discarded);
        // Relaxed: whoever is handed an item that was marked has taken a lock of the queue after its marker let it go.
        self.marked.store(control.parked.len() as u64, Ordering::Relaxed);
        answer
    }

    /// Whether a retry would be refused: it counts nothing then, and takes the place of nothing.
    pub(crate) fn refuses(&self) -> bool {
        self.queue.is_shutting_down()
    }

    /// Counts an attempt that failed, and says when the item runs again, and as of when. `None`: the queue is shut down.
    pub(crate) fn when(&self, item: &T, ask: Ask, by: By) -> Option<(When, Opened)> {
        if self.refuses() {
            return None;
        }
        let now = self.queue.now();
        let (when, opened, _mark) = self.controlled(|control, discarded| {
            let when = control.retry(item, now, ask, by, discarded);
            let ends = by == By::Finish && when != When::Never;
            let mark = if ends { control.parked.take(item, discarded) } else { None };
            (when, control.windows.opened(), mark)
        });
        Some((when, opened))
    }

    fn add_asking(&self, item: T, order: B::Order, ask: Ask) -> Scheduled {
        let is_queued = matches!(self.queue.phase(&item), Some(Phase::Queued | Phase::ProcessingDirty));
        match self.when(&item, ask, By::Add { is_queued }).map(|(when, _)| when) {
            None | Some(When::Never) => Scheduled::ShutDown,
            Some(When::Now) => self.queue.add_after_with(item, Duration::ZERO, order),
            Some(When::After(delay)) => self.queue.add_after_with(item, delay, order),
            Some(When::At(deadline)) => self.queue.add_at_with(item, deadline, order),
        }
    }

    pub(crate) fn attempts(&self, item: &T) -> u32 {
        let now = self.queue.now();
        self.controlled(|control, discarded| control.attempts(item, now, discarded))
    }

    /// The add that was to take it out was refused.
    pub(crate) fn park_again(&self, item: &T, mark: Mark<B::Order>) {
        let now = self.queue.now();
        let _mark = self.controlled(|control, discarded| control.park_again(item, mark, now, discarded));
    }

    pub(crate) fn forget(&self, item: &T) -> Option<Mark<B::Order>> {
        let (mark, wants_sweep) = self.controlled(|control, discarded| {
            let mark = control.forget(item, discarded);
            (mark, control.windows.wants_sweep())
        });
        if wants_sweep {
            self.sweep();
        }
        mark
    }

    /// Where nothing fails any more, nothing else looks for what is too old.
    #[cold]
    fn sweep(&self) {
        let now = self.queue.now();
        self.controlled(|control, discarded| control.sweep(now, discarded));
    }

    /// Takes out what waits of the item for a deadline; says for which, if that comes and outcomes alone have asked for it.
    pub(crate) fn take_delayed_out<Q>(&self, item: &Q) -> Option<(T, Option<Instant>)>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let marks = self.marks_so_far();
        let taken = self.queue.take_delayed(item);
        self.taken_out(taken.iter().map(|(item, _)| item), marks);
        taken
    }

    /// What waited of the item was taken out, if outcomes alone had asked for that: what was to be due then. It backs off no longer,
    /// unless a failure at this very moment has it back off for longer.
    pub(crate) fn retry_taken_out(&self, item: &T, due: Option<Instant>) {
        if self.control.lock().knows_no_failures() {
            return;
        }
        let now = self.queue.now();
        self.controlled(|control, discarded| {
            let until = control.windows.open(item, now);
            if until.zip(due).is_none_or(|(until, due)| until <= due) {
                control.end_back_off(item, now, discarded);
            }
        });
    }

    /// An add without a delay, where it may change a back-off.
    #[cold]
    pub(crate) fn add_event(&self, item: T, order: B::Order) -> Added {
        if self.queue.is_shutting_down() {
            return self.queue.add_with(item, order);
        }
        let now = self.queue.now();
        let mut left = Vec::new();
        let (joins, mark) =
            self.controlled_into(&mut left, |control, discarded| control.event(&item, now, discarded));
        let unparked = mark.filter(Mark::is_parked);
        let unparked =
            unparked.map(|mark| Unparked { inner: self, item: &item, mark: Some(mark), added: None });
        let unparked = unparked.map(Unparked::with_its_own);
        match unparked {
            Some(mut unparked) => unparked.add(joins, item, order),
            None => self.queue.add_answering(joins, item, order, &mut None),
        }
    }

    /// The mark of an item, if it has one and is not in the queue.
    fn parked_id(&self, item: &T) -> Option<MarkId> {
        let id = self.control.lock().parked.id(item)?;
        if self.queue.holds(item) {
            return None;
        }
        // If it is another by now, it was in the queue in between.
        (self.control.lock().parked.id(item) == Some(id)).then_some(id)
    }

    /// Before items are taken out of the queue: what [`taken_out`](Self::taken_out) is to be told.
    pub(crate) fn marks_so_far(&self) -> Option<MarkId> {
        self.has_marks().then(|| self.control.lock().parked.next())
    }

    /// These items are in the queue no longer, and were not parked by that.
    pub(crate) fn taken_out<'i>(&self, items: impl IntoIterator<Item = &'i T>, marks: Option<MarkId>)
    where
        T: 'i,
    {
        let Some(before) = marks else { return };
        let now = self.queue.now();
        let comes_back = |item| {
            let _order = self.controlled(|control, _| control.parked.comes_back(item, before, now));
        };
        // Whatever panics with one, the others are looked at.
        let mut panics =
            items.into_iter().filter_map(|item| catch_unwind(AssertUnwindSafe(|| comes_back(item))).err());
        if let Some(first) = panics.next() {
            panics.for_each(mem::forget); // Its drop may panic too.
            resume_unwind(first);
        }
    }

    fn remembered_items(&self) -> Vec<T> {
        let mut items = Vec::new(); // Dropped after the lock, if a clone panics.
        let control = self.control.lock();
        items.extend(control.windows.items().chain(control.parked.items()).cloned());
        control.limiter.each_remembered(&mut |item| items.push(item.clone()));
        items
    }
}

impl<T, L, B: Backlog, S> Inner<T, L, B, S> {
    /// Whether a hand-out has to look for the mark of its item.
    #[inline]
    pub(crate) fn has_marks(&self) -> bool {
        self.marked.load(Ordering::Relaxed) > 0
    }

    /// Whether an add without a delay has to look at the item's back-off.
    #[inline]
    pub(crate) fn minds_events(&self) -> bool {
        self.during_backoff != DuringBackoff::Keep
    }
}

impl<T, L, B: Backlog, S> Clone for RateLimitingQueue<T, L, B, S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T, L, B: Backlog, S> fmt::Debug for RateLimitingQueue<T, L, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (backing_off, parked) = {
            let control = self.inner.control.lock();
            (control.windows.len(), control.parked.remembered().items)
        };
        f.debug_struct("RateLimitingQueue")
            .field("queue", &self.inner.queue)
            .field("backing_off_at_most", &backing_off)
            .field("parked_at_most", &parked)
            .finish_non_exhaustive()
    }
}
