//! Jobs: the futures at work in one task, at most so many. A wake of one leads to a poll of that one alone.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};

use crate::platform::{AtomicBool, Mutex};

pub(super) struct Jobs<W> {
    most: usize,
    /// Made when there is a job for one, and kept: the next job uses its allocation.
    places: Vec<Place<W>>,
    /// Places without a job.
    free: Vec<usize>,
    woken: Arc<Woken>,
}

struct Place<W> {
    job: Pin<Box<Option<W>>>,
    waker: Waker,
    /// Behind the waker.
    own: Arc<JobWaker>,
}

/// The places of jobs that were woken and not polled since, first woken first, and the task to wake for them.
struct Woken {
    list: Mutex<VecDeque<usize>>,
    task: Mutex<Option<Waker>>,
}

struct JobWaker {
    place: usize,
    is_listed: AtomicBool,
    woken: Arc<Woken>,
}

impl JobWaker {
    /// Puts the place into the list. `false` if it is there.
    fn list(&self) -> bool {
        let is_new = !self.is_listed.swap(true, Ordering::SeqCst);
        if is_new {
            self.woken.list.lock().push_back(self.place);
        }
        is_new
    }
}

impl Wake for JobWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.list() {
            let task = self.woken.task.lock().clone();
            if let Some(task) = task {
                task.wake();
            }
        }
    }
}

impl<W> Jobs<W> {
    pub(super) fn new(most: usize) -> Self {
        let woken = Woken { list: Mutex::new(VecDeque::new()), task: Mutex::new(None) };
        Self { most, places: Vec::new(), free: Vec::new(), woken: Arc::new(woken) }
    }

    /// How many may be at work.
    pub(super) const fn most(&self) -> usize {
        self.most
    }

    pub(super) const fn at_work(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) const fn has_place(&self) -> bool {
        self.at_work() < self.most
    }

    /// Wakes of jobs wake this task from now on.
    pub(super) fn set_task(&self, task: &Waker) {
        let task = task.clone();
        let mut held = self.woken.task.lock();
        let left = held.replace(task);
        drop(held);
        drop(left);
    }

    /// Puts a job into a place. It counts as woken.
    pub(super) fn begin(&mut self, job: W) {
        let at = self.free.pop().unwrap_or_else(|| self.make_place());
        if let Some(place) = self.places.get_mut(at) {
            place.job.set(Some(job));
            place.own.list();
        }
    }

    fn make_place(&mut self) -> usize {
        let place = self.places.len();
        let woken = Arc::clone(&self.woken);
        let own = Arc::new(JobWaker { place, is_listed: AtomicBool::new(false), woken });
        self.places.push(Place { job: Box::pin(None), waker: Waker::from(Arc::clone(&own)), own });
        place
    }
}

impl<W: Future> Jobs<W> {
    /// Polls the job that was woken first; `None` if none was.
    pub(super) fn poll_woken(&mut self) -> Option<Poll<W::Output>> {
        let at = self.woken.list.lock().pop_front()?;
        let Some(place) = self.places.get_mut(at) else { return Some(Poll::Pending) };
        // Before the poll, and so that it sees what a wake before this was sent for: that wake found the place listed, and
        // left it at that. One after this lists the place again.
        place.own.is_listed.swap(false, Ordering::SeqCst);
        let Some(job) = place.job.as_mut().as_pin_mut() else { return Some(Poll::Pending) };
        let polled = job.poll(&mut Context::from_waker(&place.waker));
        if polled.is_ready() {
            place.job.set(None);
            self.free.push(at);
        }
        Some(polled)
    }
}
