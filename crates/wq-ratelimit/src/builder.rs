//! `Builder`: the settings of a queue before it exists.

use crate::backoffs::Backoffs;
use crate::limiter::RateLimiter;
use crate::platform::Mutex;
use crate::queue::{Inner, RateLimitingQueue};
use crate::retry_state::{DuringBackoff, RetryState, Rules};
use std::fmt;
use std::sync::Arc;
use wq_delay::{
    Backlog, BuildError, DefaultHasher, DelayingQueue, Fifo, ImmediateAdd, Observer, SecondAdd,
    Timer,
};

/// The limiter of a builder until [`Builder::limiter`] sets one. No queue can be built with it.
#[derive(Debug, Clone, Copy)]
pub struct NoLimiter(());

/// The settings of a queue; see [`RateLimitingQueue::builder`].
#[must_use = "a builder does nothing until build is called"]
pub struct Builder<T, L = NoLimiter, B = Fifo, S = DefaultHasher> {
    queue: wq_delay::Builder<T, B, S>,
    hasher: S,
    limiter: L,
    rules: Rules,
}

impl<T: Send> RateLimitingQueue<T, NoLimiter> {
    /// Starts a builder. It needs a [`limiter`](Builder::limiter) and a [`timer`](Builder::timer).
    #[doc(alias = "NewTypedRateLimitingQueue")]
    #[doc(alias = "TypedRateLimitingQueueConfig")]
    pub fn builder() -> Builder<T> {
        Builder::new()
    }
}

impl<T> Builder<T> {
    pub(crate) fn new() -> Self {
        let hasher = DefaultHasher::default();
        Self {
            queue: DelayingQueue::builder().hasher(hasher.clone()),
            hasher,
            limiter: NoLimiter(()),
            rules: Rules::default(),
        }
    }
}

impl<T, L, B: Backlog, S: Clone> Builder<T, L, B, S> {
    /// Sets the limiter, which decides how long a failed item waits.
    /// [`controller_default()`](crate::controller_default()) is client-go's.
    ///
    /// It must be `Send`, because it moves between the threads that call the queue:
    ///
    /// ```compile_fail,E0277
    /// # use std::time::{Duration, Instant};
    /// # use wq_ratelimit::{RateLimiter, RateLimitingQueue};
    /// struct Counting(std::rc::Rc<()>);
    /// # impl RateLimiter<u64> for Counting {
    /// #     fn next_delay(&mut self, _: &u64, _: Instant) -> Duration { Duration::ZERO }
    /// #     fn forget(&mut self, _: &u64) {}
    /// #     fn num_requeues(&self, _: &u64) -> u32 { 0 }
    /// # }
    /// let builder = RateLimitingQueue::<u64, _>::builder().limiter(Counting(Default::default()));
    /// ```
    pub fn limiter<M: RateLimiter<T> + Send>(self, limiter: M) -> Builder<T, M, B, S> {
        let Self { queue, hasher, limiter: _, rules } = self;
        Builder { queue, hasher, limiter, rules }
    }

    /// Counts attempts that end before the back-off, as client-go does: events then raise the
    /// back-off of a failing item. Off by default.
    pub fn count_early_attempts(mut self, count: bool) -> Self {
        self.rules.count_early_attempts = count;
        self
    }

    /// Sets the effect of an event on the back-off of a failed item. [`DuringBackoff::Keep`] by
    /// default. Events are adds without a delay, except [`try_add`](RateLimitingQueue::try_add).
    pub fn during_backoff(mut self, policy: DuringBackoff) -> Self {
        self.rules.during_backoff = policy;
        self
    }

    /// Sets the clock of the queue and its limiter. There is no default.
    #[doc(alias = "Clock")]
    pub fn timer(mut self, timer: impl Timer + 'static) -> Self {
        self.queue = self.queue.timer(timer);
        self
    }

