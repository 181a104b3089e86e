//! The current thread as a task that sleeps parked between polls: how a blocking call waits on what futures wait on.

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
    /// How often it was called.
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
    /// Made once per thread.
    static OWN: Arc<Unpark> = Unpark::current();
}

/// The waker of the current thread.
pub(crate) fn thread_waker() -> Waker {
    ThreadTask::current().waker
}

/// The current thread, as one that is woken.
pub(crate) struct ThreadTask {
    own: Arc<Unpark>,
    pub(crate) waker: Waker,
}

impl ThreadTask {
    pub(crate) fn current() -> Self {
        let own = OWN.try_with(Arc::clone).unwrap_or_else(|_| Unpark::current());
        Self { waker: Waker::from(Arc::clone(&own)), own }
    }

    /// How often it was woken. To be asked before a poll.
    pub(crate) fn wakes(&self) -> usize {
        self.own.wakes.load(Acquire)
    }

    /// Parks by this timer, unless it was woken since it was asked for `wakes`: a poll may call the wakers of others, and
    /// one that parks this thread uses up its unpark.
    pub(crate) fn park_until(&self, timer: &dyn Timer, until: Option<Instant>, wakes: usize) {
        // Nothing that could use up the unpark may stand between this look and the park.
        if self.wakes() == wakes {
            timer.park_until(until);
        }
    }
}

/// Polls a future that keeps no time on the calling thread, until `deadline` by the queue's timer; at least once.
pub(crate) fn wait_until<T, B: Backlog, F: Future + Unpin>(
    shared: &Shared<T, B>,
    future: &mut F,
    deadline: Tick,
) -> Option<F::Output> {
    let thread = ThreadTask::current();
    let until = (deadline != Tick::NEVER).then(|| shared.line.instant(deadline));
    loop {
        let wakes = thread.wakes();
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut Context::from_waker(&thread.waker)) {
            return Some(output);
        }
        if until.is_some() && deadline.is_due(shared.now()) {
            return None;
        }
        thread.park_until(&*shared.timer, until, wakes);
    }
}
