//! loom: every schedule of small scenarios with up to three preemptions. `cargo xtask loom` runs each in a process of its
//! own: a deadlock that loom finds ends the process.
//!
//! Called with the name of a scenario it runs that one, with `--list` it prints all, with nothing it does nothing.
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
    scenario!(backoff::event_against_parking, "an event while its item is parked: it comes back, and is parked no longer"),
    scenario!(backoff::release_against_event, "a release against an event: it comes back once"),
    scenario!(backoff::look_against_success, "a parked item that has come back is finished: at no time it is taken to be parked still"),
    scenario!(backoff::look_against_retry, "the same of one that is delayed afterwards"),
    scenario!(backoff::forget_against_finish, "a forget while its item fails: all of the failure is forgotten, or nothing"),
    scenario!(backoff::outcome_against_a_get_that_moves_the_retry, "a retry falls due and is moved while its item is finished with a floor: it does not come before"),
    scenario!(backoff::postpone_against_finish, "a retry is put off while work ends that came before it: it waits until then"),
    scenario!(backoff::postpone_of_a_request_against_finish, "the same where a user has asked for the item too, which joins the retry: both wait until then"),
    scenario!(backoff::postpone_against_retry_after, "a retry is put off while work ends with a wait of its own: the wait and the back-off end together"),
    scenario!(backoff::cancel_against_finish, "a retry is canceled while its item fails: it is found, and gone with its back-off, or waits"),
    scenario!(backoff::cancel_of_a_retry_against_finish, "the same of a retry from before, beside work that began early: what waits in the end backs off"),
    scenario!(backoff::guard_cancel_against_event, "a guard cancels what waits while an event joins that, with Defer: the event runs the item"),
    scenario!(backoff::cancel_against_add_rate_limited, "the same beside a user's add that counts an attempt"),
    scenario!(backoff::remove_against_add_rate_limited, "a queued item is taken out while it is added: the add has joined it, or its item comes"),
    scenario!(backoff::shutdown_against_finish, "a shutdown while an item fails: the retry is handed back or refused, and nothing is left"),
    scenario!(backoff::shutdown_against_release, "a shutdown while a parked item is released: it is queued or parked still"),
    scenario!(backoff::hand_out_against_abandon, "an item is handed out, abandoned, and parked by its next holder: it stays parked"),
    scenario!(backoff::finish_against_drain, "a drain sees a failed item in hand or delayed, and never nowhere"),
];
