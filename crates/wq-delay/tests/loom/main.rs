//! loom: every schedule of small scenarios with up to three preemptions. `cargo xtask loom` runs
//! each scenario in its own process, because a deadlock that loom finds ends the process.
//!
//! An argument names the scenario to run, and `--list` prints all. Without arguments nothing runs.
//! `LOOM_MAX_PREEMPTIONS` sets another bound. The clock is manual: a thread of the scenario
//! advances it.

#[cfg(wq_loom)]
mod world;
#[cfg(wq_loom)]
mod keepers;
#[cfg(wq_loom)]
mod due;
#[cfg(wq_loom)]
mod ends;

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
    scenario!(keepers::time_comes_while_a_task_begins_to_wait, "a deadline passes while a task begins to wait: it is handed the item"),
    scenario!(keepers::time_comes_while_a_thread_begins_to_wait, "a deadline passes while a thread begins to wait: it is handed the item"),
    scenario!(keepers::earlier_deadline_arrives, "an earlier deadline comes while the timekeeper goes to sleep: it sleeps no longer than that"),
    scenario!(keepers::first_deadline_arrives, "the first deadline comes while a getter goes to sleep without one"),
    scenario!(keepers::getter_leaves, "a timekeeper that is dropped at any moment hands the job on"),
    scenario!(keepers::getter_leaves_beside_a_reserve, "a timekeeper that is dropped beside a reserve that nobody polls: a third is handed the item, late by the lag at most"),
    scenario!(keepers::timekeeper_never_polled_again, "a timekeeper that is held and not polled makes the next getter late by the reserve's lag, once"),
    scenario!(keepers::two_never_polled_again, "two that are held and not polled are replaced by whoever finds the deadline missed"),
    scenario!(keepers::polled_with_another_waker, "a timekeeper polled again with another waker is woken by that one"),
    scenario!(keepers::mixed_getters, "an async and a blocking getter, two items due at two times: each is handed one"),
    scenario!(keepers::two_getters_one_item, "two getters and one due item: one is handed it, the other ends with the queue"),
    scenario!(keepers::dedicated_keeper_dropped, "a keep_time that is dropped hands the job to a getter"),
    scenario!(keepers::get_timeout_against_due, "a get that times out while an item becomes due leaves it in the queue"),
    scenario!(due::cancel_against_due, "a cancel against the deadline: one of them has the item"),
    scenario!(due::second_add_against_due, "a second delayed add against the deadline: no request is lost, none runs early"),
    scenario!(due::keep_against_a_delayed_twin, "an immediate add against the deadline of its twin with Keep: both requests are seen"),
    scenario!(due::merge_with_a_delayed_twin, "an immediate add against the deadline of its twin with Merge: seen, and nothing stays delayed"),
    scenario!(due::merge_runs_once, "an immediate add with Merge takes its delayed twin along in one step: a worker runs it once"),
    scenario!(due::defer_to_a_delayed_twin, "an immediate add against the deadline of its twin with Defer: seen, whichever comes first"),
    scenario!(due::due_while_in_flight, "an item that becomes due in a worker's hands runs again, never in two hands"),
    scenario!(due::two_look_at_one_deadline, "two threads that move what is due at once: every item comes out once, in order"),
    scenario!(ends::shutdown_against_due, "a shutdown against the deadline: the item is handed out or handed back"),
    scenario!(ends::add_against_shutdown, "a delayed add against a shutdown: handed back exactly if it was let in"),
    scenario!(ends::keep_time_against_shutdown, "a keep_time that begins while the queue ends: it ends too"),
    scenario!(ends::drain_while_a_due_item_moves, "a drain sees a due item delayed, queued or in flight, and never nowhere"),
    scenario!(ends::drain_against_cancel, "taking out the last delayed item ends a drain"),
    scenario!(ends::drain_against_shutdown, "a shutdown that drops the delayed items ends a drain"),
    scenario!(ends::two_shutdowns_and_a_drain, "two shutdowns and a drain, while the last item in hand is done: all end, and one has what was delayed"),
];
