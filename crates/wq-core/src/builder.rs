//! Builder: the settings of a queue before it exists.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use crate::backlog::{Backlog, Fifo};
use crate::clock::Clock;
use crate::hasher::DefaultHasher;
use crate::observer::Observer;
use crate::queue::WorkQueue;
use crate::shared::Shared;

/// The settings of a queue; see [`WorkQueue::builder`].
#[must_use = "a builder does nothing until build is called"]
pub struct Builder<T, B = Fifo, S = DefaultHasher> {
    name: Option<String>,
    observer: Option<Box<dyn Observer>>,
    clock: Option<Box<Clock>>,
    backlog: B,
    capacity: Option<usize>,
    hasher: S,
    item: PhantomData<fn() -> T>,
}

impl<T> WorkQueue<T> {
    /// Starts a builder with the settings of a queue: name, observer, backlog, capacity, hasher.
    #[doc(alias = "NewTypedWithConfig")]
    #[doc(alias = "TypedQueueConfig")]
    pub fn builder() -> Builder<T> {
        Builder::new()
    }
}

impl<T> Builder<T> {
    pub(crate) fn new() -> Self {
        Self {
            name: None,
            observer: None,
            clock: None,
            backlog: Fifo::default(),
            capacity: None,
            hasher: DefaultHasher::default(),
            item: PhantomData,
        }
    }
}

impl<T, B: Backlog, S> Builder<T, B, S> {
    /// Sets a name for `Debug` and metrics. None by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the observer, which is notified of each event. None by default, and the queue then
    /// measures no times.
    ///
    /// Give an `Arc` to keep access to the observer, and a pair for two observers.
    #[doc(alias = "MetricsProvider")]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Sets the clock for the observer's durations and for ages in gauges and snapshots. The
    /// machine's clock by default.
    ///
    /// It must never go backwards. The queue reads it outside its lock, and only with an observer.
    /// Time-outs of blocking calls use the machine's clock.
    #[doc(alias = "Clock")]
    pub fn clock(mut self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Sets the backlog, which decides the order of hand-outs. [`Fifo`] by default. It must be
    /// empty.
    pub fn backlog<C: Backlog>(self, backlog: C) -> Builder<T, C, S> {
        let Self { name, observer, clock, backlog: _, capacity, hasher, item } = self;
        Builder { name, observer, clock, backlog, capacity, hasher, item }
    }

    /// Sets how many items may be queued or marked to run again. Unbounded by default.
    ///
    /// [`try_add`](WorkQueue::try_add) refuses items beyond it; [`add`](WorkQueue::add) ignores it.
    pub const fn capacity(mut self, capacity: usize) -> Self {
        self.capacity = Some(capacity);
        self
    }

    /// Sets the hasher of items: [`DefaultHasher`] by default. Its clones must return equal hashes.
    pub fn hasher<H>(self, hasher: H) -> Builder<T, B, H> {
        let Self { name, observer, clock, backlog, capacity, hasher: _, item } = self;
        Builder { name, observer, clock, backlog, capacity, hasher, item }
    }

    /// Builds the queue.
    pub fn build(self) -> Result<WorkQueue<T, B, S>, BuildError> {
        let capacity = match self.capacity {
            None => None,
            Some(capacity) => Some(NonZeroUsize::new(capacity).ok_or(BuildError::ZeroCapacity)?),
        };
        if !self.backlog.is_empty() {
            return Err(BuildError::BacklogNotEmpty { len: self.backlog.len() });
        }
        let shared = Shared::new(self.name, self.observer, self.clock, self.backlog, capacity);
        Ok(WorkQueue { shared: Arc::new(shared), hasher: self.hasher })
    }
}

impl<T, B: fmt::Debug, S> fmt::Debug for Builder<T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("backlog", &self.backlog)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// An invalid setting of a [`Builder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BuildError {
    /// The capacity is zero.
    ZeroCapacity,
    /// The backlog already holds ids.
    BacklogNotEmpty {
        /// The number of ids.
        len: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroCapacity => f.write_str(
                "capacity is 0 but must be at least 1; leave it out for a queue without a bound",
            ),
            Self::BacklogNotEmpty { len } => {
                write!(f, "backlog holds {len} ids but must hold 0; give each queue a new one")
            }
        }
    }
}

impl Error for BuildError {}
