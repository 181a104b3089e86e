//! The end: a table for people, a document for machines, and the one word that is always last.
//! Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use crate::failover::{Ending, Failover};
use crate::figures::{Waits, ms, rate_tenths};
use crate::judge::Verdict;
use crate::requests::Counts;

#[cfg(test)]
mod tests;

/// All that is known at the end of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    pub(crate) seed: u64,
    /// What answered, as in `kube-apiserver v1.36.3`.
    pub(crate) engine: String,
    pub(crate) verdict: Verdict,
    pub(crate) crash: Option<Failover>,
    pub(crate) handover: Option<Failover>,
    /// From a claim's creation to the sight of its being bound.
    pub(crate) waits: Waits,
    /// From the first creation to the last binding.
    pub(crate) span: Duration,
    pub(crate) retries: u64,
    pub(crate) requests: Counts,
}

impl Report {
    /// The last line but one.
    pub(crate) fn summary(&self) -> String {
        let verdict = &self.verdict;
        format!(
            "demo: claims={} bound={} lost={} duplicated={} orphaned={} crash_failover_ms={} graceful_failover_ms={} bound_p99_ms={} engine={}",
            verdict.claims,
            verdict.bound,
            verdict.lost,
            verdict.duplicated,
            verdict.orphaned,
            number(work(self.crash.as_ref())),
            number(work(self.handover.as_ref())),
            number(self.waits.percentile(99)),
            self.engine.replace(' ', "/"),
        )
    }

    /// The figures, and who asked the server for what.
    pub(crate) fn tables(&self) -> String {
        let rate = rate_tenths(self.verdict.bound, self.span);
        let mut figures = plain();
        figures.add_row(["API server", &self.engine, ""]);
        figures.add_row(["claims per second", &format!("{}.{}", rate / 10, rate % 10), ""]);
        figures.add_row(["created to bound, p50", &unit(self.waits.percentile(50)), ""]);
        figures.add_row([
            "created to bound, p99",
            &unit(self.waits.percentile(99)),
            "fail-overs and blocked folders included",
        ]);
        for (ending, failover) in [(Ending::Crash, &self.crash), (Ending::Handover, &self.handover)]
        {
            let target = ms(ending.target());
            let note = match failover {
                Some(found) => format!(
                    "target {target} ms; to {}, which had the lease after {}",
                    found.to,
                    unit(found.lease)
                ),
                None => format!("target {target} ms; did not happen"),
            };
            figures.add_row([ending.word(), &unit(work(failover.as_ref())), &note]);
        }
        figures.add_row(["retries", &self.retries.to_string(), "by the replicas' own count"]);
        right(&mut figures, [1]);

        let verbs: BTreeSet<&str> =
            self.requests.values().flat_map(|row| row.keys().map(String::as_str)).collect();
        let mut requests = plain();
        let header = ["API requests"].into_iter().chain(verbs.iter().copied()).chain(["all"]);
        requests.set_header(header.collect::<Vec<_>>());
        for (user, row) in &self.requests {
            let counts = verbs.iter().map(|verb| row.get(*verb).copied().unwrap_or(0));
            let cells = [user.clone()].into_iter().chain(counts.map(|count| count.to_string()));
            requests
                .add_row(cells.chain([row.values().sum::<u64>().to_string()]).collect::<Vec<_>>());
        }
        right(&mut requests, 1..=verbs.len().saturating_add(1));
        format!("{}\n\n{}", trimmed(&figures), trimmed(&requests))
    }

    /// The same for machines. A run that was judged well can still fail: something may be left
    /// behind.
    pub(crate) fn json(&self, has_passed: bool) -> serde_json::Value {
        let verdict = &self.verdict;
        let failover = |found: &Option<Failover>| {
            found.as_ref().map(
                |found| json!({"to": found.to, "lease_ms": found.lease.map(ms), "work_ms": ms(found.work)}),
            )
        };
        json!({
            "verdict": word(has_passed),
            "seed": self.seed,
            "engine": self.engine,
            "claims": verdict.claims,
            "bound": verdict.bound,
            "lost": verdict.lost,
            "duplicated": verdict.duplicated,
            "orphaned": verdict.orphaned,
            "findings": verdict.findings.iter().map(|finding| json!({
                "kind": finding.harm.word(), "subject": finding.subject, "what": finding.what,
            })).collect::<Vec<_>>(),
            "crash_failover_ms": work(self.crash.as_ref()).map(ms),
            "graceful_failover_ms": work(self.handover.as_ref()).map(ms),
            "crash_failover": failover(&self.crash),
            "graceful_failover": failover(&self.handover),
            "bound_p50_ms": self.waits.percentile(50).map(ms),
            "bound_p99_ms": self.waits.percentile(99).map(ms),
            "claims_per_second_tenths": rate_tenths(verdict.bound, self.span),
            "retries": self.retries,
            "requests": self.requests,
            "summary": self.summary(),
        })
    }
}

/// The last line.
pub(crate) fn word(has_passed: bool) -> &'static str {
    if has_passed { "PASSED" } else { "FAILED" }
}

/// The document of a run that could not be judged.
pub(crate) fn json_of_failure(seed: u64, why: &str) -> serde_json::Value {
    json!({"verdict": word(false), "seed": seed, "error": why})
}

fn work(failover: Option<&Failover>) -> Option<Duration> {
    failover.map(|found| found.work)
}

fn number(time: Option<Duration>) -> String {
    time.map_or_else(|| "none".to_owned(), |time| ms(time).to_string())
}

fn unit(time: Option<Duration>) -> String {
    time.map_or_else(|| "none".to_owned(), |time| format!("{} ms", ms(time)))
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
