//! Whether a guard still has its item.

use wq_core::WorkQueue;

#[test]
fn a_guard_is_current_until_its_item_is_abandoned() {
    let queue = WorkQueue::new();
    queue.add(1);
    let stale = queue.try_get().unwrap();
    assert!(stale.is_current());
    queue.add(1);
    assert!(stale.is_current(), "to run again, and in hand");
    assert!(queue.abandon(&1));
    assert!(!stale.is_current(), "queued");
    let next = queue.try_get().unwrap();
    assert!(next.is_current() && !stale.is_current(), "in other hands");
    drop(stale);
    assert!(next.is_current());
    queue.abandon(&1);
    queue.add(2); // Item 2 reuses the slot of item 1.
    let other = queue.try_get().unwrap();
    assert!(other.is_current() && !next.is_current());
}
