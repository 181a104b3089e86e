//! Wakes: a waker that counts, so that a test can poll a future by hand and see who was woken.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Counts how often its waker was called.
#[derive(Debug, Default)]
pub struct Wakes(AtomicUsize);

impl Wakes {
    /// A new count, at zero.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// How often the waker was called.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Polls once with this waker.
    pub fn poll<F: Future + Unpin + ?Sized>(self: &Arc<Self>, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(self));
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
