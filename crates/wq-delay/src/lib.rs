#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod queue;
mod builder;
mod forward;
mod get;
mod drained;
mod scheduled;
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

pub use builder::{BuildError, Builder};
pub use drained::Drained;
pub use forward::AddWait;
pub use get::{Get, GetBatch, GetOwned, KeepTime};
pub use heap::SecondAdd;
pub use manual_timer::ManualTimer;
pub use queue::{DelayingQueue, ImmediateAdd};
pub use scheduled::{NotDrained, Scheduled};
pub use thread_timer::ThreadTimer;
pub use timer::Timer;
#[cfg(feature = "tokio")]
pub use tokio_timer::TokioTimer;

// The types of the queue below that appear in these signatures.
pub use wq_core::{
    Added, AddedAll, Backlog, Counts, DefaultHasher, Fifo, GetTimeoutError, Observer, OwnedProcessingGuard,
    ProcessingGuard, Rejected, RejectedReason, Snapshot, TryGetError,
};
