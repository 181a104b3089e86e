//! Suspend: a machine sleeps: the election's clock jumps, timers lag, and tasks run in any order.

use std::future::poll_fn;
use std::mem::replace;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use jiff::Timestamp;
use lease_election::{
    Clock, Ending, LeaderElector, Leadership, Loss, Lost, MemoryLeaseStore, Moment, Outcome, Sleep,
    TokioClock,
};
use tokio::time::Instant;

use crate::cluster::{fast, sleep_ms};

/// A clock that counts suspend, over timers that do not: they look at it every 500 ms, as the boot
/// clock's do.
#[derive(Clone, Debug)]
pub(crate) struct Suspending {
    awake: TokioClock,
    asleep_ms: Arc<AtomicU64>,
}

impl Suspending {
    pub(crate) fn new() -> Self {
        Self { awake: TokioClock::new(), asleep_ms: Arc::default() }
    }

    pub(crate) fn suspend(&self, time: Duration) {
        self.asleep_ms.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Suspending {
    fn now(&self) -> Moment {
        self.awake.now().after(Duration::from_millis(self.asleep_ms.load(Ordering::SeqCst)))
    }
    fn wall(&self) -> Timestamp {
        self.awake.wall()
    }
    fn sleep_until(&self, deadline: Moment) -> Sleep {
        let clock = self.clone();
        Box::pin(async move {
            while clock.now() < deadline {
                let left = deadline.since(clock.now());
                tokio::time::sleep(left.min(Duration::from_millis(500))).await;
            }
        })
    }
}

fn elector(clock: &Suspending) -> LeaderElector {
    LeaderElector::with_clock(MemoryLeaseStore::new(), fast("a").build().unwrap(), clock.clone(), 1)
}

#[tokio::test(start_paused = true)]
async fn guarded_work_takes_no_step_after_a_suspend_that_outlasted_the_hold() {
    let clock = Suspending::new();
    let (elector, steps) = (elector(&clock), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&steps);
    let outcome = elector
        .run(move |leadership| async move {
            let asking = leadership.clone();
            leadership
                .guard(async move {
                    for step in 0..30 {
                        if step == 20 {
                            clock.suspend(Duration::from_secs(60));
                        }
                        sleep_ms(1).await;
                        log.lock().unwrap().push(asking.is_valid());
                    }
                })
                .await
        })
        .await;
    assert_eq!(outcome, Outcome::Lost(Err(Lost(Loss::Expired))));
    assert_eq!(*steps.lock().unwrap(), [true; 20], "the 21st came after the suspend");
}

/// The suspending task runs in turn with the elector: after the step that began a term, and before
/// the first step of its work.
#[tokio::test(start_paused = true)]
async fn work_whose_term_ended_before_its_first_step_is_never_begun() {
    for forever in [false, true] {
        let clock = Suspending::new();
        let elector = elector(&clock);
        let begun = Arc::new(AtomicU64::new(0));
        let (running, count) = (elector.clone(), Arc::clone(&begun));
        let run = tokio::spawn(async move {
            let begin = move |leadership: Leadership| {
                assert!(leadership.is_valid(), "work is begun in a term");
                count.fetch_add(1, Ordering::SeqCst);
                async move { leadership.lost().await }
            };
            if forever {
                running
                    .run_forever(move |leadership| {
                        let lost = begin(leadership);
                        async move { drop(lost.await) }
                    })
                    .await;
            } else {
                let outcome = running.run(begin).await;
                assert_eq!(outcome, Outcome::Aborted);
            }
        });
        let suspends = tokio::spawn(async move {
            while !elector.is_leader() {
                let mut has_yielded = false;
                // Yields to the end of the queue at once; tokio's own yield lets all other tasks go
                // first.
                poll_fn(|context| {
                    if replace(&mut has_yielded, true) {
                        return Poll::Ready(());
                    }
                    context.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
            }
            clock.suspend(Duration::from_secs(60));
        });
        suspends.await.unwrap();
        sleep_ms(1500).await;
        // `run_forever` is in its next term, a stop margin later.
        assert_eq!(begun.load(Ordering::SeqCst), u64::from(forever));
        run.abort();
        assert!(!run.await.is_err_and(|error| error.is_panic()));
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_suspend_the_stop_margin_is_not_granted_once_more() {
    let clock = Suspending::new();
    let elector = elector(&clock);
    let (working, running) = (Arc::new(AtomicBool::new(false)), elector.clone());
    let at_work = Arc::clone(&working);
    let run = tokio::spawn(async move {
        running
            .run(move |_| async move {
                at_work.store(true, Ordering::SeqCst);
                std::future::pending::<Ending>().await
            })
            .await
    });
    sleep_ms(100).await;
    assert!(working.load(Ordering::SeqCst));
    clock.suspend(Duration::from_secs(60));
    let resumed = Instant::now();
    assert_eq!(run.await.unwrap(), Outcome::Aborted);
    assert!(resumed.elapsed() <= Duration::from_millis(500), "the timers' next look at the clock");
}
