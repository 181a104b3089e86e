//! Parker: runs a future on a thread that sleeps between polls. The blocking forms of a wait are its async form run here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::clock::Deadline;
use crate::platform::{self, Thread, WakeCount};

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
    /// Made once a thread. Late or foreign wakes do no harm: each leads to one poll too many.
    static OWN: Arc<Unpark> = Unpark::current();
}

/// Polls `future` until it is ready or the deadline has passed; at least once.
pub(crate) fn block_on<F: Future + Unpin>(future: &mut F, deadline: Deadline) -> Option<F::Output> {
    let own = OWN.try_with(Arc::clone).unwrap_or_else(|_| Unpark::current());
    let waker = Waker::from(Arc::clone(&own));
    let mut context = Context::from_waker(&waker);
    loop {
        let wakes = own.wakes.load(Acquire);
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut context) {
            return Some(output);
        }
        let left = deadline.left();
        if left == Some(Duration::ZERO) {
            return None;
        }
        // A poll may call the wakers of others, and one that parks this thread uses up its unpark: who was woken does not
        // park. Nothing that could use it up may stand between this look and the park.
        if own.wakes.load(Acquire) == wakes {
            left.map_or_else(platform::park, platform::park_timeout);
        }
    }
}
