//! Many delayed items, added in any order: they come out by deadline, and within one deadline in
//! the order of their adds.

use std::time::Duration;
use wq_delay::{DelayingQueue, ManualTimer};

const MANY: u64 = 100_000;
/// Fewer deadlines than items, so that each deadline has several items.
const DEADLINES: u64 = 30_000;

#[test]
fn many_items_come_out_by_deadline_and_as_they_were_added() {
    let timer = ManualTimer::new();
    let queue = DelayingQueue::<u64>::builder().timer(timer.clone()).build().unwrap();
    let mut expected: Vec<(u64, u64)> = Vec::new();
    for item in 0..MANY {
        let after = 1 + (item.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % DEADLINES;
        queue.add_after(item, Duration::from_nanos(after));
        expected.push((after, item));
    }
    expected.sort_unstable();
    let mut expected = expected.into_iter().peekable();
    // The items come due in small portions, then all the rest at once.
    let mut passed = 0;
    for now in [1, 2, DEADLINES / 100, DEADLINES / 2, DEADLINES] {
        timer.advance(Duration::from_nanos(now - passed));
        passed = now;
        while let Some((_, item)) = expected.next_if(|(after, _)| *after <= now) {
            assert_eq!(queue.try_get().ok().map(|guard| *guard.item()), Some(item));
        }
        assert!(queue.try_get().is_err());
    }
    assert_eq!(expected.next(), None);
}
