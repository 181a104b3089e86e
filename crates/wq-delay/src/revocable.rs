//! Revocable adds: those of a layer above, which it takes back when they have become pointless.

use crate::after::After;
use crate::queue::{DelayingQueue, TakenAlong};
use crate::scheduled::Scheduled;
use crate::tick::Tick;
use crate::wish::Wish;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;
use wq_core::Backlog;

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// As [`add_at_with`](Self::add_at_with), for layers above: [`revoke`](Self::revoke) takes it back. `None` is a deadline
    /// that never comes. If it has come already the item is added as with [`ImmediateAdd::Keep`](crate::ImmediateAdd::Keep).
    ///
    /// # Panics
    ///
    /// As [`add_at_with`](Self::add_at_with).
    pub fn add_revocable(&self, item: T, deadline: Option<Instant>, order: B::Order) -> Scheduled {
        let now = self.shared.now();
        let deadline = deadline.map_or(Tick::NEVER, |deadline| self.shared.line.tick(deadline));
        self.schedule(item, order, Wish::Revocable(deadline, self.shared.second_add), now)
    }

    /// As [`cancel`](Self::cancel), for layers above: tells the deadline too, if it would have come and nobody has asked for it but in
    /// a [revocable](Self::add_revocable) way.
    ///
    /// # Panics
    ///
    /// As [`cancel`](Self::cancel).
    pub fn take_delayed<Q>(&self, item: &Q) -> Option<(T, Option<Instant>)>
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
        taken.map(|waiting| {
            let comes = waiting.deadline != Tick::NEVER && waiting.has_revocable_deadline();
            (waiting.item, comes.then(|| self.shared.line.instant(waiting.deadline)))
        })
    }

    /// Takes a delayed item out if all that asked for it was [revocable](Self::add_revocable), with its order. Also
    /// one that is due, as long as nobody has queued it: unlike all other verbs this one does not look what is due. One that
    /// somebody has queued while the item was in hand is for its guard to [take back](wq_core::ProcessingGuard::revoke).
    ///
    /// # Panics
    ///
    /// As [`cancel`](Self::cancel).
    pub fn revoke<Q>(&self, item: &Q) -> Option<(T, B::Order)>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let waiting = self.look(|pending, after| {
            if pending.heap.is_empty() {
                return None;
            }
            let waiting = pending.heap.revoke(self.core.item_hash(item), item);
            if waiting.is_some() {
                self.shared.changed(pending, &self.core, after);
            }
            waiting
        });
        waiting.map(|waiting| (waiting.item, waiting.order))
    }

    /// Whether an item is delayed and nobody but in a [revocable](Self::add_revocable) way has asked for its deadline. An add
    /// without a delay that has joined it ([`ImmediateAdd::Defer`](crate::ImmediateAdd::Defer)) has asked for none. Does not look
    /// what is due.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    #[must_use]
    pub fn has_revocable_deadline<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.core.item_hash(item);
        self.look(|pending, _| pending.heap.has_revocable_deadline(hash, item))
    }

    /// As [`postpone`](Self::postpone), of an item that nobody but in a [revocable](Self::add_revocable) way has asked for, or that is to
    /// be due at `from`: what has taken the place of one that was postponed. Tells the deadline that it had and the one that it has, which
    /// are the same if nothing moved; `None` if it is neither.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    pub fn postpone_again<Q>(&self, item: &Q, from: Instant, until: Instant) -> Option<(Instant, Instant)>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.core.item_hash(item);
        let [from, until] = [from, until].map(|instant| self.shared.line.tick(instant));
        let before = self.settled(|pending, after| {
            let before = pending.heap.postpone_again(hash, item, from, until);
            self.shared.changed(pending, &self.core, after);
            before
        })?;
        Some((self.shared.line.instant(before), self.shared.line.instant(before.max(until))))
    }

    /// Queues an item that is delayed by what is [revocable](Self::add_revocable), and that an add without a delay has joined
    /// ([`ImmediateAdd::Defer`](crate::ImmediateAdd::Defer)): with the deadline gone, that add has nothing left to wait for.
    /// False if it is not such an item.
    ///
    /// # Panics
    ///
    /// If `Hash`, `Eq` or `Clone` of the item panics, or the backlog: it is delayed still.
    pub fn queue_joined(&self, item: &T) -> bool
    where
        T: Clone,
    {
        let hash = self.core.item_hash(item);
        let _waited; // Dropped after the lock.
        let mut after = After::new();
        let mut notices = self.core.notices();
        let mut pending = self.shared.lock();
        let Some(waiting) = pending.heap.take_joined(hash, item) else { return false };
        let mut taken = TakenAlong::new(self, &mut pending, &mut after, waiting);
        let order = taken.merged(None);
        self.core.add_quietly(item.clone(), order, &mut notices);
        _waited = taken.waiting.take();
        true
    }
}
