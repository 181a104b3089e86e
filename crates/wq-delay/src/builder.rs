//! Builder: the settings of a delaying queue before it exists.

use crate::deadline::SecondAdd;
use crate::heap::DelayHeap;
use crate::policy::ImmediateAdd;
use crate::queue::DelayingQueue;
use crate::shared::{Settings, Shared};
use crate::timer::Timer;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use wq_core::{Backlog, DefaultHasher, Fifo, Observer, WorkQueue};

/// The settings of a queue; see [`DelayingQueue::builder`].
#[must_use = "a builder does nothing until build is called"]
pub struct Builder<T, B = Fifo, S = DefaultHasher> {
    core: wq_core::Builder<T, B, S>,
    timer: Option<Arc<dyn Timer>>,
    observer: Option<Arc<dyn Observer>>,
    second_add: SecondAdd,
    immediate_add: ImmediateAdd,
    drain_awaits_delayed: bool,
    reserve_delayed: usize,
}

impl<T> DelayingQueue<T> {
    /// Starts a builder with the settings of a queue. It needs a [`timer`](Builder::timer).
    #[doc(alias = "NewTypedDelayingQueue")]
    #[doc(alias = "TypedDelayingQueueConfig")]
    pub fn builder() -> Builder<T> {
        Builder::new()
    }
}

impl<T> Builder<T> {
    pub(crate) fn new() -> Self {
        Self {
            core: WorkQueue::builder(),
            timer: None,
            observer: None,
            second_add: SecondAdd::default(),
            immediate_add: ImmediateAdd::default(),
            drain_awaits_delayed: true,
            reserve_delayed: 0,
        }
    }
}

impl<T, B: Backlog, S> Builder<T, B, S> {
    /// Sets the clock of the queue, also for its observer's durations and its gauges. There is no
    /// default: threads take [`ThreadTimer`](crate::ThreadTimer), tasks `TokioTimer` (feature
    /// `tokio`).
    #[doc(alias = "Clock")]
    pub fn timer(mut self, timer: impl Timer + 'static) -> Self {
        self.timer = Some(Arc::new(timer));
        self
    }

    /// Sets a name for `Debug` and metrics. None by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.core = self.core.name(name);
        self
    }

    /// Sets the observer, which is notified of each event. None by default. A delayed add is
    /// [`retried`](Observer::retried).
    #[doc(alias = "MetricsProvider")]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        let observer: Arc<dyn Observer> = Arc::new(observer);
        self.observer = Some(Arc::clone(&observer));
        self.core = self.core.observer(observer);
        self
    }

    /// Sets the backlog, which decides the order of hand-outs. [`Fifo`] by default. It must be
    /// empty.
    pub fn backlog<C: Backlog>(self, backlog: C) -> Builder<T, C, S> {
        self.over(|core| core.backlog(backlog))
    }

    /// Sets how many items may be queued or marked to run again, for
    /// [`try_add`](DelayingQueue::try_add). Unbounded by default. Delayed items do not count.
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.core = self.core.capacity(capacity);
        self
    }

    /// Sets the hasher of items: [`DefaultHasher`] by default.
    pub fn hasher<H>(self, hasher: H) -> Builder<T, B, H> {
        self.over(|core| core.hasher(hasher))
    }

    /// The same settings over another core builder.
    fn over<C, H>(
        self,
        core: impl FnOnce(wq_core::Builder<T, B, S>) -> wq_core::Builder<T, C, H>,
    ) -> Builder<T, C, H> {
        Builder {
            core: core(self.core),
            timer: self.timer,
            observer: self.observer,
            second_add: self.second_add,
            immediate_add: self.immediate_add,
            drain_awaits_delayed: self.drain_awaits_delayed,
            reserve_delayed: self.reserve_delayed,
        }
    }

    /// Reserves memory for this many delayed items, and keeps it. None by default, and at most
    /// [`BuildError::MOST_RESERVED`].
    ///
    /// Up to this number no add grows a table, which takes milliseconds with millions of items.
    pub fn reserve_delayed(mut self, items: usize) -> Self {
        self.reserve_delayed = items;
        self
    }

    /// Sets what an add with a delay does to the deadline of a delayed item.
    /// [`SecondAdd::Earliest`] by default.
    pub fn second_add(mut self, policy: SecondAdd) -> Self {
        self.second_add = policy;
        self
    }

    /// Sets what an add without a delay does to the deadline of a delayed item.
    /// [`ImmediateAdd::Keep`] by default.
    pub fn immediate_add(mut self, policy: ImmediateAdd) -> Self {
        self.immediate_add = policy;
        self
    }

    /// Whether [`drained`](DelayingQueue::drained) waits for delayed items too. True by default.
    pub fn drain_awaits_delayed(mut self, awaits: bool) -> Self {
        self.drain_awaits_delayed = awaits;
        self
    }

    /// Builds the queue, for async and blocking getters.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the invalid setting. A timer that cannot wake tasks, such as
    /// [`ThreadTimer`](crate::ThreadTimer), needs [`build_blocking`](Self::build_blocking).
    pub fn build(self) -> Result<DelayingQueue<T, B, S>, BuildError> {
        match &self.timer {
            Some(timer) if !timer.wakes_tasks() => {
                Err(BuildError::TimerCannotWakeTasks { timer: format!("{timer:?}") })
            }
            _ => self.finish(true),
        }
    }

    /// Builds the queue, for blocking getters. They alone keep the time, so any timer will do.
    ///
    /// An async get returns items too, but waits for a blocking getter or another call to queue due
    /// items.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the invalid setting.
    pub fn build_blocking(self) -> Result<DelayingQueue<T, B, S>, BuildError> {
        self.finish(false)
    }

    fn finish(self, tasks_keep_time: bool) -> Result<DelayingQueue<T, B, S>, BuildError> {
        let Self {
            core,
            timer,
            observer,
            second_add,
            immediate_add,
            drain_awaits_delayed,
            reserve_delayed,
        } = self;
        let timer = timer.ok_or(BuildError::NoTimer)?;
        if reserve_delayed > BuildError::MOST_RESERVED {
            return Err(BuildError::TooMuchReserved { items: reserve_delayed });
        }
        let heap = DelayHeap::with_room(reserve_delayed);
        let heap = heap.ok_or(BuildError::NoMemoryToReserve { items: reserve_delayed })?;
        let clock = Arc::clone(&timer);
        let core = core.clock(move || clock.now()).build().map_err(BuildError::Core)?;
        let settings = Settings {
            timer,
            observer,
            second_add,
            immediate_add,
            drain_awaits_delayed,
            tasks_keep_time,
            heap,
        };
        Ok(DelayingQueue { core, shared: Arc::new(Shared::new(settings)) })
    }
}

