#![doc = include_str!("../README.md")]
//! ## Panics in user code
//!
//! `Hash`, `Eq` and `Clone` of items, limiters, backlogs, observers, wakers and timers are user code.
//! A verb that calls code that panics passes the panic on. A guard has then ended.
//!
//! - The queue stays usable, and every other item is handed out.
//! - `finish` counts first: if the limiter panics, the retry from before still waits. A later panic may
//!   lose the retry of that one item, which is then not in the queue until it is added again.
//! - What is remembered of failures may be lost: a table that grows or ages hashes what it holds.
#![forbid(unsafe_code)]

mod queue;
mod outcome;
mod guard;
mod finish;
mod builder;
mod add;
mod forward;
mod get;
mod control;
mod windows;
mod limiter;
mod exponential;
mod fast_slow;
mod token_bucket;
mod per_item_bucket;
mod max_of;
mod with_max_wait;
mod jittered;
mod shared;
mod controller_default;
mod records;
mod remembered;
mod random;
mod rate;
mod invalid_limit;
mod platform;
mod planted;

pub use builder::{Builder, NoLimiter};
pub use control::DuringBackoff;
pub use controller_default::{controller_default, item_default};
pub use exponential::ExponentialBackoff;
pub use fast_slow::FastSlow;
pub use get::{Get, GetOwned};
pub use guard::{OwnedProcessingGuard, ProcessingGuard};
pub use invalid_limit::InvalidLimit;
pub use jittered::Jittered;
pub use limiter::RateLimiter;
pub use max_of::MaxOf;
pub use outcome::{Combine, Outcome};
pub use per_item_bucket::PerItemBucket;
#[cfg(wq_plant)]
pub use planted::PLANTED_BUGS;
pub use queue::RateLimitingQueue;
pub use remembered::Remembered;
pub use shared::Shared;
pub use token_bucket::TokenBucket;
pub use with_max_wait::WithMaxWait;

// What upper crates need of the queues below, so that they need not name them.
#[cfg(feature = "tokio")]
pub use wq_delay::TokioTimer;
pub use wq_delay::{
    Added, AddedAll, Backlog, BuildError, Counts, Debounce, DebounceError, DefaultHasher, DelayReader,
    DelayingQueue, Drained, Fifo, GetTimeoutError, ImmediateAdd, ItemHasher, KeepTime, ManualTimer,
    NotDrained, Notices, Observer, Phase, Rejected, RejectedReason, Scheduled, SecondAdd, Seen, SlotId,
    Snapshot, ThreadTimer, Timer, TryGetError, WorkQueue,
};
