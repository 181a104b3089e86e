#![doc = include_str!("../README.md")]
//!
//! ## Panics in user code
//!
//! The queue stays usable if user code panics: `Hash`, `Eq` or `Clone` of an item, a limiter, a
//! backlog, an observer, a waker or a timer. The panic reaches the caller of the queue. A guard has
//! then ended.
//!
//! - All other items are handed out.
//! - `finish` asks the limiter first: if it panics, the earlier retry still waits.
//! - A later panic in `finish` can lose the retry: the item does not run until it is added again.
//! - Records of failures can be lost: a table that grows or ages hashes its items.
#![forbid(unsafe_code)]

mod queue;
mod outcome;
mod guard;
mod finish;
mod builder;
mod add;
mod forward;
mod get;
mod retry_state;
mod backoffs;
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
pub use remembered::{Remembered, Stores};
pub use retry_state::DuringBackoff;
pub use shared::Shared;
pub use token_bucket::TokenBucket;
pub use with_max_wait::WithMaxWait;

// Upper crates use these without a dependency on the queues below.
#[cfg(feature = "tokio")]
pub use wq_delay::TokioTimer;
pub use wq_delay::{
    Added, AddedAll, Backlog, BuildError, Counts, Debounce, DebounceError, DefaultHasher,
    DelayReader, DelayingQueue, Drained, Fifo, GetTimeoutError, ImmediateAdd, ItemHasher, KeepTime,
    ManualTimer, NotDrained, Observer, Phase, Rejected, RejectedReason, Scheduled, SecondAdd, Seen,
    SlotId, Snapshot, ThreadTimer, Timer, TryGetError, WorkQueue,
};
