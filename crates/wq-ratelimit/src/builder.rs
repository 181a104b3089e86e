//! `Builder`: everything that is settled before a rate limiting queue exists.

use crate::control::{Control, DuringBackoff, Rules};
use crate::limiter::RateLimiter;
use crate::platform::Mutex;
use crate::queue::{Inner, RateLimitingQueue};
use crate::windows::Windows;
use std::fmt;
use std::sync::Arc;
use wq_delay::{
    Backlog, BuildError, DefaultHasher, DelayingQueue, Fifo, ImmediateAdd, Observer, SecondAdd, Timer,
};

/// In place of a limiter until [`Builder::limiter`] names one. No queue can be built with it.
#[derive(Debug, Clone, Copy)]
pub struct NoLimiter(());

/// Settings of a queue to be; see [`RateLimitingQueue::builder`].
#[must_use = "a builder does nothing until build is called"]
pub struct Builder<T, L = NoLimiter, B = Fifo, S = DefaultHasher> {
    queue: wq_delay::Builder<T, B, S>,
    hasher: S,
    limiter: L,
    rules: Rules,
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
    /// What says how long a failed item waits. [`controller_default()`](crate::controller_default()) gives client-go's.
    ///
    /// It moves between the threads that call the queue, so it must be `Send`:
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

    /// Counts an attempt that ends while its item is still backing off, as client-go does: events then drive a failing
    /// item's back-off up. Off by default.
    pub fn count_early_attempts(mut self, count: bool) -> Self {
        self.rules.count_early_attempts = count;
        self
    }

    /// What an add without a delay, an event, does to the back-off of a failed item. [`DuringBackoff::Keep`] by default.
    ///
    /// Events are [`add`](RateLimitingQueue::add), `add_ref`, `add_all` and their kin. `try_add` and delayed adds leave a back-off as it is.
    pub fn during_backoff(mut self, policy: DuringBackoff) -> Self {
        self.rules.during_backoff = policy;
        self
    }

    /// The clock of the queue, and of its limiter. There is no default.
    #[doc(alias = "Clock")]
    pub fn timer(mut self, timer: impl Timer + 'static) -> Self {
        self.queue = self.queue.timer(timer);
        self
    }

    /// A name to tell the queue from others, in `Debug` and in metrics. None by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.queue = self.queue.name(name);
        self
    }

    /// Who is told of each event. Nobody by default.
    #[doc(alias = "MetricsProvider")]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.queue = self.queue.observer(observer);
        self
    }

    /// What decides the order of hand-outs. [`Fifo`] by default. It must be empty.
    pub fn backlog<C: Backlog + Send>(self, backlog: C) -> Builder<T, L, C, S> {
        let Self { queue, hasher, limiter, rules } = self;
        Builder { queue: queue.backlog(backlog), hasher, limiter, rules }
    }

    /// The bound of [`try_add`](RateLimitingQueue::try_add), in queued items. Unbounded by default.
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.queue = self.queue.capacity(capacity);
        self
    }

    /// Makes room for so many delayed items when the queue is built, retries among them, and keeps it, as
    /// [`wq_delay::Builder::reserve_delayed`]. None by default.
    pub fn reserve_delayed(mut self, items: usize) -> Self {
        self.queue = self.queue.reserve_delayed(items);
        self
    }

    /// What hashes items in the queue: [`DefaultHasher`] by default. Clones of it must hash alike. A limiter that stores
    /// items has a hasher of its own.
    pub fn hasher<H: Clone + Send + Sync>(self, hasher: H) -> Builder<T, L, B, H> {
        let Self { queue, hasher: _, limiter, rules } = self;
        Builder { queue: queue.hasher(hasher.clone()), hasher, limiter, rules }
    }

    /// Which deadline a delayed item keeps when it is added with a delay once more. [`SecondAdd::Earliest`] by default.
    pub fn second_add(mut self, policy: SecondAdd) -> Self {
        self.queue = self.queue.second_add(policy);
        self
    }

    /// What becomes of the deadline when a delayed item is added without a delay. [`ImmediateAdd::Keep`] by default;
    /// [`ImmediateAdd::Defer`] makes back-off strict: no event that comes after the failure brings the item back before
    /// its time. One that came during the work still runs it again at once.
    pub fn immediate_add(mut self, policy: ImmediateAdd) -> Self {
        self.rules.immediate_add = policy;
        self.queue = self.queue.immediate_add(policy);
        self
    }

    /// Whether [`drained`](RateLimitingQueue::drained) waits for delayed items too. It does by default.
    pub fn drain_awaits_delayed(mut self, awaits: bool) -> Self {
        self.queue = self.queue.drain_awaits_delayed(awaits);
        self
    }
}

impl<T, L: RateLimiter<T>, B: Backlog, S: Clone> Builder<T, L, B, S> {
    /// The queue, for async and blocking getters.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting at fault: no timer, or one that cannot wake tasks.
    pub fn build(self) -> Result<RateLimitingQueue<T, L, B, S>, BuildError> {
        self.finish(wq_delay::Builder::build)
    }

    /// The queue, for blocking getters: they alone keep time, so any timer will do.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting at fault.
    pub fn build_blocking(self) -> Result<RateLimitingQueue<T, L, B, S>, BuildError> {
        self.finish(wq_delay::Builder::build_blocking)
    }

    fn finish(
        self,
        build: impl FnOnce(wq_delay::Builder<T, B, S>) -> Result<DelayingQueue<T, B, S>, BuildError>,
    ) -> Result<RateLimitingQueue<T, L, B, S>, BuildError> {
        let Self { queue, hasher, limiter, rules } = self;
        let windows = Windows::new(hasher);
        let control = Control { limiter, windows, rules };
        let inner = Inner {
            queue: build(queue)?,
            during_backoff: rules.during_backoff,
            control: Mutex::new(control),
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
