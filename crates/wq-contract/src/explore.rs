//! Explore: a program that runs scenarios under every schedule of loom, and what they are made of:
//! threads with a handle to the queue, the books that judge them.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::thread::JoinHandle;

use crate::scenario::{Scenario, list};

/// Preemptions a schedule may have.
const PREEMPTIONS: usize = 3;

/// With the name of a scenario runs that one, with `--list` prints all, with nothing does nothing.
///
/// # Panics
///
/// If there is no scenario of that name, or one fails.
pub fn main(scenarios: &[Scenario]) {
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("--list") => list(scenarios),
        Some(name) => match scenarios.iter().find(|scenario| scenario.name == name) {
            Some(scenario) => explore(scenario),
            None => panic!("there is no scenario {name}"),
        },
    }
}

/// Runs the scenario under every schedule, and says how many there were.
fn explore(scenario: &Scenario) {
    static SCHEDULES: AtomicUsize = AtomicUsize::new(0);
    let run = scenario.run;
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(PREEMPTIONS);
    builder.check(move || {
        SCHEDULES.fetch_add(1, SeqCst);
        run();
    });
    println!("{}", SCHEDULES.load(SeqCst));
}

/// Starts a thread with a handle of its own.
pub fn thread<Q: Clone + 'static, R: 'static>(
    queue: &Q,
    work: impl FnOnce(&Q) -> R + 'static,
) -> JoinHandle<R> {
    let queue = queue.clone();
    loom::thread::spawn(move || work(&queue))
}

/// What the threads returned, in their order.
///
/// # Panics
///
/// If one of them has.
pub fn join<R>(threads: impl IntoIterator<Item = JoinHandle<R>>) -> Vec<R> {
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// One poll, with a waker that does nothing.
pub fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// What is known from outside about one item: how often it was changed, what of it a worker has
/// seen, whether it is held.
#[derive(Debug, Clone)]
pub struct Known {
    changed: std::sync::Arc<AtomicUsize>,
    seen: std::sync::Arc<AtomicUsize>,
    runs: std::sync::Arc<AtomicUsize>,
    /// loom's, so that a schedule may go to another thread while the item is held.
    is_held: Arc<AtomicBool>,
}

impl Known {
    /// An item that was never added.
    #[must_use]
    pub fn new() -> Self {
        Self {
            changed: std::sync::Arc::default(),
            seen: std::sync::Arc::default(),
            runs: std::sync::Arc::default(),
            is_held: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Call before each add.
    pub fn change(&self) {
        self.changed.fetch_add(1, SeqCst);
    }

    /// Call with the item in hand.
    ///
    /// # Panics
    ///
    /// If somebody else has it too.
    pub fn work(&self) {
        assert!(!self.is_held.swap(true, SeqCst), "an item is in two hands");
        self.seen.store(self.changed.load(SeqCst), SeqCst);
        self.runs.fetch_add(1, SeqCst);
        assert!(self.is_held.swap(false, SeqCst));
    }

    /// Call when all is over.
    ///
    /// # Panics
    ///
    /// If an add was forgotten.
    pub fn judge(&self) {
        assert_eq!(self.seen.load(SeqCst), self.changed.load(SeqCst), "an add was forgotten");
    }

    /// How often a worker had it.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.load(SeqCst)
    }
}

impl Default for Known {
    fn default() -> Self {
        Self::new()
    }
}
