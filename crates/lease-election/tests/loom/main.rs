//! loom: every schedule of concurrent steps of one term and its watchdog, with up to three
//! preemptions.
//!
//! `cargo xtask loom lease-election` runs each scenario in a process of its own, because a deadlock
//! that loom finds ends the process. The term is private, so this program includes its source
//! files, on the model checker's platform. With a scenario's name it runs that scenario, with
//! `--list` it prints all, and otherwise it does nothing. `LOOM_MAX_PREEMPTIONS` sets another
//! bound.
#![cfg_attr(
    wq_loom,
    allow(
        dead_code,
        unused_imports,
        unreachable_pub,
        unnameable_types,
        missing_docs,
        reason = "files of the library, of which a part is asked"
    )
)]

#[cfg(wq_loom)]
#[path = "../../src"]
mod shipped {
    pub(crate) mod announcement;
    pub(crate) mod clock;
    pub(crate) mod config;
    pub(crate) mod error;
    pub(crate) mod fnv;
    pub(crate) mod leadership;
    pub(crate) mod loss;
    pub(crate) mod planted;
    pub(crate) mod record;
    pub(crate) mod store;
    pub(crate) mod term;
    pub(crate) mod term_watch;
    pub(crate) mod version;
    pub(crate) mod watchdog;
}

#[cfg(wq_loom)]
mod platform;
#[cfg(wq_loom)]
mod scene;
#[cfg(wq_loom)]
mod standing;
#[cfg(wq_loom)]
mod terms;
#[cfg(wq_loom)]
mod watchdogs;

#[cfg(wq_loom)]
use shipped::{
    announcement, clock, config, error, fnv, leadership, loss, planted, record, store, term,
    term_watch, version, watchdog,
};
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
    scenario!(terms::lost_against_end, "a wait for the end of a term that begins while it ends: it hears of it, and why"),
    scenario!(terms::lost_against_expiry, "a term that expires while somebody begins to wait and no timer fires: whoever asks tells the one who waits"),
    scenario!(terms::lost_across_a_renewal, "a wait whose timer was set before a renewal ends at the later deadline and not before"),
    scenario!(terms::two_observers, "two ask of an expired term and a third waits: all hear that it is over, and the same reason"),
    scenario!(terms::renewal_against_expiry, "a renewal that is noted while somebody finds the term expired: one of the two, and never both"),
    scenario!(terms::renewal_against_end, "a renewal that is noted while the term ends revives nothing"),
    scenario!(terms::two_ends, "two reasons at once: one stays, and everybody hears that one"),
    scenario!(terms::guard_against_expiry, "a guarded future that waits for ever is dropped when somebody finds the term expired"),
    scenario!(terms::guard_against_its_future, "a guarded future that completes while the term ends: its result or the loss, and no step after the loss was told"),
    scenario!(terms::ending_against_stop, "a stop asked for while the work begins to wait for it: the term goes on, and the work is told"),
    scenario!(terms::ending_against_stop_and_end, "a stop and the end at once, and work that begins to wait: told of one of them, and the end stays"),
    scenario!(watchdogs::begins_against_the_watch, "work that begins while the watchdog begins to wait, and is late: it acts"),
    scenario!(watchdogs::renewal_against_the_deadline, "a renewal just before the deadline: the watchdog does not act, and acts at the next"),
    scenario!(watchdogs::loss_moves_the_deadline_in, "a term that is lost while the watchdog waits for its end: it acts at the earlier deadline"),
    scenario!(watchdogs::two_move_the_deadline, "work that begins while its term is lost: whoever comes last, it acts at the earlier deadline"),
    scenario!(watchdogs::work_ends_at_the_deadline, "work that ends at its deadline: the watchdog acts once or not at all, and ends with its elector"),
    scenario!(watchdogs::next_term_is_watched, "a term that ends and one that begins while the watchdog looks: it acts on the late work of the second"),
];
