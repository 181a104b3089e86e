//! Prometheus: the metrics of a rate limiting queue are those of the delaying one below.

use crate::builder::Builder;
use crate::limiter::RateLimiter;
use crate::queue::RateLimitingQueue;
use prometheus_client::registry::Registry;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use wq_delay::prometheus::DelayMetrics;
use wq_delay::{Backlog, BuildError, Observer};

/// The metrics of all rate limiting queues of a program, in one registry: those of [`DelayMetrics`], which has client-go's and two
/// of its own.
///
/// `workqueue_retries_total` counts what client-go counts: each add for later that was let in, by whatever verb, among them each
/// retry that an [`Outcome`](crate::Outcome) asked for. An item that is parked is not retried.
///
/// ```
/// use prometheus_client::registry::Registry;
/// use wq_ratelimit::prometheus::RateLimitMetrics;
/// use wq_ratelimit::{ManualTimer, Outcome, RateLimitingQueue, controller_default};
///
/// let mut registry = Registry::default();
/// let metrics = RateLimitMetrics::register(&mut registry);
/// let builder = RateLimitingQueue::builder().name("claims").limiter(controller_default()).timer(ManualTimer::new());
/// let queue = metrics.build(builder)?;
/// queue.add("claim-1");
/// queue.try_get()?.finish(Outcome::Retry)?;
///
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains("workqueue_retries_total{name=\"claims\"} 1"));
/// assert!(text.contains("workqueue_delayed_depth{name=\"claims\"} 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[doc(alias = "MetricsProvider")]
pub struct RateLimitMetrics {
    delay: DelayMetrics,
}

impl RateLimitMetrics {
    /// Registers the metrics, those of the queues below among them, without a queue yet. Once for a registry: names in a
    /// registry must be unique.
    pub fn register(registry: &mut Registry) -> Self {
        Self { delay: DelayMetrics::register(registry) }
    }

    /// The same for metrics that are registered already.
    #[must_use]
    pub fn of(delay: &DelayMetrics) -> Self {
        Self { delay: delay.clone() }
    }

    /// The metrics of the queues below, for those that limit nothing, and for wq-priority's, which want their
    /// [`core`](DelayMetrics::core).
    #[must_use]
    pub const fn delay(&self) -> &DelayMetrics {
        &self.delay
    }

    /// Builds a queue with these metrics, under its name; one without a name has the empty one. An observer
    /// that the builder has is told too.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn build<T, L, B, S>(
        &self,
        builder: Builder<T, L, B, S>,
    ) -> Result<RateLimitingQueue<T, L, B, S>, BuildError>
    where
        T: Hash + Eq + Send + 'static,
        L: RateLimiter<T>,
        B: Backlog + Send + 'static,
        S: BuildHasher + Clone,
    {
        builder.finish(|queue| self.delay.build(queue))
    }

    /// As [`build`](Self::build), for blocking getters: see [`Builder::build_blocking`].
    ///
    /// # Errors
    ///
    /// As [`Builder::build_blocking`].
    pub fn build_blocking<T, L, B, S>(
        &self,
        builder: Builder<T, L, B, S>,
    ) -> Result<RateLimitingQueue<T, L, B, S>, BuildError>
    where
        T: Hash + Eq + Send + 'static,
        L: RateLimiter<T>,
        B: Backlog + Send + 'static,
        S: BuildHasher + Clone,
    {
        builder.finish(|queue| self.delay.build_blocking(queue))
    }

    /// What counts all events of the queue of this name, as [`DelayMetrics::observer`].
    pub fn observer(&self, name: &str) -> impl Observer + 'static {
        self.delay.observer(name)
    }

    /// Reads the gauges of this queue at every scrape until the queue is gone, as [`DelayMetrics::watch`]: it is not kept alive.
    pub fn watch<T, L, B, S>(&self, name: &str, queue: &RateLimitingQueue<T, L, B, S>)
    where
        T: Send + 'static,
        B: Backlog + Send + 'static,
    {
        self.delay.watch(name, &queue.inner.queue);
    }
}

impl fmt::Debug for RateLimitMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitMetrics").field("delay", &self.delay).finish_non_exhaustive()
    }
}
