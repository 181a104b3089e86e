//! The plan: plain data, with the JSON form that `PUT /embedded/faults` takes.

use super::kind::Fault;
use super::matching::Match;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::RangeBounds;

/// Which calls get which fault.
///
/// A plan is data, and its decisions repeat: seed, rule, client and k decide about a client's k-th
/// call. Calls of other clients in between change nothing. Only [`Rule::calls`] counts over all
/// clients: name one client in such a rule if several run at once.
///
/// ```
/// use api_front::{Fault, FaultPlan, Match, Rule, Verb};
///
/// let plan = FaultPlan::seeded(1)
///     .exempt(Match::any().user("judge"))
///     .rule(Rule::new(Match::any().verb(Verb::Update).resource("leases"), Fault::Conflict).calls(2..=3))
///     .rule(Rule::one_of(Match::any(), [Fault::InternalError, Fault::DropAfter]).percent(5));
/// let json = serde_json::to_string(&plan)?;
/// assert_eq!(serde_json::from_str::<FaultPlan>(&json)?, plan);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct FaultPlan {
    /// Decides all draws.
    pub seed: u64,
    /// Requests that meet one of these get no fault and are not counted as calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exempt: Vec<Match>,
    /// Users that are cut off: their requests and watches hang until they are taken out of this
    /// list. Exemptions do not apply.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub partitioned: BTreeSet<String>,
    /// Looked at in order; delays, compactions, jumps of the clock and withheld bookmarks add up,
    /// and the first other fault that fires is injected.
    pub rules: Vec<Rule>,
}

impl FaultPlan {
    /// A plan without faults.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// A plan without rules yet, whose draws are decided by `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Whether a rule or an exemption names objects.
    pub(super) fn names_objects(&self) -> bool {
        let rules = self.rules.iter().map(|rule| &rule.matching);
        rules.chain(&self.exempt).any(|matching| !matching.names.is_empty())
    }

    /// Adds a rule at the end.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Spares the requests that meet this condition.
    #[must_use]
    pub fn exempt(mut self, spared: Match) -> Self {
        self.exempt.push(spared);
        self
    }

    /// Cuts a user off from the start.
    #[must_use]
    pub fn partition(mut self, user: impl Into<String>) -> Self {
        self.partitioned.insert(user.into());
        self
    }
}

/// The faults of some calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rule {
    /// The requests that the rule is about.
    #[serde(default, rename = "match")]
    pub matching: Match,
    /// The first of the matching calls that the rule applies to; calls are counted from 1, over
    /// all users together.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub first_call: u64,
    /// The last of them; `None`: no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<u64>,
    /// How likely each of those calls is to get a fault.
    #[serde(default, rename = "percent", skip_serializing_if = "Chance::is_always")]
    pub chance: Chance,
    /// One of these that fits the request is drawn; a call that none fits (a cut watch for an
    /// update) is not counted.
    pub faults: Vec<Fault>,
}

const fn one() -> u64 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
const fn is_one(call: &u64) -> bool {
    *call == 1
}

impl Rule {
    /// Every matching call gets this fault.
    #[must_use]
    pub fn new(matching: Match, fault: Fault) -> Self {
        Self::one_of(matching, [fault])
    }

    /// Every matching call gets one of these faults.
    #[must_use]
    pub fn one_of(matching: Match, faults: impl IntoIterator<Item = Fault>) -> Self {
        Self {
            matching,
            first_call: 1,
            last_call: None,
            chance: Chance::default(),
            faults: faults.into_iter().collect(),
        }
    }

    /// Only these of the matching calls, counted from 1: `.calls(3..=3)` is the third alone.
    #[must_use]
    pub fn calls(mut self, calls: impl RangeBounds<u64>) -> Self {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        self.first_call = match calls.start_bound() {
            Included(&first) => first,
            Excluded(&before) => before.saturating_add(1),
            Unbounded => 1,
        };
        self.last_call = match calls.end_bound() {
            Included(&last) => Some(last),
            Excluded(&after) => Some(after.saturating_sub(1)),
            Unbounded => None,
        };
        self
    }

    /// Each call with this likelihood; more than 100 counts as 100.
    #[must_use]
    pub fn percent(mut self, percent: u32) -> Self {
        self.chance = Chance::per_million(percent.saturating_mul(10_000));
        self
    }

    /// Each call with this likelihood.
    #[must_use]
    pub fn chance(mut self, chance: Chance) -> Self {
        self.chance = chance;
        self
    }
}

/// A likelihood in parts per million; in JSON a percentage from 0 to 100 with up to four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Chance(u32);

impl Chance {
    const ALWAYS: u32 = 1_000_000;

    /// So many parts per million; more than a million counts as a million.
    #[must_use]
    pub const fn per_million(parts: u32) -> Self {
        Self(if parts > Self::ALWAYS { Self::ALWAYS } else { parts })
    }

    /// The parts per million.
    #[must_use]
    pub const fn parts(self) -> u32 {
        self.0
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde's skip_serializing_if passes a reference"
    )]
    const fn is_always(&self) -> bool {
        self.0 == Self::ALWAYS
    }

    /// Whether a uniform 64-bit draw hits.
    pub(super) fn hit(self, draw: u64) -> bool {
        draw % u64::from(Self::ALWAYS) < u64::from(self.0)
    }
}

/// Always.
impl Default for Chance {
    fn default() -> Self {
        Self(Self::ALWAYS)
    }
}

impl TryFrom<f64> for Chance {
    type Error = String;

    fn try_from(percent: f64) -> Result<Self, String> {
        if !(0.0..=100.0).contains(&percent) {
            return Err(format!("percent is {percent}; it must be between 0 and 100"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked: 0 to 1,000,000"
        )]
        let parts = (percent * 10_000.0).round() as u32;
        Ok(Self(parts))
    }
}

impl From<Chance> for f64 {
    fn from(chance: Chance) -> Self {
        Self::from(chance.0) / 10_000.0
    }
}
