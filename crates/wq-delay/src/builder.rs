//! `Builder`: everything that is settled before a delaying queue exists.

use crate::heap::DelayHeap;
use crate::queue::{DelayingQueue, ImmediateAdd};
use crate::shared::{Settings, Shared};
use crate::timer::Timer;
use crate::wish::SecondAdd;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use wq_core::{Backlog, DefaultHasher, Fifo, Observer, WorkQueue};

/// Settings of a queue to be; see [`DelayingQueue::builder`].
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
    /// The clock of the queue, also for what its observer is told and for its gauges. There is no default: which one is right depends on who gets
    /// from the queue.
    #[doc(alias = "Clock")]
    pub fn timer(mut self, timer: impl Timer + 'static) -> Self {
        self.timer = Some(Arc::new(timer));
        self
    }

    /// A name to tell the queue from others, in `Debug` and in metrics. None by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.core = self.core.name(name);
        self
    }

    /// Who is told of each event, [`retried`](Observer::retried) among them: a delayed add. Nobody by default.
    #[doc(alias = "MetricsProvider")]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        let observer: Arc<dyn Observer> = Arc::new(observer);
        self.observer = Some(Arc::clone(&observer));
        self.core = self.core.observer(observer);
        self
    }

    /// What decides the order of hand-outs. [`Fifo`] by default. It must be empty.
    pub fn backlog<C: Backlog>(self, backlog: C) -> Builder<T, C, S> {
        self.over(|core| core.backlog(backlog))
    }

    /// The bound of [`try_add`](DelayingQueue::try_add), in queued items; delayed ones do not count. Unbounded by default.
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.core = self.core.capacity(capacity);
        self
    }

    /// What hashes items: [`DefaultHasher`] by default.
    pub fn hasher<H>(self, hasher: H) -> Builder<T, B, H> {
        self.over(|core| core.hasher(hasher))
    }

    /// The same settings over another queue.
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

    /// Makes room for so many delayed items when the queue is built, and keeps it, so that no add has to make some: an add
    /// that does can take milliseconds when there are millions. None by default, and at most
    /// [`BuildError::MOST_RESERVED`].
    pub fn reserve_delayed(mut self, items: usize) -> Self {
        self.reserve_delayed = items;
        self
    }

    /// Which deadline a delayed item keeps when it is added with a delay once more. [`SecondAdd::Earliest`] by default.
    pub fn second_add(mut self, policy: SecondAdd) -> Self {
        self.second_add = policy;
        self
    }

    /// What becomes of the deadline when a delayed item is added without a delay. [`ImmediateAdd::Keep`] by default.
    pub fn immediate_add(mut self, policy: ImmediateAdd) -> Self {
        self.immediate_add = policy;
        self
    }

    /// Whether [`drained`](DelayingQueue::drained) waits for delayed items too. It does by default. After shutdown there
    /// are none.
    pub fn drain_awaits_delayed(mut self, awaits: bool) -> Self {
        self.drain_awaits_delayed = awaits;
        self
    }

    /// The queue, for async and blocking getters.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting at fault: no timer, or one that cannot wake tasks
    /// ([`ThreadTimer`](crate::ThreadTimer)), with which an async get could sleep past a deadline; more room to reserve than there
    /// can be.
    pub fn build(self) -> Result<DelayingQueue<T, B, S>, BuildError> {
        match &self.timer {
            Some(timer) if !timer.wakes_tasks() => {
                Err(BuildError::TimerCannotWakeTasks { timer: format!("{timer:?}") })
            }
            _ => self.finish(true),
        }
    }

    /// The queue, for blocking getters: they alone keep time, so any timer will do. An async get is handed items as
    /// always, but due ones only as long as a blocking getter waits too.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting at fault.
    pub fn build_blocking(self) -> Result<DelayingQueue<T, B, S>, BuildError> {
        self.finish(false)
    }

    fn finish(self, tasks_keep_time: bool) -> Result<DelayingQueue<T, B, S>, BuildError> {
        let Self { core, timer, observer, second_add, immediate_add, drain_awaits_delayed, reserve_delayed } =
            self;
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

/// A setting that no queue can be built with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The builder was given no timer.
    NoTimer,
    /// The timer cannot wake tasks, but the queue is to serve async getters.
    TimerCannotWakeTasks {
        /// The timer, as its `Debug` has it.
        timer: String,
    },
    /// Room for more delayed items is to be reserved than a queue can be asked for.
    TooMuchReserved {
        /// As given to [`reserve_delayed`](Builder::reserve_delayed).
        items: usize,
    },
    /// There is no memory for so many delayed items.
    NoMemoryToReserve {
        /// As given to [`reserve_delayed`](Builder::reserve_delayed).
        items: usize,
    },
    /// A setting of the core queue.
    Core(wq_core::BuildError),
}

impl BuildError {
    /// Room can be [reserved](Builder::reserve_delayed) for so many delayed items at most: the half of those that a queue can hold.
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
