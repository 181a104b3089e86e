//! Backoff: what others do with an item against its failures, and against its being parked and released.

use std::time::Duration;

use wq_contract::explore::{poll_once, thread};
use wq_ratelimit::{
    Added, Combine, DuringBackoff, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, Scheduled,
    Timer,
};

const SECOND: Duration = Duration::from_secs(1);

type Queue = RateLimitingQueue<u8, ExponentialBackoff<u8>>;

fn queue(policy: DuringBackoff, limit: u32) -> (Queue, ManualTimer) {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(SECOND, SECOND * 100).unwrap())
        .timer(timer.clone())
        .during_backoff(policy)
        .retry_limit(limit)
        .build();
    (queue.unwrap(), timer)
}

/// The item fails while a thread does something else.
fn fail_beside<R: 'static>(queue: &Queue, other: impl FnOnce(&Queue) -> R + 'static) -> R {
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let other = thread(queue, other);
    guard.finish(Outcome::Retry).unwrap();
    other.join().unwrap()
}

pub(crate) fn event_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    fail_beside(&queue, |queue| queue.add(1));
    assert_eq!((queue.len(), queue.num_requeues(&1)), (1, 1));
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND));
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!((queue.len(), queue.num_requeues(&1)), (0, 1), "before its time");
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND));
}

pub(crate) fn clear_against_finish() {
    let (queue, _timer) = queue(DuringBackoff::Clear, 9);
    fail_beside(&queue, |queue| queue.add(1));
    assert_eq!(queue.len(), 1, "the event is seen");
    // Either the event came first, and the failure counts, or it cleared all of it.
    let left = (queue.num_requeues(&1), queue.delayed_len());
    assert!([(1, 1), (0, 0), (0, 1)].contains(&left), "{left:?}");
}

pub(crate) fn clear_against_a_request() {
    let (queue, _timer) = queue(DuringBackoff::Clear, 9);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    let user = thread(&queue, |queue| queue.add_after(1, SECOND * 50));
    queue.add(1);
    assert!(user.join().unwrap().is_accepted());
    assert_eq!((queue.len(), queue.delayed_len()), (1, 1), "the event, and what a user has asked for");
}

pub(crate) fn defer_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Defer, 9);
    fail_beside(&queue, |queue| queue.add(1));
    assert_eq!((queue.num_requeues(&1), queue.delayed_len()), (1, 1));
    timer.advance(SECOND);
    assert_eq!(queue.len(), 1);
}

pub(crate) fn two_failures_at_once() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    let other = thread(&queue, |queue| queue.add_rate_limited(1));
    let mut answers = [queue.add_rate_limited(1), other.join().unwrap()];
    answers.sort_by_key(|answer| *answer != Scheduled::Delayed);
    assert_eq!(answers, [Scheduled::Delayed, Scheduled::Kept]);
    assert_eq!((queue.num_requeues(&1), queue.deadline(&1)), (1, Some(timer.now() + SECOND)));
}

pub(crate) fn event_against_parking() {
    let (queue, _timer) = queue(DuringBackoff::Keep, 0);
    fail_beside(&queue, |queue| queue.add(1));
    assert!(!queue.is_parked(&1) && queue.len() == 1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!((queue.parked(), queue.delayed_len()), (vec![1], 0));
}

pub(crate) fn release_against_event() {
    let (queue, _timer) = queue(DuringBackoff::Keep, 0);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert!(queue.is_parked(&1));
    let event = thread(&queue, |queue| queue.add(1));
    queue.release(&1);
    event.join().unwrap();
    assert!(queue.len() == 1 && queue.parked().is_empty());
}

pub(crate) fn forget_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    fail_beside(&queue, |queue| queue.forget(&1));
    // The retry waits all the same. Had the count and the back-off parted, this attempt would be taken for what it is not.
    let before = queue.num_requeues(&1);
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND));
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(queue.num_requeues(&1), 1, "{before} before");
}

