#![doc = include_str!("../README.md")]
//!
//! ## Panics in user code
//!
//! The queue stays usable if code of its user panics. The panic reaches the caller of the queue.
//!
//! - `Hash`, `Eq`, `Clone` or `From` of an item: the call changes nothing. An item whose `Clone`
//!   panics in a get stays queued and goes to the tail, and the getter keeps its place in line.
//! - A waker, an observer or `Drop` of an item: the event has happened, such as an add or the end
//!   of a hand-out. An item that the call would have returned may be lost, and no other.
//! - A [`Backlog`]: items of the call may be lost, or stay in flight until `abandon`.
//!
//! A second panic aborts the program, such as one in a guard that a panic drops.
//! A method has a section `# Panics` only where another rule holds.
#![forbid(unsafe_code)]

mod queue;
mod builder;
mod add;
mod added;
mod insert;
mod deferred;
mod get;
mod get_error;
mod guard;
mod drained;
mod snapshot;
mod reader;
mod backlog;
mod observer;
#[cfg(feature = "tracing")]
pub mod tracing;
mod hasher;
mod table;
mod state;
mod shared;
mod transition;
mod waiters;
mod lock;
mod parker;
mod clock;
mod platform;
mod planted;

pub use added::{Added, AddedAll, Rejected, RejectedReason};
pub use backlog::{Backlog, Fifo, SlotId, Survey};
pub use builder::{BuildError, Builder};
pub use deferred::{DeferredWakes, HashedAdd};
pub use drained::{Drained, NotDrained};
pub use get::{Get, GetOwned};
pub use get_error::{GetTimeoutError, TryGetError};
pub use guard::{OwnedProcessingGuard, ProcessingGuard};
pub use hasher::{DefaultHasher, ItemHash, ItemHasher};
pub use observer::Observer;
#[cfg(wq_plant)]
pub use planted::PLANTED_BUGS;
pub use queue::WorkQueue;
pub use reader::{KeptAlive, QueueReader};
pub use snapshot::{Counts, Gauges, Phase, Seen, Snapshot};
