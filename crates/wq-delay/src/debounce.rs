//! `Debounce`: how long to wait for quiet, and how long at most.

use crate::queue::DelayingQueue;
use crate::scheduled::Scheduled;
use crate::wish::Wish;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;
use wq_core::Backlog;

/// A quiet period with an end: an item that is added again and again comes out once nobody has added it for `quiet`, but no
/// later than `max_wait` after the first add that it has not come out for, unless somebody
/// [puts it off](DelayingQueue::add_debounced) by other means.
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
    /// Both are counted on the queue's timer. With a `max_wait` of [`Duration::MAX`] there is no end, nor with one that ends later than 292 years
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

    /// How long nobody may have added the item.
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

/// Times that are no debounce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebounceError {
    /// A quiet period of zero.
    NoQuiet,
    /// The longest wait is shorter than one quiet period.
    MaxWaitBelowQuiet {
        /// As given.
        quiet: Duration,
        /// As given.
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
    /// Adds an item once it has been quiet: moves its deadline to the end of a quiet period that begins now, but no
    /// further than `max_wait` after the first of the adds that wait. Costs no memory beyond that of a delayed item.
    ///
    /// A later deadline of [`add_after`](Self::add_after) is brought forward, and an earlier one is kept, whatever the
    /// queue's [`SecondAdd`](crate::SecondAdd) is. An `add_after` that comes later follows `SecondAdd`: with
    /// [`Latest`](crate::SecondAdd::Latest) or [`Replace`](crate::SecondAdd::Replace) the item may come later than
    /// `max_wait`, until the next debounced add brings it forward again. An add without a delay does what
    /// [`immediate_add`](crate::Builder::immediate_add) says. While the item is being processed, its adds are debounced alike.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    pub fn add_debounced(&self, item: T, debounce: Debounce) -> Scheduled {
        let now = self.shared.now();
        let (quiet, limit) = (now.after(debounce.quiet), now.after(debounce.max_wait));
        self.schedule(item, B::Order::default(), Wish::Debounced { quiet, limit }, now)
    }
}