/// The other has the item, and has not looked yet whether it was parked, when that is taken away from it and parked.
pub(crate) fn hand_out_against_abandon() {
    let (queue, _timer) = queue(DuringBackoff::Keep, 9);
    queue.add(2);
    queue.try_get().unwrap().finish(Outcome::Park).unwrap();
    queue.add(1);
    let other = thread(&queue, |queue| queue.try_get().is_ok_and(|guard| *guard.item() == 1));
    let mut is_parked = false;
    if queue.abandon(&1) {
        queue.add(1);
        let guard = queue.try_get().unwrap();
        guard.finish(Outcome::Park).unwrap();
        is_parked = true;
    }
    other.join().unwrap();
    assert_eq!(queue.is_parked(&1), is_parked);
}

pub(crate) fn finish_against_drain() {
    let (queue, _timer) = queue(DuringBackoff::Keep, 9);
    let was_over = fail_beside(&queue, |queue| poll_once(&mut queue.drained()).is_ready());
    assert!(!was_over, "the item was in hand, or delayed");
}

pub(crate) fn outcome_against_a_get_that_moves_the_retry() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    timer.advance(SECOND);
    let other = thread(&queue, |queue| assert!(queue.try_get().is_err(), "the item is in hand, or waits"));
    guard.finish(Outcome::RetryAfter(SECOND * 50)).unwrap();
    other.join().unwrap();
    assert_eq!((queue.len(), queue.deadline(&1)), (0, Some(timer.now() + SECOND * 50)));
}

/// An item that was parked is back, and its work ends, while somebody looks who is parked.
fn look_beside(outcome: Outcome) {
    let (queue, _timer) = queue(DuringBackoff::Keep, 9);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Park).unwrap();
    queue.add(1);
    let other = thread(&queue, move |queue| _ = queue.try_get().unwrap().finish(outcome));
    assert!(!queue.is_parked(&1), "it is queued, in hand or delayed");
    assert!(!queue.release(&1));
    other.join().unwrap();
    assert!(queue.parked().is_empty());
}

/// Work began early ends with this outcome while what waits of the item is put off to 50 s: a retry for 1 s, and with it a user's
/// request if there is one. After how long what it found would have been due.
fn postpone_beside(
    queue: &Queue,
    timer: &ManualTimer,
    request: Option<Duration>,
    outcome: Outcome,
) -> Option<Duration> {
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    if let Some(delay) = request {
        queue.add_after(1, delay);
    }
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let later = timer.now() + SECOND * 50;
    let other = thread(queue, move |queue| queue.postpone(&1, later));
    guard.finish(outcome).unwrap();
    other.join().unwrap().map(|before| before - timer.now())
}

pub(crate) fn postpone_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    let found = postpone_beside(&queue, &timer, None, Outcome::Retry);
    assert!(found.is_none_or(|found| found == SECOND), "{found:?}");
    // It does not wait while the one retry gives way to the other.
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND * if found.is_some() { 50 } else { 1 }));
}

pub(crate) fn postpone_of_a_request_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    let found = postpone_beside(&queue, &timer, Some(SECOND * 9), Outcome::Retry);
    assert_eq!(found, Some(SECOND), "it waits all the time");
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND * 50));
}

pub(crate) fn postpone_against_retry_after() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    let found = postpone_beside(&queue, &timer, None, Outcome::RetryAfter(SECOND * 10));
    let wait = queue.deadline(&1).unwrap() - timer.now();
    assert!([SECOND * 10, SECOND * 50].contains(&wait), "{wait:?} after {found:?}");
    // Its back-off ends with it: from then on failures count.
    timer.advance(wait);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(queue.num_requeues(&1), 2);
}

/// Of an item whose retry was canceled the next failure counts; of one that waits for it, none before its time.
fn next_failure(queue: &Queue, waits: bool) {
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(queue.num_requeues(&1), if waits { 1 } else { 2 });
}

pub(crate) fn cancel_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    let canceled = fail_beside(&queue, |queue| queue.cancel(&1));
    // Before the failure there is nothing to cancel.
    let waits = canceled.is_none();
    assert_eq!((queue.deadline(&1), queue.len()), (waits.then(|| timer.now() + SECOND), 0));
    next_failure(&queue, waits);
}

