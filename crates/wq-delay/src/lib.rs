#![doc = include_str!("../README.md")]
//!
//! ## Panics in user code
//!
//! The queue stays usable if code of its user panics. The panic reaches the caller of the queue.
//!
//! - `Hash`, `Eq` or `Clone` of an item in an add: nothing is added, and a delayed item stays so.
//! - `Eq` of a due item, in any call that moves due items: this item is lost, and no other.
//! - A waker, an observer or `Drop` of an item: the event has happened. An item that the call would
//!   have returned may be lost. An add whose [`retried`](Observer::retried) panics adds nothing.
//! - A [`Backlog`]: as in [`wq_core`](wq_core#panics-in-user-code).
//! - A [`Timer`]: no item is lost.
//!
//! A method has a section `# Panics` only where another rule holds.
#![forbid(unsafe_code)]

mod immediate_add;
mod policy;
mod queue;
mod builder;
mod forward;
mod get;
mod debounce;
mod retry;
mod drained;
mod scheduled;
mod deadline;
mod heap;
mod tick;
mod timekeeper;
mod shared;
mod wakes;
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
pub use deadline::SecondAdd;
pub use debounce::{Debounce, DebounceError};
pub use drained::Drained;
pub use get::{Get, GetOwned, KeepTime};
pub use manual_timer::ManualTimer;
#[cfg(wq_plant)]
pub use planted::PLANTED_BUGS;
pub use policy::ImmediateAdd;
pub use queue::DelayingQueue;
pub use reader::DelayReader;
pub use retry::Retries;
pub use scheduled::{NotDrained, Scheduled};
pub use thread_timer::ThreadTimer;
pub use timer::Timer;
#[cfg(feature = "tokio")]
pub use tokio_timer::TokioTimer;

// Upper crates need not name the queue below.
pub use wq_core::{
    Added, AddedAll, Backlog, Counts, DefaultHasher, Fifo, Gauges, GetTimeoutError, ItemHasher,
    Observer, OwnedProcessingGuard, Phase, ProcessingGuard, QueueReader, Rejected, RejectedReason,
    Seen, SlotId, Snapshot, Survey, TryGetError, WorkQueue,
};
