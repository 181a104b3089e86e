//! `After`: whom a locked section leaves to be woken once the lock is free. Declared before the lock is taken, and so
//! dropped after it, in a panic too.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;
use std::thread;

/// Wakes its wakers when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct After {
    wakers: Vec<Waker>,
}

impl After {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn wake(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        self.wakers.extend(wakers);
    }

    /// A panic in one waker costs the others nothing. The first goes on when all are woken, unless there is one under way: two at
    /// once would end the program.
    #[inline(never)]
    fn wake_all(&mut self) {
        let wake = |waker: Waker| catch_unwind(AssertUnwindSafe(|| waker.wake())).err();
        let mut panics = mem::take(&mut self.wakers).into_iter().filter_map(wake);
        let Some(first) = panics.next() else { return };
        panics.for_each(mem::forget); // Its drop may panic too.
        if thread::panicking() {
            mem::forget(first);
        } else {
            resume_unwind(first);
        }
    }
}

impl Drop for After {
    #[inline]
    fn drop(&mut self) {
        if !self.wakers.is_empty() {
            self.wake_all();
        }
    }
}
