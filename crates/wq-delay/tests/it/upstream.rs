//! client-go's `delaying_queue_test.go`, and cases that it leaves out.

use std::time::Duration;
use wq_delay::{DelayingQueue, ManualTimer, Scheduled, Timer};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn queue() -> (DelayingQueue<&'static str>, ManualTimer) {
    let timer = ManualTimer::new();
    (DelayingQueue::builder().timer(timer.clone()).build().unwrap(), timer)
}

/// Takes all ready items.
fn take(queue: &DelayingQueue<&'static str>) -> Vec<&'static str> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| *guard.item())).collect()
}

/// `TestSimpleQueue`. (There is no heartbeat to step past.)
#[test]
fn a_delayed_item_comes_out_once_at_its_time() {
    let (queue, timer) = queue();
    assert_eq!(queue.add_after("foo", ms(50)), Scheduled::Delayed);
    assert_eq!(queue.counts().queued, 0);
    timer.advance(ms(49));
    assert_eq!(take(&queue), [""; 0]);
    timer.advance(ms(11));
    assert_eq!(queue.counts().queued, 1);
    assert_eq!(take(&queue), ["foo"]);
    timer.advance(Duration::from_secs(10));
    assert_eq!(take(&queue), [""; 0]);
}

/// `TestDeduping`.
#[test]
fn the_earlier_of_two_deadlines_wins() {
    let (queue, timer) = queue();
    queue.add_after("foo", ms(50));
    assert_eq!(queue.add_after("foo", ms(70)), Scheduled::Kept);
    timer.advance(ms(60));
    assert_eq!(take(&queue), ["foo"]);
    timer.advance(ms(20));
    assert_eq!(take(&queue), [""; 0]);

    queue.add_after("foo", ms(50));
    assert_eq!(queue.add_after("foo", ms(30)), Scheduled::Moved);
    timer.advance(ms(40));
    assert_eq!(take(&queue), ["foo"]);
    timer.advance(ms(20));
    assert_eq!(take(&queue), [""; 0]);
}

/// `TestAddTwoFireEarly`.
#[test]
fn each_item_comes_at_its_own_time() {
    let (queue, timer) = queue();
    queue.add_after("foo", ms(1000));
    queue.add_after("bar", ms(50));
    timer.advance(ms(60));
    assert_eq!(take(&queue), ["bar"]);
    queue.add_after("third", ms(2000));
    timer.advance(ms(1000));
    assert_eq!(take(&queue), ["foo"]);
    timer.advance(ms(2000));
    assert_eq!(take(&queue), ["third"]);
}

/// `TestCopyShifting`.
#[test]
fn items_due_together_come_in_the_order_of_their_deadlines() {
    let (queue, timer) = queue();
    queue.add_after("1st", ms(1000));
    queue.add_after("2nd", ms(500));
    queue.add_after("3rd", ms(250));
    timer.advance(ms(2000));
    assert_eq!(take(&queue), ["3rd", "2nd", "1st"]);
}

/// `BenchmarkDelayingQueue_AddAfter`: many distinct keys, up to ten minutes each, all taken eleven
/// minutes later. Upstream only measures; this test also checks the order.
#[test]
fn many_items_come_out_in_the_order_of_their_deadlines() {
    let timer = ManualTimer::new();
    let queue = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    let delay = |item: u64| ms(1 + item.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 600_000);
    for item in 0..10_000 {
        assert_eq!(queue.add_after(item, delay(item)), Scheduled::Delayed);
    }
    timer.advance(ms(11 * 60_000));
    let out: Vec<u64> =
        std::iter::from_fn(|| queue.try_get().ok().map(|guard| *guard.item())).collect();
    let mut sorted: Vec<u64> = (0..10_000).collect();
    sorted.sort_by_key(|item| delay(*item));
    assert_eq!(out, sorted);
}

/// Defect D9 of client-go: items with equal deadlines come in no order.
#[test]
fn equal_deadlines_come_in_the_order_of_adding() {
    let (queue, timer) = queue();
    for item in ["c", "a", "b"] {
        queue.add_after(item, ms(5));
    }
    timer.advance(ms(5));
    assert_eq!(take(&queue), ["c", "a", "b"]);
}

#[test]
fn no_delay_means_now_and_a_past_instant_too() {
    let (queue, timer) = queue();
    let start = timer.now();
    timer.advance(ms(10));
    assert!(matches!(queue.add_after("a", Duration::ZERO), Scheduled::Now(_)));
    assert!(matches!(queue.add_at("b", start), Scheduled::Now(_)));
    assert!(matches!(queue.add_at("c", timer.now()), Scheduled::Now(_)));
    assert_eq!(take(&queue), ["a", "b", "c"]);
}

#[test]
fn the_longest_delay_neither_panics_nor_ends() {
    let (queue, timer) = queue();
    assert_eq!(queue.add_after("a", Duration::MAX), Scheduled::Delayed);
    assert!(queue.deadline(&"a").is_some());
    for _ in 0..600 {
        timer.advance(Duration::from_secs(365 * 24 * 3600));
    }
    assert_eq!(take(&queue), [""; 0]);
    assert_eq!(queue.shutdown(), ["a"]);
}

#[test]
fn an_item_that_becomes_due_in_flight_runs_again() {
    let (queue, timer) = queue();
    queue.add("a");
    let guard = queue.try_get().unwrap();
    queue.add_after("a", ms(5));
    timer.advance(ms(5));
    assert_eq!(queue.counts().queued, 0);
    guard.done();
    assert_eq!(take(&queue), ["a"]);
}

#[test]
fn a_cancelled_item_does_not_come() {
    let (queue, timer) = queue();
    queue.add_after("a", ms(5));
    assert_eq!(queue.cancel(&"a"), Some("a"));
    assert_eq!(queue.cancel(&"a"), None);
    timer.advance(ms(10));
    assert_eq!(take(&queue), [""; 0]);
}
