//! The end of an attempt: what its outcome says takes the place of what waits from before. `Held` and `Ending` are what a guard and its
//! queue need of each other for that, and at a hand-out.

use crate::control::{Ask, By, When, end_of};
use crate::limiter::RateLimiter;
use crate::outcome::Outcome;
use crate::planted::planted;
use crate::queue::Inner;
use crate::taken_back::TakenBack;
use crate::windows::Opened;
use std::any::Any;
use std::hash::{BuildHasher, Hash};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use wq_delay::{Backlog, Rejected, RejectedReason, Scheduled};

/// What the end of an attempt needs of the guard below, whichever it is.
pub(crate) trait Held<T, B: Backlog> {
    fn item(&self) -> &T;
    fn order(&self) -> &B::Order;
    fn revoke(&self) -> Option<B::Order>;
    fn is_in_force(&self) -> bool;
}

/// What a panic carries.
pub(crate) type Panic = Box<dyn Any + Send>;

/// What a guard needs of its queue, without the types of the limiter and the hasher.
pub(crate) trait Ending<T, B: Backlog> {
    fn end(&self, held: &dyn Held<T, B>, outcome: Outcome) -> Option<Scheduled>;
    /// The answer to a retry that comes after shutdown.
    fn refused(&self, item: &T) -> Rejected<T>;
    /// By who has the item in hand: it backs off still.
    fn cancel(&self, item: &T) -> bool;
    fn num_requeues(&self, item: &T) -> u32;
    fn move_due(&self);
    /// The item was handed out, and this is its guard. If code of the item panics: what with.
    fn begun(&self, held: &dyn Held<T, B>) -> Option<Panic>;
}

impl<T, L, B, S> Ending<T, B> for Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// What the outcome says is counted. A retry from before is taken back, and whatever others have asked for is put off to the instant
    /// before which the outcome wants no attempt. Then the retry waits; it is put off too if that has happened to the one from before,
    /// or to it, since it was counted. Each step has a lock of its own, and the limiter counts first: if it panics, the retry from before
    /// still waits.
    fn end(&self, held: &dyn Held<T, B>, outcome: Outcome) -> Option<Scheduled> {
        let (item, ask) = (held.item(), Ask::of(outcome));
        let retry = match outcome {
            Outcome::Success if planted("success-keeps-attempts") => return None,
            Outcome::Success | Outcome::GiveUp => {
                self.forget(item);
                return self.rest(held, Rest::Forgotten);
            }
            Outcome::Park => return self.rest(held, Rest::Parked),
            Outcome::RetryAfter(delay) => self.count_nothing(item, delay),
            Outcome::Retry | Outcome::RetryWith { .. } | Outcome::RetryNotBefore(_) => {
                self.when(item, ask, By::Finish)
            }
        };
        let Some((when, opened)) = retry else { return Some(Scheduled::ShutDown) };
        let deadline = match when {
            When::Never => return self.rest(held, Rest::Parked),
            When::Now => Some(self.queue.now()),
            When::At(deadline) => Some(deadline),
            When::After(_) => None,
        };
        let mut before = self.take_back(held);
        let order = before.joined_by(order_of(held));
        if let Some(floor) = ask.not_before {
            self.queue.postpone(item, floor);
        }
        let scheduled = self.queue.add_revocable(item.clone(), deadline, order);
        before.drop_for_good();
        before.puts_off(deadline, opened, scheduled);
        Some(scheduled)
    }

    fn refused(&self, item: &T) -> Rejected<T> {
        Rejected::new(item.clone(), RejectedReason::ShutDown)
    }

    fn cancel(&self, item: &T) -> bool {
        while !self.release_event(item) && self.queue.revoke(item).is_none() {
            if !self.queue.has_revocable_deadline(item) {
                return self.take_delayed_out(item).is_some();
            }
            // An event has joined it since the first look.
        }
        true
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.attempts(item)
    }

    fn move_due(&self) {
        self.queue.move_due();
    }

    #[inline]
    fn begun(&self, held: &dyn Held<T, B>) -> Option<Panic> {
        if self.has_marks() { self.comes_back(held) } else { None }
    }
}

/// What becomes of an item that is not tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Forgotten,
    Parked,
}

impl<T, L, B, S> Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// No retry waits from now on. An event that has joined one waits for it no longer.
    fn rest(&self, held: &dyn Held<T, B>, rest: Rest) -> Option<Scheduled> {
        let item = held.item();
        let now = self.queue.now();
        let mut before = self.take_back(held);
        if rest == Rest::Parked {
            let order = before.joined_by(order_of(held));
            let _mark = self.controlled(|control, discarded| control.park(item, order, now, discarded));
        }
        before.drop_for_good();
        self.release_event(item);
        None
    }

    /// An event that has joined a retry has asked for a run, and not for that deadline: it waits no longer, if there is one.
    fn release_event(&self, item: &T) -> bool {
        self.events_join && self.queue.queue_joined(item)
    }

    /// The attempt is none that counts, and says itself how long the item waits: its back-off is over by then. `None`: the queue is shut
    /// down.
    fn count_nothing(&self, item: &T, delay: Duration) -> Option<(When, Opened)> {
        if self.refuses() {
            return None;
        }
        let now = self.queue.now();
        let until = end_of(now, delay);
        let opened = self.controlled(|control, discarded| {
            control.waits_until(item, until, now);
            control.windows.end_by(item, until, now, discarded);
            control.windows.opened()
        });
        Some((now.checked_add(delay).map_or(When::After(delay), When::At), opened))
    }

    /// A retry from before may still wait, if an event has brought the item here in the meantime, or have been moved behind
    /// this attempt when it fell due: what this attempt says takes its place. What others have asked for stays.
    fn take_back<'q>(&'q self, held: &'q dyn Held<T, B>) -> TakenBack<'q, T, L, B, S> {
        // In this order: it moves from the one place to the other.
        let (delayed, order) = match self.queue.revoke(held.item()) {
            Some((item, order)) => (Some(item), Some(order)),
            None => (None, held.revoke()),
        };
        TakenBack::new(self, held.item(), delayed, order)
    }

    /// An item that was marked may have been handed out.
    #[cold]
    fn comes_back(&self, held: &dyn Held<T, B>) -> Option<Panic> {
        let look = || {
            let item = held.item();
            let marks = {
                let control = self.control.lock();
                control.parked.id(item).map(|_| control.parked.next())
            };
            // Only after the look: an item that was abandoned by now may have been parked by its next holder before that. One that
            // is in hand still was marked before it was handed out.
            let Some(marks) = marks.filter(|_| held.is_in_force()) else { return };
            let now = self.queue.now();
            let _order = self.controlled(|control, _| control.parked.comes_back(item, marks, now));
        };
        catch_unwind(AssertUnwindSafe(look)).err()
    }
}

/// What a retry keeps, and an item that is parked.
fn order_of<T, B: Backlog>(held: &dyn Held<T, B>) -> B::Order {
    held.order().clone()
}
