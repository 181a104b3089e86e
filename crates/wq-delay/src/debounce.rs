//! Debounce: how long an item must be quiet, and how long it waits at most.

use crate::deadline::DeadlineRequest;
use crate::queue::DelayingQueue;
use crate::scheduled::Scheduled;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;
use wq_core::Backlog;

/// A quiet period and a longest wait. See [`add_debounced`](DelayingQueue::add_debounced).
///
/// A debounced item comes out when it was not added for `quiet`, and at the latest `max_wait` after
/// the first of its adds.
///
/// ```
/// use std::time::Duration;
/// use wq_delay::{Debounce, DelayingQueue, ManualTimer};
///
/// let debounce = Debounce::new(Duration::from_secs(1), Duration::from_secs(5))?;
/// let timer = ManualTimer::new();
/// let queue = DelayingQueue::builder().timer(timer.clone()).build()?;
/// for _ in 0..3 {
///     queue.add_debounced("config.yaml", debounce); // Three changes, half a second apart,
///     timer.advance(Duration::from_millis(500));
/// }
/// assert!(queue.try_get().is_err());
/// timer.advance(Duration::from_millis(500)); // and a second of quiet:
/// assert_eq!(*queue.try_get()?.item(), "config.yaml"); // one run.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Debounce {
    quiet: Duration,
    max_wait: Duration,
}

impl Debounce {
    /// Makes a debounce. Both times are by the queue's timer.
    ///
    /// A `max_wait` of [`Duration::MAX`] is no limit, and neither is a limit more than 292 years
    /// after the queue was built.
    ///
    /// # Errors
    ///
    /// [`DebounceError`] if `quiet` is zero, or longer than `max_wait`.
    pub const fn new(quiet: Duration, max_wait: Duration) -> Result<Self, DebounceError> {
        if quiet.is_zero() {
            return Err(DebounceError::NoQuiet);
        }
        if max_wait.as_nanos() < quiet.as_nanos() {
            return Err(DebounceError::MaxWaitBelowQuiet { quiet, max_wait });
        }
        Ok(Self { quiet, max_wait })
    }

    /// How long the item must not be added.
    #[must_use]
    pub const fn quiet(&self) -> Duration {
        self.quiet
    }

    /// How long the first add waits at most.
    #[must_use]
    pub const fn max_wait(&self) -> Duration {
        self.max_wait
    }
}

/// Times that make no [`Debounce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebounceError {
    /// `quiet` is zero.
    NoQuiet,
    /// `max_wait` is shorter than `quiet`.
    MaxWaitBelowQuiet {
        /// The given `quiet`.
        quiet: Duration,
        /// The given `max_wait`.
        max_wait: Duration,
    },
}

impl fmt::Display for DebounceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoQuiet => {
                f.write_str("quiet is 0, and must be longer; use `add` to queue an item at once")
            }
            Self::MaxWaitBelowQuiet { quiet, max_wait } => write!(
                f,
                "max_wait is {max_wait:?}, and must be at least quiet, which is {quiet:?}; use Duration::MAX for no end"
            ),
        }
    }
}

impl Error for DebounceError {}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Adds an item once it has been quiet: moves its deadline to the end of a new quiet period,
    /// but not beyond `max_wait` after the first add. Never waits, and needs no more memory than a
    /// delayed item.
    ///
    /// - A later deadline of [`add_after`](Self::add_after) is brought forward, an earlier one is
    ///   kept, whatever the queue's [`SecondAdd`](crate::SecondAdd) is.
    /// - A later `add_after` follows `SecondAdd`. With [`Latest`](crate::SecondAdd::Latest) or
    ///   [`Replace`](crate::SecondAdd::Replace) it can exceed `max_wait`, until the next debounced
    ///   add.
    /// - An add without a delay follows [`immediate_add`](crate::Builder::immediate_add).
    /// - An item in flight is debounced alike.
    pub fn add_debounced(&self, item: T, debounce: Debounce) -> Scheduled {
        let now = self.shared.now();
        let (quiet, limit) = (now.after(debounce.quiet), now.after(debounce.max_wait));
        self.schedule(item, B::Order::default(), DeadlineRequest::Debounced { quiet, limit }, now)
    }
}
