//! Parker: runs a future on a thread that sleeps between polls.
//!
//! The blocking form of a wait is its async form, run here.

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

fn current() -> Waker {
    Waker::from(Arc::new(Unpark(platform::current())))
}

platform::thread_local! {
    /// One for each thread. A late or foreign wake costs one extra poll.
    static OWN: Waker = current();
}

/// Polls `future` at least once, until it is ready or the deadline has passed.
///
/// After its look at the queue, a pending poll calls no user code that could consume the unpark.
pub(crate) fn block_on<F: Future + Unpin>(future: &mut F, deadline: Deadline) -> Option<F::Output> {
    let waker = OWN.try_with(Waker::clone).unwrap_or_else(|_| current());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut context) {
            return Some(output);
        }
        match deadline.left() {
            None => platform::park(),
            Some(Duration::ZERO) => return None,
            Some(left) => platform::park_timeout(left),
        }
    }
}
