//! A waker that unparks the current thread: how a blocking call waits on what futures wait on.

use crate::platform::{self, Thread};
use crate::shared::Shared;
use crate::tick::Tick;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use wq_core::Backlog;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

platform::thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(Unpark(platform::current())));
}

/// The waker of the current thread. Made once per thread.
pub(crate) fn thread_waker() -> Waker {
    WAKER.try_with(Waker::clone).unwrap_or_else(|_| Waker::from(Arc::new(Unpark(platform::current()))))
}

/// Polls a future that keeps no time on the calling thread, until `deadline` by the queue's timer; at least once.
pub(crate) fn wait_until<T, B: Backlog, F: Future + Unpin>(
    shared: &Shared<T, B>,
    future: &mut F,
    deadline: Tick,
) -> Option<F::Output> {
    let waker = thread_waker();
    let until = (deadline != Tick::NEVER).then(|| shared.line.instant(deadline));
    loop {
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        if until.is_some() && deadline.is_due(shared.now()) {
            return None;
        }
        // Nothing that could use up the unpark may stand between the poll and the park.
        shared.timer.park_until(until);
    }
}
