//! The end of an attempt: what its outcome counts, forgets and schedules.

use crate::limiter::RateLimiter;
use crate::outcome::Outcome;
use crate::planted::planted;
use crate::queue::Inner;
use crate::retry_state::RetryRequest;
use std::hash::{BuildHasher, Hash};
use wq_delay::{Backlog, Rejected, RejectedReason, Scheduled};

/// A guard's view of its queue, without the types of the limiter and the hasher.
pub(crate) trait Finish<T, B: Backlog> {
    /// Called before the guard ends, so that the queue holds the item at every moment.
    fn finish(
        &self,
        item: &T,
        order: B::Order,
        outcome: Outcome,
    ) -> Result<Option<Scheduled>, Rejected<T>>;
    fn num_requeues(&self, item: &T) -> u32;
    fn failure_counts(&self, item: &T) -> bool;
    fn move_due(&self);
}

impl<T, L, B, S> Finish<T, B> for Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Asks the limiter first: if it panics, the earlier retry still waits.
    fn finish(
        &self,
        item: &T,
        order: B::Order,
        outcome: Outcome,
    ) -> Result<Option<Scheduled>, Rejected<T>> {
        match outcome {
            Outcome::Success if planted("success-keeps-attempts") => return Ok(None),
            Outcome::Success | Outcome::GiveUp => {
                self.forget(item);
                if planted("finish-cancels-requests") {
                    self.queue.cancel(item);
                }
                self.queue.retries().cancel(item);
                return Ok(None);
            }
            _ => {}
        }
        let refused = || Rejected::new(item.clone(), RejectedReason::ShutDown);
        if self.queue.is_shutting_down() {
            return Err(refused());
        }
        let deadline = match outcome {
            Outcome::RetryAfter(delay) => self.uncounted(item, delay),
            _ => self.failed(item, RetryRequest::of(outcome)),
        };
        let scheduled = self.queue.retries().add(item.clone(), deadline, order);
        if scheduled.is_accepted() { Ok(Some(scheduled)) } else { Err(refused()) }
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.attempts(item)
    }

    fn failure_counts(&self, item: &T) -> bool {
        let now = self.queue.now();
        self.with_state(|state, _| {
            state.rules.count_early_attempts || state.backoffs.early(item, now).is_none()
        })
    }

    fn move_due(&self) {
        self.queue.move_due();
    }
}
