//! What becomes of the panics of several calls into code of others: one goes on.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use crate::waiters::Wakes;

/// Wakes those whom there is news for, and then does what is left to be done (tells an observer, who may take his time; drops items), if
/// a waker has panicked too.
#[inline(always)]
pub(crate) fn wake_and_then(wakes: Option<Wakes>, then: impl FnOnce()) {
    match wakes {
        None => then(),
        Some(wakes) => wake_first(wakes, then),
    }
}

#[cold]
#[inline(never)]
fn wake_first(wakes: Wakes, then: impl FnOnce()) {
    let woken = catch_unwind(AssertUnwindSafe(|| wakes.fire()));
    let done = catch_unwind(AssertUnwindSafe(then));
    one_panic([woken, done]);
}

/// Goes on with the first of these panics, unless there is one under way already: two at once would end the program.
pub(crate) fn one_panic(results: impl IntoIterator<Item = thread::Result<()>>) {
    let mut panics = results.into_iter().filter_map(Result::err);
    let Some(first) = panics.next() else { return };
    panics.for_each(mem::forget); // Its drop may panic too.
    if thread::panicking() {
        mem::forget(first);
    } else {
        resume_unwind(first);
    }
}
