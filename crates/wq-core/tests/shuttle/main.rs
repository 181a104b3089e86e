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
mod crowd;
#[cfg(wq_shuttle)]
mod tasks;
#[cfg(wq_shuttle)]
mod drains;
#[cfg(wq_shuttle)]
mod ends;
#[cfg(wq_shuttle)]
mod room;
#[cfg(wq_shuttle)]
mod stale;
#[cfg(wq_shuttle)]
mod order;

#[cfg(wq_shuttle)]
#[path = "../histories/call.rs"]
mod call;
#[cfg(wq_shuttle)]
#[path = "../histories/check.rs"]
mod check;
#[cfg(wq_shuttle)]
#[path = "../model/oracle.rs"]
mod oracle;
#[cfg(wq_shuttle)]
mod platform;
#[cfg(wq_shuttle)]
#[path = "../histories/player.rs"]
mod player;

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
    scenario!(crowd::threads_of_every_kind, "8 threads, every verb: never in two hands, none forgotten, all counted"),
    scenario!(tasks::cancelled_at_every_await, "8 tasks whose waits are dropped at every await, woken or not: none forgotten"),
    scenario!(tasks::short_lives, "a few adds, helpers who leave, and one task that stays: it is woken for what is left"),
    scenario!(tasks::tasks_and_threads_in_one_line, "async and blocking getters in one line, adds in bursts, two gets that nobody polls"),
    scenario!(drains::drains_all_along, "drains in every form before, while and after a queue is shut down, with workers that add and panic"),
    scenario!(ends::shutdown_now_in_the_midst, "every item that was let in is handed out or handed back, once"),
    scenario!(room::a_queue_that_is_always_full, "adds that may be refused, by tasks and threads: never over capacity, what is let in comes out once"),
    scenario!(stale::guards_that_outlive_their_item, "guards whose items were abandoned end late, and change nothing for the next holder"),
    scenario!(order::one_order_explains_every_answer, "three threads with every verb: one order of all calls explains every answer"),
];