    /// Sets a name for `Debug` and metrics. None by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.queue = self.queue.name(name);
        self
    }

    /// Sets the observer, which is notified of each event. None by default.
    #[doc(alias = "MetricsProvider")]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.queue = self.queue.observer(observer);
        self
    }

    /// Sets the order of hand-outs: an empty backlog, [`Fifo`] by default.
    pub fn backlog<C: Backlog + Send>(self, backlog: C) -> Builder<T, L, C, S> {
        let Self { queue, hasher, limiter, rules } = self;
        Builder { queue: queue.backlog(backlog), hasher, limiter, rules }
    }

    /// Sets how many items may be queued or marked to run again before
    /// [`try_add`](RateLimitingQueue::try_add) refuses more. Unbounded by default.
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.queue = self.queue.capacity(capacity);
        self
    }

    /// As [`wq_delay::Builder::reserve_delayed`]; a retry is a delayed item.
    pub fn reserve_delayed(mut self, items: usize) -> Self {
        self.queue = self.queue.reserve_delayed(items);
        self
    }

    /// Sets the hasher of items: [`DefaultHasher`] by default. Its clones must return equal hashes.
    /// A limiter that stores items has its own hasher.
    pub fn hasher<H: Clone + Send + Sync>(self, hasher: H) -> Builder<T, L, B, H> {
        let Self { queue, hasher: _, limiter, rules } = self;
        Builder { queue: queue.hasher(hasher.clone()), hasher, limiter, rules }
    }

    /// Sets the deadline of a delayed item that is added again with a delay.
    /// [`SecondAdd::Earliest`] by default.
    pub fn second_add(mut self, policy: SecondAdd) -> Self {
        self.queue = self.queue.second_add(policy);
        self
    }

    /// Sets what happens to a delayed item's deadline when it is added without a delay.
    /// [`ImmediateAdd::Keep`] by default. With [`ImmediateAdd::Defer`] no event shortens a
    /// back-off, but one during the work runs the item again at once.
    pub fn immediate_add(mut self, policy: ImmediateAdd) -> Self {
        self.rules.immediate_add = policy;
        self.queue = self.queue.immediate_add(policy);
        self
    }

    /// Sets whether [`drained`](RateLimitingQueue::drained) waits for delayed items. On by default.
    pub fn drain_awaits_delayed(mut self, awaits: bool) -> Self {
        self.queue = self.queue.drain_awaits_delayed(awaits);
        self
    }
}

impl<T, L: RateLimiter<T>, B: Backlog, S: Clone> Builder<T, L, B, S> {
    /// Builds the queue for async and blocking getters.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the invalid setting, such as a timer that cannot wake tasks.
    pub fn build(self) -> Result<RateLimitingQueue<T, L, B, S>, BuildError> {
        self.finish(wq_delay::Builder::build)
    }

    /// Builds the queue for blocking getters. They alone keep time, so any timer will do.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the invalid setting.
    pub fn build_blocking(self) -> Result<RateLimitingQueue<T, L, B, S>, BuildError> {
        self.finish(wq_delay::Builder::build_blocking)
    }

    fn finish(
        self,
        build: impl FnOnce(wq_delay::Builder<T, B, S>) -> Result<DelayingQueue<T, B, S>, BuildError>,
    ) -> Result<RateLimitingQueue<T, L, B, S>, BuildError> {
        let Self { queue, hasher, limiter, rules } = self;
        let backoffs = Backoffs::new(hasher);
        let retry_state = RetryState { limiter, backoffs, rules };
        let inner = Inner {
            queue: build(queue)?,
            during_backoff: rules.during_backoff,
            retry_state: Mutex::new(retry_state),
        };
        Ok(RateLimitingQueue { inner: Arc::new(inner) })
    }
}

impl<T, L: fmt::Debug, B: fmt::Debug, S> fmt::Debug for Builder<T, L, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("queue", &self.queue)
            .field("limiter", &self.limiter)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