/// The retry of before is canceled while work that began early ends with another: that waits, or was what was canceled.
pub(crate) fn cancel_of_a_retry_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let other = thread(&queue, |queue| queue.cancel(&1).is_some());
    guard.finish(Outcome::RetryWith { delay: SECOND * 9, combine: Combine::Override }).unwrap();
    let canceled = other.join().unwrap();
    let waits = queue.deadline(&1).map(|at| at - timer.now());
    // Taken before it failed, the attempt counts, and backs off anew.
    let counted = queue.num_requeues(&1) == 2;
    assert!(waits == Some(SECOND * 9) || (canceled && waits.is_none()), "{waits:?} of {canceled}");
    assert!(!counted || (canceled && waits.is_some()));
    // What waits backs off: before the end of that nothing counts, for as long as failures were not to.
    let before = queue.num_requeues(&1);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(queue.num_requeues(&1), before + u32::from(waits.is_none()), "{waits:?} of {canceled}");
}

pub(crate) fn guard_cancel_against_event() {
    let (queue, _timer) = queue(DuringBackoff::Defer, 9);
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add(1);
    guard.finish(Outcome::Retry).unwrap();
    let guard = queue.try_get().unwrap();
    let event = thread(&queue, |queue| queue.add(1));
    guard.cancel();
    guard.finish(Outcome::Success).unwrap();
    assert!(event.join().unwrap().is_accepted());
    assert_eq!((queue.len(), queue.delayed_len()), (1, 0), "the event is seen");
}

pub(crate) fn cancel_against_add_rate_limited() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    let other = thread(&queue, |queue| queue.cancel(&1));
    assert_eq!(queue.add_rate_limited(1), Scheduled::Delayed);
    let waits = other.join().unwrap().is_none();
    assert_eq!((queue.deadline(&1), queue.len()), (waits.then(|| timer.now() + SECOND), 0));
    next_failure(&queue, waits);
}

pub(crate) fn remove_against_add_rate_limited() {
    let (queue, timer) = queue(DuringBackoff::Keep, 9);
    queue.add(1);
    let other = thread(&queue, |queue| queue.remove(&1));
    let added = queue.add_rate_limited(1);
    assert_eq!(other.join().unwrap(), Some(1), "it is queued all the time");
    // It joined what was taken out, or came after that.
    let left = (added, queue.len(), queue.deadline(&1));
    let later = timer.now() + SECOND;
    assert!(
        [
            (Scheduled::Now(Added::Merged), 0, None),
            (Scheduled::Now(Added::Queued), 1, None),
            (Scheduled::Delayed, 0, Some(later)),
        ]
        .contains(&left),
        "{left:?}"
    );
}

pub(crate) fn shutdown_against_finish() {
    let (queue, _timer) = queue(DuringBackoff::Keep, 9);
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let other = thread(&queue, |queue| queue.shutdown());
    let scheduled = guard.finish(Outcome::Retry);
    let handed_back = other.join().unwrap();
    match scheduled {
        Ok(scheduled) => assert_eq!((scheduled, handed_back), (Some(Scheduled::Delayed), vec![1])),
        Err(refused) => assert_eq!((refused.into_item(), handed_back.len()), (1, 0)),
    }
    assert!(poll_once(&mut queue.drained()).is_ready());
}

pub(crate) fn shutdown_against_release() {
    let (queue, _timer) = queue(DuringBackoff::Keep, 0);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    let other = thread(&queue, |queue| queue.shutdown());
    let is_released = queue.release(&1);
    assert!(other.join().unwrap().is_empty(), "nothing was delayed");
    assert_eq!((queue.len(), queue.is_parked(&1)), (usize::from(is_released), !is_released));
}

pub(crate) fn look_against_success() {
    look_beside(Outcome::Success);
}

pub(crate) fn look_against_retry() {
    look_beside(Outcome::RetryAfter(SECOND));
}
