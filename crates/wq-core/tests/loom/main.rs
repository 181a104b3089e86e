//! loom: every schedule of small scenarios with up to three preemptions. `cargo xtask loom` runs
//! each scenario in its own process, because a deadlock that loom finds ends the process.
//!
//! An argument names the scenario to run, and `--list` prints all. Without arguments nothing runs.
//! `LOOM_MAX_PREEMPTIONS` sets another bound.

#[cfg(wq_loom)]
mod getters;
#[cfg(wq_loom)]
mod phases;
#[cfg(wq_loom)]
mod drains;
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
    scenario!(getters::add_against_blocking_get, "an add while a thread begins to wait: it is handed the item"),
    scenario!(getters::add_against_async_get, "an add while a task begins to wait: it is handed the item"),
    scenario!(getters::async_and_blocking_getters, "an async and a blocking getter in one line, two adds: each is handed one"),
    scenario!(getters::two_adders_two_getters, "two adders and two getters: every item comes out once"),
    scenario!(getters::woken_getter_dropped, "a getter that is dropped, woken or not, leaves no other asleep"),
    scenario!(getters::two_woken_never_polled, "two woken getters that nobody polls do not stall a third for ever"),
    scenario!(getters::two_woken_never_polled_for_few_items, "nor do they where all that is added is queued already"),
    scenario!(getters::repolled_with_another_waker, "a get polled again with another waker is woken by that one"),
    scenario!(getters::try_get_against_woken_getter, "a woken getter whose item was taken goes on waiting, and is woken again"),
    scenario!(getters::woken_twice_for_nothing, "a getter that is woken for nothing again and again is still woken"),
    scenario!(getters::timeout_against_add, "a get that times out while an item is added leaves it in the queue"),
    scenario!(getters::timed_out_getter_passes_on, "a getter that times out with a wake-up leaves no other asleep"),
    scenario!(getters::add_all_to_three_getters, "one batch for three getters: all are handed one, though only two are woken"),
    scenario!(getters::three_adds_to_three_getters, "each woken getter wakes the next while items remain"),
    scenario!(getters::quiet_add_against_get, "an add whose wake-ups wait for another lock: the getter is handed the item"),
    scenario!(getters::resume_against_get, "a pause that ends while a getter begins to wait: it is handed the item"),
    scenario!(getters::pause_against_add, "pause, add and resume at once: nothing is handed out in the pause, all after it"),
    scenario!(getters::remove_against_get, "a remove and a get at once: one of them has the item"),
    scenario!(phases::add_against_two_workers, "an add while two workers loop: never in two hands, not forgotten"),
    scenario!(phases::done_against_add, "a done and an add at once: the item runs again, whatever comes first"),
    scenario!(phases::two_adds_while_processing, "adds by two threads while an item is processed lead to one more run"),
    scenario!(phases::done_and_get_beside_a_getter, "the fused step, an item that runs again and a getter: both items are handed out"),
    scenario!(phases::two_fused_workers, "two workers that loop with done_and_get: never in two hands, not forgotten"),
    scenario!(phases::requeue_to_the_tail, "an item that runs again comes after what was queued before"),
    scenario!(phases::requeue_wakes_a_getter, "the end of an item that was added again wakes a getter"),
    scenario!(phases::abandon_against_done, "an abandon and the done of the same guard at once: the item ends once"),
    scenario!(phases::stale_guard_against_next_holder, "a guard that ends after its item was abandoned frees nobody else's"),
    scenario!(phases::panic_at_work, "a worker that panics: its item is free, and runs again if it was added meanwhile"),
    scenario!(drains::two_drainers, "two drainers and the end of the last item: both return"),
    scenario!(drains::drain_against_queued, "a drain while items are queued and none is in flight waits for all of them"),
    scenario!(drains::requeue_against_drain, "a drain waits for an item that its worker's done queues again"),
    scenario!(drains::drain_between_two_items, "a drain is not over between two items of one worker"),
    scenario!(drains::dropped_drainer, "a drainer that is dropped costs another nothing"),
    scenario!(drains::drain_timeout_against_done, "a drain that times out says truly what is left"),
    scenario!(drains::remove_ends_a_drain, "taking out the last item ends a drain"),
    scenario!(drains::drained_again_with_another_waker, "a drain polled again with another waker is woken by that one"),
    scenario!(ends::shutdown_against_three_getters, "a shutdown ends a blocking, an async and an owned getter"),
    scenario!(ends::add_against_shutdown, "an add against a shutdown: it is handed out exactly if it was let in"),
    scenario!(ends::two_shutdowns_and_a_drain, "two shutdowns at once, and a drain: all return"),
    scenario!(ends::shutdown_now_against_get, "shutdown_now against a getter: every item comes out once, here or there"),
    scenario!(ends::shutdown_now_against_readd, "shutdown_now against an add of an item in flight: it comes back or is refused"),
    scenario!(ends::shutdown_now_ends_a_drain, "shutdown_now ends a drain when nothing is in flight"),
];
