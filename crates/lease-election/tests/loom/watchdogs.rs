//! Watchdogs: the thread that waits for a deadline, against threads that move it.

use std::sync::{Arc, PoisonError};

use loom::sync::{Condvar, Mutex};
use wq_contract::explore::thread;

use crate::clock::Moment;
use crate::scene::at;
use crate::version::FenceToken;
use crate::watchdog::shared::Shared;
use crate::watchdog::state::{Due, State};
use crate::watchdog::timer::Timer;

/// The time, and when the timer fires: once until it is set again, as the kernel's does.
#[derive(Debug, Default)]
struct Clockwork {
    now: u64,
    goes_off: Option<Moment>,
}

#[derive(Clone, Debug)]
struct Hand(Arc<(Mutex<Clockwork>, Condvar)>);

impl Hand {
    fn change<T>(&self, change: impl FnOnce(&mut Clockwork) -> T) -> T {
        let changed = change(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.1.notify_all();
        changed
    }
}

impl Timer for Hand {
    fn set(&self, moment: Option<Moment>) {
        self.change(|clock| clock.goes_off = moment);
    }

    fn wait(&self) {
        let mut clock = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        while clock.goes_off.is_none_or(|moment| moment > at(clock.now)) {
            clock = self.0.1.wait(clock).unwrap_or_else(PoisonError::into_inner);
        }
        clock.goes_off = None;
    }
}

#[derive(Clone)]
struct Kennel {
    hand: Hand,
    shared: Arc<Shared>,
}

impl Kennel {
    fn new() -> Self {
        let hand = Hand(Arc::new((Mutex::new(Clockwork::default()), Condvar::new())));
        Self { shared: Arc::new(Shared::new(Box::new(hand.clone()))), hand }
    }

    fn set(&self, now: u64) {
        self.hand.change(|clock| clock.now = now);
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) {
        drop(self.shared.change(change));
    }

    /// Begins a term whose work is late from the deadline on.
    fn begin(&self, revision: &str, deadline: u64) {
        self.change(|state| state.begin(fence(revision), at(deadline)));
        self.change(State::work_begins);
    }

    /// Returns the terms that the thread acts on, until it has acted on `last` or its elector is
    /// gone.
    fn watch(&self, last: &str) -> Vec<Arc<FenceToken>> {
        let mut acted = Vec::new();
        loop {
            let now = self.hand.change(|clock| clock.now);
            match self.shared.due(at(now)) {
                Due::Wait(_) => self.shared.wait(),
                Due::End => return acted,
                Due::Fire { fence, .. } => {
                    let ends = fence.resource_version == last;
                    acted.push(fence);
                    if ends {
                        return acted;
                    }
                }
            }
        }
    }
}

fn fence(revision: &str) -> Arc<FenceToken> {
    Arc::new(FenceToken { uid: "u".into(), resource_version: revision.into(), transitions: 0 })
}

pub(crate) fn begins_against_the_watch() {
    let kennel = Kennel::new();
    let watching = thread(&kennel, |kennel| kennel.watch("1"));
    kennel.begin("1", 10);
    kennel.set(10);
    assert_eq!(watching.join().unwrap(), [fence("1")]);
    assert!(kennel.shared.is_working(&fence("1")));
}

pub(crate) fn renewal_against_the_deadline() {
    let kennel = Kennel::new();
    kennel.begin("1", 10);
    let watching = thread(&kennel, |kennel| {
        let acted = kennel.watch("1");
        (acted, kennel.hand.change(|clock| clock.now))
    });
    kennel.change(|state| state.extend(at(20)));
    kennel.set(10);
    kennel.set(20);
    assert_eq!(watching.join().unwrap(), (vec![fence("1")], 20));
}

pub(crate) fn loss_moves_the_deadline_in() {
    let kennel = Kennel::new();
    kennel.begin("1", 100);
    let watching = thread(&kennel, |kennel| kennel.watch("1"));
    kennel.set(5);
    kennel.change(|state| state.shorten(at(5)));
    assert_eq!(watching.join().unwrap(), [fence("1")]);
}

pub(crate) fn two_move_the_deadline() {
    let kennel = Kennel::new();
    kennel.change(|state| state.begin(fence("1"), at(100)));
    let working = thread(&kennel, |kennel| kennel.change(State::work_begins));
    let watching = thread(&kennel, |kennel| kennel.watch("1"));
    kennel.set(5);
    kennel.change(|state| state.shorten(at(5)));
    working.join().unwrap();
    assert_eq!(watching.join().unwrap(), [fence("1")]);
}

pub(crate) fn work_ends_at_the_deadline() {
    let kennel = Kennel::new();
    kennel.begin("1", 10);
    let watching = thread(&kennel, |kennel| kennel.watch("none"));
    kennel.set(10);
    kennel.change(State::work_ended);
    assert!(!kennel.shared.is_working(&fence("1")));
    kennel.change(State::end);
    assert!(watching.join().unwrap().len() <= 1);
}

pub(crate) fn next_term_is_watched() {
    let kennel = Kennel::new();
    kennel.begin("1", 10);
    let watching = thread(&kennel, |kennel| kennel.watch("2"));
    kennel.set(10);
    kennel.change(State::work_ended);
    kennel.begin("2", 30);
    kennel.set(30);
    let acted = watching.join().unwrap();
    assert!(acted == [fence("2")] || acted == [fence("1"), fence("2")], "{acted:?}");
}
