//! shuttle: random and priority-based schedules of scenarios with many threads and hundreds of
//! random operations. `cargo xtask shuttle` runs it. Without a seed or a number of schedules it
//! does nothing.
//!
//! A seed always gives the same scenario, scheduler and hundred schedules.

#[cfg(wq_shuttle)]
mod crowd;
#[cfg(wq_shuttle)]
mod shared;

#[cfg(wq_shuttle)]
use wq_contract::play::Programme;
#[cfg(wq_shuttle)]
use wq_contract::scenario;
#[cfg(wq_shuttle)]
use wq_contract::scenario::Scenario;

#[cfg(not(wq_shuttle))]
fn main() {}

#[cfg(wq_shuttle)]
fn main() -> std::process::ExitCode {
    wq_contract::play::main(&Programme {
        of: env!("CARGO_PKG_NAME"),
        scenarios: SCENARIOS,
        states: &[],
    })
}

#[cfg(wq_shuttle)]
#[rustfmt::skip] // One line a scenario: this is the list that people read.
const SCENARIOS: &[Scenario] = &[
    scenario!(crowd::workers_who_fail, "8 threads with events, failures of every kind, forgets and releases: never in two hands, no event lost, every count ends"),
    scenario!(crowd::forgets_beside_failures, "4 threads fail and forget: of each item what is counted and its back-off come and go together"),
    scenario!(shared::a_bucket_for_all, "8 threads take from one bucket: every token once, none lost"),
    scenario!(shared::a_limiter_for_all, "4 threads fail, count and forget with one limiter: what is counted is what was not forgotten"),
];
