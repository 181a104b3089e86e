#![doc = include_str!("../README.md")]
//! ## Panics in user code
//!
//! `Hash`, `Eq` and `Clone` of items, backlogs, observers, wakers and timers are user code. A verb that
//! calls code that panics passes the panic on. The queue stays usable, and every other item is handed out.
//!
//! - An add that panics adds nothing, and a request that waits still waits.
//! - An item whose `Eq` panics while it is moved at its deadline is lost.
//! - A getter that has an item wakes its successor. If that waker panics, the guard is dropped: the item is done.
#![forbid(unsafe_code)]

mod queue;
mod builder;
mod forward;
mod get;
mod debounce;
mod retry;
mod drained;
mod scheduled;
mod wish;
mod heap;
mod tick;
mod timekeeper;
mod shared;
mod after;
mod timer;
mod thread_timer;
#[cfg(feature = "tokio")]
mod tokio_timer;
mod manual_timer;
mod parking;
mod reader;
mod platform;
mod planted;

pub use builder::{BuildError, Builder};
pub use debounce::{Debounce, DebounceError};
pub use drained::Drained;
pub use get::{Get, GetOwned, KeepTime};
pub use manual_timer::ManualTimer;
#[cfg(wq_plant)]
pub use planted::PLANTED_BUGS;
pub use queue::{DelayingQueue, ImmediateAdd};
pub use reader::DelayReader;
pub use scheduled::{NotDrained, Scheduled};
pub use thread_timer::ThreadTimer;
pub use timer::Timer;
#[cfg(feature = "tokio")]
pub use tokio_timer::TokioTimer;
pub use wish::SecondAdd;

// What upper crates need of the queue below, so that they need not name it.
pub use wq_core::{
    Added, AddedAll, Backlog, Counts, DefaultHasher, Fifo, Gauges, GetTimeoutError, ItemHasher, Observer,
    OwnedProcessingGuard, Phase, ProcessingGuard, QueueReader, Rejected, RejectedReason, Seen, SlotId,
    Snapshot, Survey, TryGetError, WorkQueue,
};
