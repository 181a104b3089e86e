//! One clock: all durations of a queue come from its timer. Without an observer, only the search
//! for due items reads it.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wq_delay::{DelayingQueue, ImmediateAdd, ManualTimer, Observer, Timer};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Durations(Mutex<Vec<(&'static str, Duration)>>);

impl Observer for Durations {
    fn got(&self, waited: Duration) {
        self.0.lock().unwrap().push(("got", waited));
    }

    fn done(&self, worked: Duration) {
        self.0.lock().unwrap().push(("done", worked));
    }

    fn due(&self, late: Duration) {
        self.0.lock().unwrap().push(("due", late));
    }
}

#[test]
fn durations_gauges_and_ages_are_by_the_timer() {
    for policy in [ImmediateAdd::Keep, ImmediateAdd::Merge, ImmediateAdd::Defer] {
        let (timer, told) = (ManualTimer::new(), Arc::new(Durations::default()));
        let builder = DelayingQueue::builder().timer(timer.clone()).observer(Arc::clone(&told));
        let queue = builder.immediate_add(policy).build().unwrap();
        queue.add("now");
        queue.add_after("later", SECOND * 5);
        timer.advance(SECOND * 3);
        let now = queue.try_get().unwrap();
        timer.advance(SECOND * 4);
        let later = queue.try_get().unwrap();
        timer.advance(SECOND * 10);
        let gauges = queue.reader().gauges().unwrap();
        assert_eq!(gauges.unfinished, Some(SECOND * 24), "14 s and 10 s");
        assert_eq!(gauges.longest, Some(SECOND * 14));
        let ages: Vec<_> = queue.snapshot().items.iter().map(|seen| seen.processing).collect();
        assert!(ages.contains(&Some(SECOND * 14)), "{ages:?}");
        now.done();
        later.done();
        let told = std::mem::take(&mut *told.0.lock().unwrap());
        let expected = [
            ("got", SECOND * 3),
            ("due", SECOND * 2),
            ("got", Duration::ZERO),
            ("done", SECOND * 14),
            ("done", SECOND * 10),
        ];
        assert_eq!(told, expected, "{policy:?}");
    }
}

#[derive(Debug, Clone)]
struct Read {
    timer: ManualTimer,
    reads: Arc<AtomicUsize>,
}

impl Timer for Read {
    fn now(&self) -> Instant {
        self.reads.fetch_add(1, Relaxed);
        self.timer.now()
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.timer.sleep_until(deadline)
    }

    fn park_until(&self, deadline: Option<Instant>) {
        self.timer.park_until(deadline);
    }
}

#[test]
fn without_an_observer_the_timer_is_read_for_delays_alone() {
    let reads = Arc::new(AtomicUsize::new(0));
    let timer = Read { timer: ManualTimer::new(), reads: Arc::clone(&reads) };
    let queue = DelayingQueue::builder().timer(timer).build().unwrap();
    let begin = reads.load(Relaxed);
    queue.add(1);
    queue.add_all([2, 3]);
    queue.try_get().unwrap().done();
    queue.get_blocking().unwrap().done();
    assert_eq!((queue.counts().queued, queue.reader().gauges().unwrap().unfinished), (1, None));
    assert_eq!(reads.load(Relaxed), begin);
}
