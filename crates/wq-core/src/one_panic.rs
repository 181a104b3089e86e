//! What becomes of the panics of several calls into code of others: one goes on.

use std::mem;
use std::panic::resume_unwind;
use std::thread;

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
