//! The faults, and the requests that each fits.

use crate::request_info::{RequestInfo, Verb};
use serde::{Deserialize, Serialize};

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
    /// 500 `InternalError`, applied: etcd's answer was lost. Fits writes only. A write that is
    /// refused has no success to lose: it answers its refusal, and the log has no fault.
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
    /// 504 `Timeout`, applied: the answer came too late. Fits writes only. A write that is refused
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
    /// All history is forgotten just before the request is served: a watch or a page that resumes
    /// from before gets 410 Expired. Only embedded-apiserver can do that; in front of another
    /// server the request is answered 501. A replica there forgets its cache's history and that of
    /// the objects.
    #[doc(alias = "etcd compaction")]
    Compact,
    /// The server's wall clock jumps just before the request is served, and stays so. Only
    /// embedded-apiserver can do that; in front of another server the request is answered 501.
    MoveClock {
        /// Milliseconds; less than zero: back.
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
        /// At the latest after this time, in milliseconds, if given.
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
