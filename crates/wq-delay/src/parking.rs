//! A waker that unparks the current thread: how a blocking getter waits on what futures wait on.

use crate::platform::{self, Thread};
use std::sync::Arc;
use std::task::{Wake, Waker};

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
