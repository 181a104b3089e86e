//! Parking: the current thread as a task that is parked between polls, for blocking calls.

use crate::platform::{self, Thread, WakeCount};
use crate::shared::Shared;
use crate::tick::Tick;
use crate::timer::Timer;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;
use wq_core::Backlog;

struct Unpark {
    thread: Thread,
    /// How often it was woken.
    wakes: WakeCount,
}

impl Unpark {
    fn current() -> Arc<Self> {
        Arc::new(Self { thread: platform::current(), wakes: WakeCount::new(0) })
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wakes.fetch_add(1, Release);
        self.thread.unpark();
    }
}

platform::thread_local! {
    /// One for each thread.
    static OWN: Arc<Unpark> = Unpark::current();
}

/// The waker of the current thread.
pub(crate) fn thread_waker() -> Waker {
    ThreadTask::current().waker
}

/// The current thread, with its waker.
pub(crate) struct ThreadTask {
    own: Arc<Unpark>,
    pub(crate) waker: Waker,
}

impl ThreadTask {
    pub(crate) fn current() -> Self {
        let own = OWN.try_with(Arc::clone).unwrap_or_else(|_| Unpark::current());
        Self { waker: Waker::from(Arc::clone(&own)), own }
    }

    /// How often the thread was woken. Read it before a poll.
    pub(crate) fn wakes(&self) -> usize {
        self.own.wakes.load(Acquire)
    }

    /// Parks by this timer, unless the thread was woken since `wakes` was read. A waker that a poll
    /// calls could have consumed the unpark.
    pub(crate) fn park_until(&self, timer: &dyn Timer, until: Option<Instant>, wakes: usize) {
        // No code that could consume the unpark may run between this check and the park.
        if self.wakes() == wakes {
            timer.park_until(until);
        }
    }
}

/// Polls a future that keeps no time on the calling thread, at least once, until `deadline` by the
/// queue's timer.
pub(crate) fn wait_until<T, B: Backlog, F: Future + Unpin>(
    shared: &Shared<T, B>,
    future: &mut F,
    deadline: Tick,
) -> Option<F::Output> {
    let thread = ThreadTask::current();
    let until = (deadline != Tick::NEVER).then(|| shared.line.instant(deadline));
    loop {
        let wakes = thread.wakes();
        if let Poll::Ready(output) =
            Pin::new(&mut *future).poll(&mut Context::from_waker(&thread.waker))
        {
            return Some(output);
        }
        if until.is_some() && deadline.is_due(shared.now()) {
            return None;
        }
        thread.park_until(&*shared.timer, until, wakes);
    }
}
