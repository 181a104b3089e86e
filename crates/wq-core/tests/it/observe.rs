//! Observe: the notifications of an observer, and ages in snapshots.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wq_core::{Added, Observer, WorkQueue};

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn note(&self, event: impl Into<String>) {
        self.0.lock().unwrap().push(event.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Log {
    fn added(&self, added: Added) {
        self.note(format!("added {added:?}"));
    }

    fn refused(&self) {
        self.note("refused");
    }

    fn got(&self, _waited: Duration) {
        self.note("got");
    }

    fn done(&self, _worked: Duration) {
        self.note("done");
    }

    fn requeued(&self) {
        self.note("requeued");
    }

    fn removed(&self) {
        self.note("removed");
    }
}

fn observed() -> (Arc<Log>, WorkQueue<u32>) {
    let log = Arc::new(Log::default());
    let queue = WorkQueue::builder().observer(Arc::clone(&log)).capacity(2).build().unwrap();
    (log, queue)
}

#[test]
fn each_event_is_told_once() {
    let (log, queue) = observed();
    queue.add(1);
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add(1);
    guard.done();
    assert_eq!(
        log.take(),
        ["added Queued", "added Merged", "got", "added Deferred", "done", "requeued"]
    );
    queue.add_all([1, 2]);
    let _ = queue.try_add(3);
    queue.remove(&2);
    assert_eq!(log.take(), ["added Merged", "added Queued", "refused", "removed"]);
    let guard = queue.try_get().unwrap();
    std::mem::forget(guard);
    queue.abandon(&1);
    queue.abandon(&1);
    assert_eq!(log.take(), ["got", "done"]);
    let mut adds = queue.defer_wakes();
    adds.add(5, ());
    assert_eq!(log.take(), [""; 0]);
    drop(adds);
    let guard = queue.try_get().unwrap();
    queue.add(6);
    guard.done_and_get().unwrap().done();
    assert_eq!(log.take(), ["added Queued", "got", "added Queued", "done", "got", "done"]);
    queue.add(7);
    drop(queue.shutdown_now());
    queue.add(8);
    assert_eq!(log.take(), ["added Queued", "removed", "added ShutDown"]);
}

#[test]
fn a_snapshot_of_an_observed_queue_knows_ages() {
    let (_log, queue) = observed();
    queue.add_all([1, 2]);
    let guard = queue.try_get().unwrap();
    queue.add(1);
    let mut snapshot = queue.snapshot();
    snapshot.items.sort_by_key(|seen| seen.item);
    let [one, two] = &snapshot.items[..] else { panic!("two items") };
    assert!(one.processing.is_some() && one.waiting.is_some());
    assert!(two.processing.is_none() && two.waiting.is_some());
    assert_eq!(snapshot.longest(), one.processing);
    assert_eq!(snapshot.unfinished(), one.processing);
    guard.done();
    queue.remove(&1);
    queue.remove(&2);
    let empty = queue.snapshot();
    assert_eq!((empty.longest(), empty.unfinished()), (Some(Duration::ZERO), Some(Duration::ZERO)));
}

#[test]
fn an_observer_that_wants_no_times_is_told_all_the_same_and_nothing_knows_ages() {
    struct Untimed(Arc<Log>);

    impl Observer for Untimed {
        fn is_timed(&self) -> bool {
            false
        }

        fn got(&self, waited: Duration) {
            self.0.note(format!("got {waited:?}"));
        }

        fn done(&self, worked: Duration) {
            self.0.note(format!("done {worked:?}"));
        }
    }

    let log = Arc::new(Log::default());
    let queue = WorkQueue::builder().observer(Untimed(Arc::clone(&log))).build().unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let snapshot = queue.snapshot();
    assert_eq!((snapshot.items[0].waiting, snapshot.items[0].processing), (None, None));
    assert_eq!(
        (queue.reader().gauges().unwrap().unfinished, queue.reader().gauges().unwrap().longest),
        (None, None)
    );
    guard.done();
    assert_eq!(log.take(), ["got 0ns", "done 0ns"]);
}

/// `Eq` of 3 panics, and `Hash` of 4. All other items have one hash.
#[derive(Debug, Clone)]
struct Fussy(u32);

impl std::hash::Hash for Fussy {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if self.0 == 4 {
            std::panic::resume_unwind(Box::new("of the item"));
        }
        0_u8.hash(state);
    }
}

impl PartialEq for Fussy {
    fn eq(&self, other: &Self) -> bool {
        if self.0 == 3 || other.0 == 3 {
            std::panic::resume_unwind(Box::new("of the item"));
        }
        self.0 == other.0
    }
}

impl Eq for Fussy {}

#[test]
fn of_a_batch_that_panics_in_its_midst_what_was_added_is_told() {
    let log = Arc::new(Log::default());
    let queue = WorkQueue::builder().observer(Arc::clone(&log)).build().unwrap();
    let add_all = |items: [u32; 4]| {
        let items = items.map(Fussy);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| queue.add_all(items)))
    };
    assert!(add_all([1, 2, 1, 3]).is_err());
    assert_eq!(queue.counts().queued, 2);
    assert_eq!(log.take(), ["added Queued", "added Queued", "added Merged"]);
    assert!(add_all([5, 6, 7, 4]).is_err(), "`Hash` panics");
    assert_eq!(queue.counts().queued, 2);
    assert!(log.take().is_empty(), "nothing was added");
    assert!(add_all([5, 6, 5, 6]).is_ok());
    assert_eq!(log.take(), ["added Queued", "added Queued", "added Merged", "added Merged"]);
}
