//! What goes wrong for the replicas: every kind of error a client must live with, none of which
//! lasts longer than a client's own time-out.

use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};

use crate::cli::ServeOptions;
use crate::figures::ms;

/// A write that is answered late is applied within this time of its arrival.
pub(crate) const LATE: Duration = Duration::from_millis(1500);

/// The plan for these users.
pub(super) fn plan(options: &ServeOptions) -> FaultPlan {
    let percent = u32::from(options.faults);
    let replicas =
        || options.replicas.iter().fold(Match::any(), |rule, user| rule.user(user.clone()));
    let quick = [
        Fault::Conflict,
        Fault::InternalError,
        Fault::Unavailable,
        Fault::DropBefore,
        Fault::DropAfter,
        Fault::Latency { min_ms: 5, max_ms: 50 },
    ];
    // No answer at all, or a late one: for writes, where nobody can tell whether they were applied.
    // A read, or an election, that waits for a time-out would only measure it.
    let slow = quick.clone().into_iter().chain([
        Fault::TooManyRequests { retry_after_s: 1 },
        Fault::GatewayTimeout,
        Fault::Latency { min_ms: 50, max_ms: 1000 },
        Fault::NeverAnswer,
        Fault::ApplyNeverAnswer,
        Fault::ApplyLate { after_ms: ms(LATE) },
    ]);
    let writes = replicas().writes().except_resource("leases");
    let reads = [Verb::Get, Verb::List, Verb::Watch]
        .into_iter()
        .fold(replicas(), Match::verb)
        .except_resource("leases");
    // A replica has few watches, and they live long: most are cut, early or late, between events or
    // within one.
    let cut = |mid_line| Fault::CutWatch {
        min_events: 5,
        max_events: 300,
        after_ms: Some(8000),
        mid_line,
    };
    FaultPlan::seeded(options.seed)
        .rule(
            Rule::one_of(replicas().verb(Verb::Watch), [cut(false), cut(true)])
                .percent(percent.saturating_mul(10)),
        )
        .rule(Rule::one_of(writes, slow).percent(percent))
        .rule(Rule::one_of(reads, quick.clone()).percent(percent))
        .rule(Rule::one_of(replicas().resource("leases"), quick).percent(percent))
}
