//! The plan: plain data, with the JSON form that `PUT /embedded/faults` takes.

use super::matching::Match;
use crate::request_info::{RequestInfo, Verb};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::RangeBounds;

/// When which fault is injected.
///
/// A plan is data: two servers with equal plans that get the same requests from each client decide
/// the same, whatever the other clients do in between, because each client's k-th call is decided
/// by seed, rule, client and k alone. Only [`Rule::calls`] counts over all clients: name one client
/// in such a rule if several run at once.
///
/// ```
/// use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
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

    /// Whether it is about objects of some names.
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

/// Which calls get which fault.
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

/// What goes wrong. "Applied" means that the store has changed, whatever the client is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Fault {
    /// The request waits first, between the two bounds, then goes on (and may meet another fault).
    Latency {
        /// Shortest wait in milliseconds.
        min_ms: u64,
        /// Longest wait in milliseconds.
        max_ms: u64,
    },
    /// 409 `Conflict`, not applied. Fits writes only.
    Conflict,
    /// 403 `Forbidden`, not applied.
    Forbidden,
    /// 429 `TooManyRequests` with `Retry-After`, not applied.
    TooManyRequests {
        /// Seconds in the header and in `details.retryAfterSeconds`.
        retry_after_s: u32,
    },
    /// 429 in plain text with `Retry-After`, not applied: how API Priority and Fairness turns
    /// requests away. There is no `Status` in it.
    #[doc(alias = "max-requests-inflight")]
    Overloaded {
        /// Seconds in the header; the real server says 1.
        retry_after_s: u32,
    },
    /// 500 `InternalError`, not applied.
    InternalError,
    /// 500 `InternalError`, applied: etcd's answer was lost. Fits writes only; one that is refused
    /// has nothing that could get lost, and answers its refusal: the request log has no fault
    /// then.
    ApplyInternalError,
    /// 500 `ServerTimeout` with `Retry-After`, not applied: etcd cannot be reached. Does not fit
    /// watches.
    ServerTimeout {
        /// Seconds in the header and in `details.retryAfterSeconds`; the real server says 2.
        retry_after_s: u32,
    },
    /// 503 `ServiceUnavailable`, not applied.
    Unavailable,
    /// 503 `ServiceUnavailable` with `Retry-After: 1`, not applied: the server is shutting down.
    /// Does not fit watches.
    ShuttingDown,
    /// 504 `Timeout`, not applied. Does not fit watches, for which the real server has no such
    /// bound.
    GatewayTimeout,
    /// 504 `Timeout`, applied: the answer came too late. Fits writes only; one that is refused
    /// answers its refusal, as with [`ApplyInternalError`](Self::ApplyInternalError).
    ApplyGatewayTimeout,
    /// 410 `Expired`: as an ERROR event on a watch from a resource version, as a status on a list
    /// with a continue token or an exact version. Fits only those.
    Expired,
    /// Never answered, not applied.
    NeverAnswer,
    /// Applied, never answered.
    ApplyNeverAnswer,
    /// Never answered, and applied so much later, whether the client still waits or not. Fits
    /// writes only.
    ApplyLate {
        /// Milliseconds from arrival to application.
        after_ms: u64,
    },
    /// The connection is dropped, not applied.
    DropBefore,
    /// Applied, then the connection is dropped without an answer.
    DropAfter,
    /// Applied, then half of the answer's body, then the connection is dropped. An answer of a
    /// server behind a `FaultProxy` may come in pieces: then half of the first one. Does not
    /// fit watches: they have [`CutWatch`](Self::CutWatch).
    DropMidAnswer,
    /// Applied, then half of the answer's body, as for [`DropMidAnswer`](Self::DropMidAnswer), and
    /// nothing more. Does not fit watches: they have [`StallWatch`](Self::StallWatch).
    StallMidAnswer,
    /// All history is forgotten just before the request is served: what resumes from before gets
    /// 410 Expired. At a [`Replica`](crate::Replica) that of its cache and that of the objects
    /// themselves. Only the embedded server can do that; in front of another server the request is
    /// answered 501.
    #[doc(alias = "etcd compaction")]
    Compact,
    /// The server's wall clock jumps just before the request is served, and stays so. Only the
    /// embedded server can do that; in front of another server the request is answered 501.
    MoveClock {
        /// By so many milliseconds; back, if they are less than zero.
        by_ms: i64,
    },
    /// The watch ends early: after a number of events between the two bounds, or after a time. Fits
    /// watches only.
    CutWatch {
        /// Least number of whole events that get through.
        #[serde(default)]
        min_events: u64,
        /// Largest number of whole events that get through.
        #[serde(default)]
        max_events: u64,
        /// At the latest after so many milliseconds, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_ms: Option<u64>,
        /// `false`: a regular end between two events. `true`: half of the next event, then the
        /// connection is dropped (at the time limit: dropped without half an event).
        #[serde(default)]
        mid_line: bool,
    },
    /// The watch falls silent after a number of events between the two bounds: no events, no
    /// bookmarks, no end. Fits watches only.
    StallWatch {
        /// Least number of whole events that get through.
        #[serde(default)]
        min_events: u64,
        /// Largest number of whole events that get through.
        #[serde(default)]
        max_events: u64,
    },
    /// After a number of events between the two bounds the watch sends a line that is no JSON, then
    /// goes on. Fits watches only.
    GarbageLine {
        /// Least number of whole events before it.
        #[serde(default)]
        min_events: u64,
        /// Largest number of whole events before it.
        #[serde(default)]
        max_events: u64,
    },
    /// The watch gets no bookmarks, which the real server never promises. Fits watches only.
    WithholdBookmarks {
        /// Whether even the bookmark that ends the initial events is withheld, as by a server
        /// whose watch cache does not catch up.
        #[serde(default)]
        end_mark: bool,
    },
}

