//! Borrowed: adds by a key. The queue makes the item only if it does not hold it.

use std::borrow::Borrow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use wq_core::{Added, WorkQueue};

thread_local! {
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// Counts the names made. Making "bad" panics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name(String);

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        assert_ne!(name, "bad", "the panic that this test wants");
        MADE.set(MADE.get() + 1);
        Self(name.to_owned())
    }
}

#[test]
fn an_item_is_made_only_when_it_is_new() {
    MADE.set(0);
    let queue = WorkQueue::<Name>::new();
    assert_eq!(queue.add_ref("a"), Added::Queued);
    assert_eq!(queue.add_ref("a"), Added::Merged);
    let guard = queue.try_get().unwrap();
    assert_eq!(queue.add_ref("a"), Added::Deferred);
    assert_eq!(queue.add_ref("a"), Added::Merged);
    assert_eq!(MADE.get(), 1);
    guard.done();
    queue.try_get().unwrap().done();
    assert_eq!((queue.add_ref("a"), MADE.get()), (Added::Queued, 2), "it had left");
    queue.shutdown();
    assert_eq!((queue.add_ref("b"), MADE.get()), (Added::ShutDown, 2));
}

#[test]
fn it_is_the_same_item_as_one_that_is_added_whole() {
    let queue = WorkQueue::<Arc<str>>::new();
    queue.add(Arc::from("a"));
    assert_eq!(queue.add_ref("a"), Added::Merged);
    assert_eq!(queue.add_ref("b"), Added::Queued);
    assert_eq!(queue.add("b".into()), Added::Merged);
    assert_eq!(queue.shutdown_now(), [Arc::from("a"), Arc::from("b")]);
}

#[test]
fn one_that_cannot_be_made_changes_nothing() {
    let queue = WorkQueue::<Name>::new();
    queue.add_ref("a");
    assert!(catch_unwind(AssertUnwindSafe(|| queue.add_ref("bad"))).is_err());
    assert_eq!((queue.counts().queued, queue.phase("bad").is_some()), (1, false));
    assert_eq!(queue.add_ref("b"), Added::Queued);
    assert_eq!(queue.try_get().unwrap().item().0, "a");
    assert_eq!(queue.try_get().unwrap().item().0, "b");
}
