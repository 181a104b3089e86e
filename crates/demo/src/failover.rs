//! How long a fail-over took, and whether the old leader kept still, from the server's request log.
//! Pure.

use std::time::{Duration, Instant, SystemTime};

use crate::judge::{Finding, Harm};
use crate::requests::Request;

#[cfg(test)]
mod tests;

/// How a leader's time ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// SIGKILL.
    Crash,
    /// SIGTERM.
    Handover,
}

impl Ending {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Crash => "crash fail-over",
            Self::Handover => "graceful hand-over",
        }
    }

    /// What the project aims at.
    pub(crate) fn target(self) -> Duration {
        match self {
            Self::Crash => Duration::from_millis(6000),
            Self::Handover => Duration::from_millis(500),
        }
    }
}

/// A signal sent to a leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) ending: Ending,
    /// Read right before the signal was sent.
    pub(crate) at: SystemTime,
    /// The same moment on the clock that does not jump.
    pub(crate) moment: Instant,
    /// Who led.
    pub(crate) leader: String,
}

/// A change of leader that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failover {
    pub(crate) to: String,
    /// From the signal to the arrival of the write that took the lease.
    pub(crate) lease: Option<Duration>,
    /// From the signal to the arrival of the successor's first write to a claim or a volume.
    pub(crate) work: Duration,
}

/// Finds the change of leader after a signal; `until` ends the search (the next signal).
///
/// Writes to leases and events are no work: they say who leads and what happened, but serve no
/// claim.
pub(crate) fn failover(
    log: &[Request],
    signal: &Signal,
    until: Option<SystemTime>,
) -> Option<Failover> {
    let after = |request: &&Request| {
        request.at >= signal.at && until.is_none_or(|until| request.at < until)
    };
    let by_another = |request: &&Request| request.is_replica && request.user != signal.leader;
    let first = log
        .iter()
        .filter(after)
        .filter(by_another)
        .find(|request| request.is_work() && request.succeeded())?;
    let lease = log
        .iter()
        .filter(after)
        .filter(|request| {
            request.at <= first.at
                && request.user == first.user
                && request.is_lease_write()
                && request.succeeded()
        })
        .map(|request| since(signal.at, request.at))
        .next();
    Some(Failover { to: first.user.clone(), lease, work: since(signal.at, first.at) })
}

/// Whether any leader sent work after its successor's first.
pub(crate) fn overlaps(log: &[Request], signals: &[Signal]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (i, signal) in signals.iter().enumerate() {
        let Some(next) =
            failover(log, signal, signals.get(i.saturating_add(1)).map(|next| next.at))
        else {
            continue;
        };
        let since_then = signal.at.checked_add(next.work).unwrap_or(signal.at);
        let late = log
            .iter()
            .filter(|request| {
                request.user == signal.leader && request.is_work() && request.at > since_then
            })
            .count();
        if late > 0 {
            let what =
                format!("sent {late} writes after its successor {} had begun to work", next.to);
            findings.push(Finding { harm: Harm::Fence, subject: signal.leader.clone(), what });
        }
    }
    findings
}

fn since(from: SystemTime, to: SystemTime) -> Duration {
    to.duration_since(from).unwrap_or_default()
}
