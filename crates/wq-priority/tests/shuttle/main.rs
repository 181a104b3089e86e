//! shuttle: random and priority-based schedules of queues with priorities and groups. `cargo xtask
//! shuttle` runs it; with neither a seed nor a number of schedules it does nothing.
//!
//! A seed is one scenario, one scheduler and a hundred schedules, always the same.

#[cfg(wq_shuttle)]
mod crowd;
#[cfg(wq_shuttle)]
mod turns;

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
    scenario!(crowd::orders_of_every_kind, "7 threads add, remove and work under 30 priorities: never in two hands, no event lost, every survey is of one moment"),
    scenario!(turns::the_lowest_and_the_quiet, "5 threads add above one item and around another that changes its group: both come within their bounds"),
];
