//! Whom changes wake, in which order, and what is not missed.

use std::sync::Arc;

use futures::FutureExt;
use parking_lot::Mutex;

use super::{Signal, SignalError};

/// The order in which many tasks wake that followed one signal.
async fn order_of_waking(tasks: usize, wake: impl FnOnce(Signal<bool>)) -> Vec<usize> {
    let (signal, woken) = (Signal::new(false), Arc::new(Mutex::new(Vec::new())));
    let mut all = tokio::task::JoinSet::new();
    for task in 0..tasks {
        let (mut follower, woken) = (signal.follow(), Arc::clone(&woken));
        all.spawn(async move {
            let _ = follower.changed().await;
            woken.lock().push(task);
        });
    }
    // A turn each: the runtime looks at something else after some of them.
    for _ in 0..tasks {
        tokio::task::yield_now().await;
    }
    wake(signal);
    all.join_all().await;
    std::mem::take(&mut *woken.lock())
}

#[tokio::test]
async fn who_waited_first_is_woken_first_by_a_change_and_by_the_end() {
    let expected: Vec<_> = (0..200).collect();
    for _ in 0..20 {
        let kept = Mutex::new(None);
        let changed = order_of_waking(200, |signal| {
            signal.set(true);
            *kept.lock() = Some(signal);
        });
        assert_eq!(changed.await, expected);
        assert_eq!(order_of_waking(200, drop).await, expected);
    }
}

#[tokio::test]
async fn a_change_between_two_waits_is_not_missed() {
    let signal = Signal::new(0);
    let mut follower = signal.follow();
    assert!(!follower.has_changed() && follower.changed().now_or_never().is_none());
    signal.set(1);
    signal.set(2);
    assert!(follower.has_changed());
    assert_eq!(follower.changed().now_or_never(), Some(Ok(())));
    assert_eq!((follower.read(|value| *value), follower.changed().now_or_never()), (2, None));
}

#[tokio::test]
async fn what_is_said_to_be_no_change_wakes_nobody() {
    let signal = Signal::new(5);
    let mut follower = signal.follow();
    signal.change(|_| false);
    assert!(follower.changed().now_or_never().is_none());
}

#[tokio::test]
async fn a_wait_ends_with_the_value_that_it_is_for_or_with_the_signal() {
    let signal = Signal::new(1);
    let mut follower = signal.follow();
    assert_eq!(follower.until(|value| *value == 1).now_or_never(), Some(Ok(())));
    let mut waits = Box::pin(follower.until(|value| *value >= 3));
    assert!(waits.as_mut().now_or_never().is_none());
    signal.set(2);
    assert!(waits.as_mut().now_or_never().is_none());
    signal.set(3);
    assert_eq!(waits.await, Ok(()));
    drop(signal);
    assert_eq!(follower.until(|value| *value > 3).await, Err(SignalError));
    // As it was left.
    assert_eq!(follower.until(|value| *value == 3).now_or_never(), Some(Ok(())));
}
