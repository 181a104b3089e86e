//! Builder: everything that is settled before a backlog exists.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;

use crate::backlog::Priority;
use crate::lines::Weights;
use crate::order::GroupId;

/// Every so many hand-outs one goes to the priority that has waited longest, if nothing else is said.
pub(crate) const AGED_TURN_EVERY: NonZeroU32 = NonZeroU32::new(16).unwrap();
/// A group with more would make others wait for longer than anybody means.
const MAX_WEIGHT: u32 = 1000;
/// More groups than this are not named one by one.
const MAX_WEIGHTS: usize = 65_536;

/// Settings of a [`Priority`] to be; see [`Priority::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until build is called"]
pub struct Builder {
    /// 0: an error; `None`: strict.
    aged_turn_every: Option<u32>,
    weights: Vec<(GroupId, u32)>,
}

impl Builder {
    pub(crate) const fn new() -> Self {
        Self { aged_turn_every: Some(AGED_TURN_EVERY.get()), weights: Vec::new() }
    }

    /// Every so many hand-outs one goes to the priority that has waited longest: 16 by default. 1: all of them, so that
    /// priorities take turns. The share of the lower priorities together is then one in so many, and each of them waits
    /// for at most [`longest_wait`](Priority::longest_wait).
    pub const fn aged_turn_every(mut self, hand_outs: u32) -> Self {
        self.aged_turn_every = Some(hand_outs);
        self
    }

    /// No ageing: a lower priority waits as long as there is a higher one, for ever if need be, as in controller-runtime.
    pub const fn strict(mut self) -> Self {
        self.aged_turn_every = None;
        self
    }

    /// How many items of this group are handed out in a row when it has its turn: 1 by default, 1000 at most. The last
    /// call for a group counts.
    pub fn weight(mut self, group: GroupId, items: u32) -> Self {
        self.weights.push((group, items));
        self
    }

    /// The backlog, empty.
    ///
    /// # Errors
    ///
    /// [`InvalidPriority`] names the setting at fault.
    pub fn build(self) -> Result<Priority, InvalidPriority> {
        let aged_turn_every = match self.aged_turn_every {
            None => None,
            Some(every) => Some(NonZeroU32::new(every).ok_or(InvalidPriority::ZeroAgedTurnEvery)?),
        };
        let mut weights = Weights::default();
        for (group, weight) in self.weights {
            let items = NonZeroU32::new(weight).filter(|items| items.get() <= MAX_WEIGHT);
            weights.insert(group, items.ok_or(InvalidPriority::Weight { group, weight })?);
        }
        if weights.len() > MAX_WEIGHTS {
            return Err(InvalidPriority::TooManyWeights { groups: weights.len() });
        }
        Ok(Priority::with(aged_turn_every, weights))
    }
}

/// A setting that no backlog can be built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidPriority {
    /// An aged turn every 0 hand-outs.
    ZeroAgedTurnEvery,
    /// A weight of 0, or too large.
    Weight {
        /// Whose.
        group: GroupId,
        /// What was asked for.
        weight: u32,
    },
    /// Too many groups have a weight of their own.
    TooManyWeights {
        /// How many.
        groups: usize,
    },
}

impl fmt::Display for InvalidPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroAgedTurnEvery => f.write_str(
                "aged_turn_every is 0 but must be at least 1; call strict for a backlog without ageing",
            ),
            Self::Weight { group, weight } => write!(
                f,
                "weight of group {group} is {weight} but must be 1 to {MAX_WEIGHT}; for a group that is never to \
                 be served, add nothing"
            ),
            Self::TooManyWeights { groups } => write!(
                f,
                "weights are given for {groups} groups but may be for at most {MAX_WEIGHTS}; name those that weigh more \
                 than 1"
            ),
        }
    }
}

impl Error for InvalidPriority {}
