//! Parker: runs a future on a thread that sleeps between polls. The blocking forms of a wait are its async form run here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::clock::Deadline;
use crate::platform::{self, Thread};

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
    /// Made once a thread. Late or foreign wakes do no harm: each leads to one poll too many.
    static WAKER: Waker = Waker::from(Arc::new(Unpark(platform::current())));
}

/// Polls `future` until it is ready or the deadline has passed; at least once.
pub(crate) fn block_on<F: Future + Unpin>(future: &mut F, deadline: Deadline) -> Option<F::Output> {
    let waker =
        WAKER.try_with(Waker::clone).unwrap_or_else(|_| Waker::from(Arc::new(Unpark(platform::current()))));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut context) {
            return Some(output);
        }
        // Nothing that could use up the wake may stand between poll and park.
        match deadline.left() {
            None => platform::park(),
            Some(Duration::ZERO) => return None,
            Some(left) => platform::park_timeout(left),
        }
    }
}
