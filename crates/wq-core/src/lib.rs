#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod queue;
mod builder;
mod add;
mod added;
mod offer;
mod notices;
mod get;
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
mod news;
mod waiters;
mod lock;
mod parker;
mod clock;
mod platform;
mod planted;

pub use added::{Added, AddedAll, Rejected, RejectedReason};
pub use backlog::{Backlog, Fifo, SlotId, Survey};
pub use builder::{BuildError, Builder};
pub use drained::{Drained, NotDrained};
pub use get::{Get, GetOwned, GetTimeoutError, TryGetError};
pub use guard::{OwnedProcessingGuard, ProcessingGuard};
pub use hasher::{DefaultHasher, ItemHash, ItemHasher};
pub use notices::{Notices, QuietAdd};
pub use observer::Observer;
#[cfg(wq_plant)]
pub use planted::PLANTED_BUGS;
pub use queue::WorkQueue;
pub use reader::{KeptAlive, QueueReader};
pub use snapshot::{Counts, Gauges, Phase, Seen, Snapshot};