impl<T, B: fmt::Debug, S> fmt::Debug for Builder<T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("core", &self.core)
            .field("timer", &self.timer)
            .field("second_add", &self.second_add)
            .field("immediate_add", &self.immediate_add)
            .field("drain_awaits_delayed", &self.drain_awaits_delayed)
            .finish_non_exhaustive()
    }
}

/// An invalid setting of a [`Builder`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The timer is missing.
    NoTimer,
    /// The timer cannot wake tasks, which async getters need.
    TimerCannotWakeTasks {
        /// The `Debug` output of the timer.
        timer: String,
    },
    /// More is reserved than [`MOST_RESERVED`](Self::MOST_RESERVED).
    TooMuchReserved {
        /// The number given to [`reserve_delayed`](Builder::reserve_delayed).
        items: usize,
    },
    /// There is not enough memory for the reserved number of delayed items.
    NoMemoryToReserve {
        /// The number given to [`reserve_delayed`](Builder::reserve_delayed).
        items: usize,
    },
    /// A setting of the core queue is invalid.
    Core(wq_core::BuildError),
}

impl BuildError {
    /// The most that [`reserve_delayed`](Builder::reserve_delayed) accepts: half of what a queue
    /// can hold.
    pub const MOST_RESERVED: usize = 1 << 31;
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTimer => f.write_str(
                "timer is missing; give the builder one: TokioTimer (feature tokio), ThreadTimer or ManualTimer",
            ),
            Self::TimerCannotWakeTasks { timer } => write!(
                f,
                "timer is {timer}, which cannot wake tasks; use build_blocking if only threads get from the queue, \
                 or another timer, for example TokioTimer (feature tokio)"
            ),
            Self::TooMuchReserved { items } => write!(
                f,
                "reserve_delayed is {items} but must be at most {}; more room is made when it is needed",
                Self::MOST_RESERVED
            ),
            Self::NoMemoryToReserve { items } => write!(
                f,
                "reserve_delayed is {items}, and there is no memory for so many; more room is made when it is needed"
            ),
            Self::Core(error) => error.fmt(f),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Core(error) => Some(error),
            Self::NoTimer
            | Self::TimerCannotWakeTasks { .. }
            | Self::TooMuchReserved { .. }
            | Self::NoMemoryToReserve { .. } => None,
        }
    }
}
