//! Platform: loom's, with a `OnceLock` and a `Notify` that do what their docs promise, and no more.
//! loom has no cell that is set once, and tokio's `Notify` does not know loom.

use std::future::Future;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use loom::sync::{Mutex, MutexGuard};

/// A cell that is set once. A thread that sees it set also sees everything before that; no other
/// thread does.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    is_set: AtomicBool,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), is_set: AtomicBool::new(false) }
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }

    pub(crate) fn get(&self) -> Option<&T> {
        if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
    }
}

/// `notify_waiters` ends the waits that began before it, and no later ones.
#[derive(Debug)]
pub(crate) struct Notify(Mutex<Waiters>);

#[derive(Debug, Default)]
struct Waiters {
    notices: u64,
    wakers: Vec<Waker>,
}

impl Notify {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Waiters::default()))
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn notify_waiters(&self) {
        let wakers = {
            let mut waiters = self.waiters();
            waiters.notices += 1;
            std::mem::take(&mut waiters.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn notified(&self) -> Notified<'_> {
        Notified { notify: self, before: self.waiters().notices }
    }
}

/// A wait, which begins when it is made.
#[derive(Debug)]
pub(crate) struct Notified<'n> {
    notify: &'n Notify,
    before: u64,
}

impl Notified<'_> {
    pub(crate) fn enable(self: Pin<&mut Self>) -> bool {
        self.notify.waiters().notices > self.before
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut waiters = self.notify.waiters();
        if waiters.notices > self.before {
            return Poll::Ready(());
        }
        if !waiters.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            waiters.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}
