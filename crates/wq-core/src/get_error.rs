//! Why a get returned no item.

use std::error::Error;
use std::fmt;

/// Why [`WorkQueue::try_get`](crate::WorkQueue::try_get) or `done_and_get` returned no item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TryGetError {
    /// Nothing is queued, or the queue is paused. An item may come later.
    Empty,
    /// The queue is shut down and nothing is queued. An item in flight may still run again.
    ShutDown,
}

impl fmt::Display for TryGetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "no item is ready to be handed out",
            Self::ShutDown => "the queue is shut down and empty",
        })
    }
}

impl Error for TryGetError {}

/// Why [`WorkQueue::get_timeout`](crate::WorkQueue::get_timeout) returned no item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GetTimeoutError {
    /// The time-out has passed.
    TimedOut,
    /// The queue is shut down and nothing is queued.
    ShutDown,
}

impl fmt::Display for GetTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "no item became ready within the time-out",
            Self::ShutDown => "the queue is shut down and empty",
        })
    }
}

impl Error for GetTimeoutError {}