impl Fault {
    /// The word in the request log.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Latency { .. } => "latency",
            Self::Conflict => "conflict",
            Self::Forbidden => "forbidden",
            Self::TooManyRequests { .. } => "too_many_requests",
            Self::InternalError => "internal_error",
            Self::Unavailable => "unavailable",
            Self::GatewayTimeout => "gateway_timeout",
            Self::Expired => "expired",
            Self::NeverAnswer => "never_answer",
            Self::ApplyNeverAnswer => "apply_never_answer",
            Self::ApplyLate { .. } => "apply_late",
            Self::DropBefore => "drop_before",
            Self::DropAfter => "drop_after",
            Self::CutWatch { .. } => "cut_watch",
            Self::StallWatch { .. } => "stall_watch",
            Self::WithholdBookmarks { .. } => "withhold_bookmarks",
            Self::GarbageLine { .. } => "garbage_line",
            Self::MoveClock { .. } => "move_clock",
            Self::Compact => "compact",
            Self::StallMidAnswer => "stall_mid_answer",
            Self::DropMidAnswer => "drop_mid_answer",
            Self::ApplyGatewayTimeout => "apply_gateway_timeout",
            Self::ShuttingDown => "shutting_down",
            Self::ServerTimeout { .. } => "server_timeout",
            Self::ApplyInternalError => "apply_internal_error",
            Self::Overloaded { .. } => "overloaded",
        }
    }

    /// Whether the request is applied at once although the answer goes wrong.
    #[must_use]
    pub const fn is_applied(&self) -> bool {
        matches!(
            self,
            Self::ApplyInternalError
                | Self::ApplyGatewayTimeout
                | Self::ApplyNeverAnswer
                | Self::DropAfter
                | Self::DropMidAnswer
                | Self::StallMidAnswer
        )
    }

    /// Whether it happens beside another fault.
    pub(super) const fn adds_up(&self) -> bool {
        matches!(
            self,
            Self::Latency { .. }
                | Self::Compact
                | Self::MoveClock { .. }
                | Self::WithholdBookmarks { .. }
        )
    }

    /// Whether the fault is an error that is answered after the request has succeeded, and only
    /// then.
    pub(crate) const fn follows_success(&self) -> bool {
        matches!(self, Self::ApplyInternalError | Self::ApplyGatewayTimeout)
    }

    /// Whether the fault can happen to such a request on a real server. `resumes`: the request
    /// names a point in the past (a watch's resource version, a continue token, an exact
    /// version).
    #[must_use]
    pub fn fits(&self, request: &RequestInfo, resumes: bool) -> bool {
        let watch = request.verb == Verb::Watch;
        match self {
            Self::Conflict
            | Self::ApplyLate { .. }
            | Self::ApplyInternalError
            | Self::ApplyGatewayTimeout => request.verb.is_write(),
            Self::CutWatch { .. }
            | Self::StallWatch { .. }
            | Self::GarbageLine { .. }
            | Self::WithholdBookmarks { .. } => watch,
            Self::Expired => resumes && matches!(request.verb, Verb::Watch | Verb::List),
            Self::GatewayTimeout
            | Self::ShuttingDown
            | Self::ServerTimeout { .. }
            | Self::DropMidAnswer
            | Self::StallMidAnswer => !watch,
            Self::Latency { .. }
            | Self::Forbidden
            | Self::TooManyRequests { .. }
            | Self::Overloaded { .. }
            | Self::InternalError
            | Self::Unavailable
            | Self::NeverAnswer
            | Self::ApplyNeverAnswer
            | Self::DropBefore
            | Self::DropAfter
            | Self::Compact
            | Self::MoveClock { .. } => true,
        }
    }
}
