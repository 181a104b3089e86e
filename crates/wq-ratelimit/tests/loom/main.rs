//! loom: every schedule of small scenarios with up to three preemptions. `cargo xtask loom` runs
//! each scenario in its own process, because a deadlock that loom finds ends the process.
//!
//! An argument names the scenario to run, and `--list` prints all. Without arguments nothing runs.
//! `LOOM_MAX_PREEMPTIONS` sets another bound.

#[cfg(wq_loom)]
mod backoff;
#[cfg(wq_loom)]
mod shared;

#[cfg(wq_loom)]
use wq_contract::scenario;
#[cfg(wq_loom)]
use wq_contract::scenario::Scenario;

#[cfg(not(wq_loom))]
fn main() {}

#[cfg(wq_loom)]
fn main() {
    wq_contract::explore::main(SCENARIOS);
}

#[cfg(wq_loom)]
#[rustfmt::skip] // One line a scenario: this is the list that people read.
const SCENARIOS: &[Scenario] = &[
    scenario!(shared::two_take_one_token, "two threads take from a bucket of one: one goes at once, one waits an interval"),
    scenario!(shared::three_take_two_tokens, "three threads take from a bucket of two: no token is taken twice, none is lost"),
    scenario!(shared::forget_against_failure, "a shared limiter is told to forget while it counts a failure: it was before or after"),
    scenario!(backoff::event_against_finish, "an event while its item fails, with Keep: it runs again for it, and the retry waits"),
    scenario!(backoff::clear_against_finish, "an event while its item fails, with Clear: it runs again, and what is counted is what waits"),
    scenario!(backoff::clear_against_a_request, "an event clears a back-off while a user asks for the item with a delay: that request stays"),
    scenario!(backoff::defer_against_finish, "an event while its item fails, with Defer: seen now or with the retry"),
    scenario!(backoff::two_failures_at_once, "one item fails in two places at once: one attempt is counted, one deadline set"),
    scenario!(backoff::forget_against_finish, "a forget while its item fails: all of the failure is forgotten, or nothing"),
    scenario!(backoff::outcome_against_a_get_that_moves_the_retry, "a retry falls due and is moved while its item is finished with another: both come, each once"),
    scenario!(backoff::cancel_against_finish, "a retry is canceled while its item fails: it is found, and gone with its back-off, or waits"),
    scenario!(backoff::cancel_of_a_retry_against_finish, "the same of a retry from before, beside work that began early: the later of the two decides"),
    scenario!(backoff::success_against_event, "work succeeds beside a waiting retry that an event joins, with Defer: the event runs the item"),
    scenario!(backoff::cancel_against_add_rate_limited, "the same beside a user's add that counts an attempt"),
    scenario!(backoff::remove_against_add_rate_limited, "a queued item is taken out while it is added: the add has joined it, or its item comes"),
    scenario!(backoff::shutdown_against_finish, "a shutdown while an item fails: the retry is handed back or refused, and nothing is left"),
    scenario!(backoff::finish_against_drain, "a drain sees a failed item in hand or delayed, and never nowhere"),
];
