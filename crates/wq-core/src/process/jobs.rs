//! Jobs: the futures at work in one task, at most so many. A wake of one leads to a poll of that one alone.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

pub(super) struct Jobs<W> {
    /// Each place keeps its allocation from job to job.
    places: Vec<Place<W>>,
    /// Places without a job.
    free: Vec<usize>,
    woken: Arc<Woken>,
    /// Taken from `woken`, to be polled.
    turn: Vec<usize>,
}

struct Place<W> {
    job: Pin<Box<Option<W>>>,
    waker: Waker,
    nudge: Arc<Nudge>,
}

/// Which jobs were woken since the last look, and the task to wake for them.
#[derive(Default)]
struct Woken {
    places: Mutex<Vec<usize>>,
    task: Mutex<Option<Waker>>,
}

/// The waker of a place.
struct Nudge {
    place: usize,
    /// Whether the place is in `woken` already.
    is_in: AtomicBool,
    woken: Arc<Woken>,
}

impl Nudge {
    /// Whether the place was not in `woken` before.
    fn enter(&self) -> bool {
        let is_new = !self.is_in.swap(true, Ordering::AcqRel);
        if is_new {
            self.woken.places.lock().unwrap_or_else(PoisonError::into_inner).push(self.place);
        }
        is_new
    }
}

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.enter() {
            let task = self.woken.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(task) = task {
                task.wake();
            }
        }
    }
}

impl<W> Jobs<W> {
    pub(super) fn new(places: usize) -> Self {
        let woken = Arc::<Woken>::default();
        let place = |place| {
            let nudge = Arc::new(Nudge { place, is_in: AtomicBool::new(false), woken: Arc::clone(&woken) });
            Place { job: Box::pin(None), waker: Waker::from(Arc::clone(&nudge)), nudge }
        };
        Self {
            places: (0..places).map(place).collect(),
            free: (0..places).rev().collect(),
            woken: Arc::clone(&woken),
            turn: Vec::new(),
        }
    }

    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    pub(super) fn at_work(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn has_place(&self) -> bool {
        !self.free.is_empty()
    }

    /// Wakes of jobs wake this task from now on.
    pub(super) fn attend(&self, task: &Waker) {
        let left;
        let mut held = self.woken.task.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.as_ref().is_some_and(|held| held.will_wake(task)) {
            left = held.replace(task.clone());
            drop(held);
            drop(left);
        }
    }

    /// Puts a job into a place; it is polled with the next ones that were woken.
    pub(super) fn begin(&mut self, job: W) {
        if let Some(place) = self.free.pop().and_then(|place| self.places.get_mut(place)) {
            place.job.set(Some(job));
            place.nudge.enter();
        }
    }
}

impl<W: Future> Jobs<W> {
    /// Polls jobs that were woken until one ends; `None` when all have been polled.
    pub(super) fn poll_woken(&mut self) -> Option<W::Output> {
        loop {
            if self.turn.is_empty() {
                mem::swap(
                    &mut self.turn,
                    &mut *self.woken.places.lock().unwrap_or_else(PoisonError::into_inner),
                );
                self.turn.reverse(); // Taken from the end: first woken, first polled.
            }
            let at = self.turn.pop()?;
            let Some(place) = self.places.get_mut(at) else { continue };
            place.nudge.is_in.store(false, Ordering::Release);
            let Some(job) = place.job.as_mut().as_pin_mut() else { continue };
            if let Poll::Ready(output) = job.poll(&mut Context::from_waker(&place.waker)) {
                place.job.set(None);
                self.free.push(at);
                return Some(output);
            }
        }
    }
}
