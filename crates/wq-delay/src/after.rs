//! `After`: whom a locked section leaves to be woken once the lock is free. Declared before the lock is taken, and so
//! dropped after it, in a panic too.

use std::task::Waker;

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
}

impl Drop for After {
    fn drop(&mut self) {
        /// A panic in one waker costs the others nothing: the rest is woken while it unwinds.
        struct Rest(std::vec::IntoIter<Waker>);

        impl Drop for Rest {
            fn drop(&mut self) {
                self.0.by_ref().for_each(Waker::wake);
            }
        }

        let mut rest = Rest(std::mem::take(&mut self.wakers).into_iter());
        rest.0.by_ref().for_each(Waker::wake);
    }
}
