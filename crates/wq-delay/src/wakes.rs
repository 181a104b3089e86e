//! Wakes: wakers to call once the lock is free.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;
use std::thread;

/// Calls its wakers when it is dropped. Declared before the lock is taken, so dropped after it.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    wakers: Vec<Waker>,
}

impl Wakes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn extend(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        self.wakers.extend(wakers);
    }

    /// Calls all wakers, even if some panic. The first panic goes on afterwards, unless the thread
    /// is panicking already: two panics would abort the program.
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

impl Drop for Wakes {
    #[inline]
    fn drop(&mut self) {
        if !self.wakers.is_empty() {
            self.wake_all();
        }
    }
}
