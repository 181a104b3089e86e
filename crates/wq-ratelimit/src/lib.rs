#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod queue;
mod outcome;
mod guard;
mod builder;
mod forward;
mod get;
mod control;
mod windows;
mod limiter;
mod exponential;
mod fast_slow;
mod token_bucket;
mod per_item_bucket;
mod combine;
mod controller_default;
mod records;
mod rate;
mod invalid_limit;

pub use builder::{Builder, NoLimiter};
pub use combine::{Jittered, MaxOf, Shared, WithMaxWait};
pub use controller_default::controller_default;
pub use exponential::ExponentialBackoff;
pub use fast_slow::FastSlow;
pub use get::{Get, GetBatch, GetOwned};
pub use guard::{OwnedProcessingGuard, ProcessingGuard};
pub use invalid_limit::InvalidLimit;
pub use limiter::RateLimiter;
pub use outcome::Outcome;
pub use per_item_bucket::PerItemBucket;
pub use queue::RateLimitingQueue;
pub use token_bucket::TokenBucket;

// The types of the queues below that appear in these signatures.
#[cfg(feature = "tokio")]
pub use wq_delay::TokioTimer;
pub use wq_delay::{
    AddWait, Added, AddedAll, Backlog, BuildError, Counts, DefaultHasher, Drained, Fifo, GetTimeoutError,
    ImmediateAdd, KeepTime, ManualTimer, NotDrained, Observer, Rejected, RejectedReason, Scheduled,
    SecondAdd, Snapshot, ThreadTimer, Timer, TryGetError,
};
