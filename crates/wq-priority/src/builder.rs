//! Builder: the settings of a backlog, and their errors.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;

use crate::backlog::Priority;
use crate::groups::Weights;
use crate::order::GroupId;

const DEFAULT_AGING_INTERVAL: u32 = 16;
/// A larger weight would make the other groups wait for too long.
const MAX_WEIGHT: u32 = 1000;
const MAX_WEIGHTS: usize = 65_536;

impl Priority {
    /// Creates an empty backlog with an ageing interval of 16 and weight 1 for every group.
    #[must_use]
    pub fn new() -> Self {
        Self::with(NonZeroU32::new(DEFAULT_AGING_INTERVAL), Weights::default())
    }

    /// Starts a builder for ageing and weights.
    ///
    /// ```
    /// use wq_priority::{GroupId, Priority};
    ///
    /// let backlog = Priority::builder().aging_interval(8).weight(GroupId::of("paying"), 3).build()?;
    /// assert_eq!(backlog.longest_wait(3), Some(16));
    /// assert_eq!(
    ///     Priority::builder().aging_interval(0).build().unwrap_err().to_string(),
    ///     "aging_interval is 0 but must be at least 1; call strict for a backlog without ageing"
    /// );
    /// # Ok::<(), wq_priority::InvalidPriority>(())
    /// ```
    pub const fn builder() -> Builder {
        Builder { aging_interval: Some(DEFAULT_AGING_INTERVAL), weights: Vec::new() }
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::new()
    }
}

/// Settings for a [`Priority`]; see [`Priority::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until build is called"]
pub struct Builder {
    /// 0: an error; `None`: strict.
    aging_interval: Option<u32>,
    weights: Vec<(GroupId, u32)>,
}

impl Builder {
    /// Sets the ageing interval `n`, 16 by default. Every `n`-th hand-out goes to the priority that
    /// has waited longest. With 1, priorities take turns.
    /// [`longest_wait`](Priority::longest_wait) is the resulting bound.
    pub const fn aging_interval(mut self, hand_outs: u32) -> Self {
        self.aging_interval = Some(hand_outs);
        self
    }

    /// Turns ageing off, as in controller-runtime. A lower priority then waits as long as a higher
    /// one is queued, possibly forever.
    pub const fn strict(mut self) -> Self {
        self.aging_interval = None;
        self
    }

    /// Sets how many items in a row a group gets when it has its turn: 1 by default, at most 1000.
    /// A later call for the same group replaces the weight.
    pub fn weight(mut self, group: GroupId, items: u32) -> Self {
        self.weights.push((group, items));
        self
    }

    /// Builds the backlog, empty.
    ///
    /// # Errors
    ///
    /// [`InvalidPriority`] names the setting that is out of bounds.
    pub fn build(self) -> Result<Priority, InvalidPriority> {
        let aging_interval = match self.aging_interval {
            None => None,
            Some(interval) => {
                Some(NonZeroU32::new(interval).ok_or(InvalidPriority::ZeroAgingInterval)?)
            }
        };
        let mut weights = Weights::default();
        for (group, weight) in self.weights {
            let items = NonZeroU32::new(weight).filter(|items| items.get() <= MAX_WEIGHT);
            weights.insert(group, items.ok_or(InvalidPriority::Weight { group, weight })?);
        }
        if weights.len() > MAX_WEIGHTS {
            return Err(InvalidPriority::TooManyWeights { groups: weights.len() });
        }
        Ok(Priority::with(aging_interval, weights))
    }
}

/// A setting of [`Builder`] that is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidPriority {
    /// [`Builder::aging_interval`] is 0.
    ZeroAgingInterval,
    /// [`Builder::weight`] is 0 or above 1000.
    Weight {
        /// The group with this weight.
        group: GroupId,
        /// The weight that was given.
        weight: u32,
    },
    /// More than 65,536 groups have a weight.
    TooManyWeights {
        /// The number of groups.
        groups: usize,
    },
}

impl fmt::Display for InvalidPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroAgingInterval => f.write_str(
                "aging_interval is 0 but must be at least 1; call strict for a backlog without ageing",
            ),
            Self::Weight { group, weight } => write!(
                f,
                "weight of group {group} is {weight} but must be 1 to {MAX_WEIGHT}; to exclude a \
                 group, do not add its items"
            ),
            Self::TooManyWeights { groups } => write!(
                f,
                "weights are given for {groups} groups but may be for at most {MAX_WEIGHTS}; leave \
                 out the groups of weight 1"
            ),
        }
    }
}

impl Error for InvalidPriority {}
