//! shuttle: random and priority-based schedules of scenarios with many threads and hundreds of
//! random operations. `cargo xtask shuttle` runs it. Without a seed or a number of schedules it
//! does nothing.
//!
//! A seed always gives the same scenario, scheduler and hundred schedules.

#[cfg(wq_shuttle)]
mod books;
#[cfg(wq_shuttle)]
mod reached;
#[cfg(wq_shuttle)]
mod world;
#[cfg(wq_shuttle)]
mod crowd;
#[cfg(wq_shuttle)]
mod tasks;
#[cfg(wq_shuttle)]
mod keepers;
#[cfg(wq_shuttle)]
mod ends;

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
        states: reached::ALL,
    })
}

#[cfg(wq_shuttle)]
#[rustfmt::skip] // One line a scenario: this is the list that people read.
const SCENARIOS: &[Scenario] = &[
    scenario!(crowd::threads_of_every_kind, "8 threads, every verb, each policy: never early, never in two hands, no request lost"),
    scenario!(tasks::cancelled_at_every_await, "8 tasks whose waits are dropped at every await, woken or not: no request lost"),
    scenario!(tasks::short_lives, "a few delayed adds, helpers who leave, and one task that stays: it is handed what is left at its time"),
    scenario!(keepers::stalled_keepers, "timekeepers that come, go and are held without being polled, before a getter in time by two lags"),
    scenario!(keepers::one_getter_in_time, "deadline after deadline, beside a timekeeper that nobody polls or alone: the one getter misses none"),
    scenario!(ends::shutdown_in_the_midst, "delayed adds, deadlines and a shutdown at once: every item that was let in comes out or comes back"),
    scenario!(ends::drains_all_along, "drains while items become due, are cancelled and added: none is over while there is work"),
];
