//! Tests of the watchdog's view of terms, under paused time; `tests/it/watchdog.rs` has its thread.

use std::sync::Mutex;

use jiff::Timestamp;

use super::timer::Timer;
use super::*;
use crate::clock::{Sleep, TokioClock};
use crate::elector::LeaderElector;
use crate::memory_store::{Fault, MemoryLeaseStore, Verb};
use crate::shared::Outcome;

/// Tokio's clock in place of the boot clock.
#[derive(Clone, Copy, Debug)]
struct AsBoot(TokioClock);

impl Clock for AsBoot {
    fn now(&self) -> Moment {
        self.0.now()
    }
    fn wall(&self) -> Timestamp {
        self.0.wall()
    }
    fn sleep_until(&self, deadline: Moment) -> Sleep {
        self.0.sleep_until(deadline)
    }
    fn boot_moment(&self, moment: Moment) -> Moment {
        moment
    }
}

/// A timer that remembers its setting.
#[derive(Clone, Debug, Default)]
struct Standing(Arc<Mutex<Option<Moment>>>);

impl Timer for Standing {
    fn set(&self, at: Option<Moment>) {
        *self.0.lock().unwrap() = at;
    }
    fn wait(&self) {
        unreachable!("no thread waits for it")
    }
}

struct Scene {
    clock: AsBoot,
    elector: LeaderElector,
    watch: Arc<Watch>,
    timer: Standing,
    cut: tokio::sync::watch::Sender<bool>,
}

impl Scene {
    fn new() -> Self {
        let clock = AsBoot(TokioClock::new());
        let (cut, is_cut) = tokio::sync::watch::channel(false);
        let store = MemoryLeaseStore::new().with_faults(move |_, _: Verb| {
            if *is_cut.borrow() { Fault::Lost } else { Fault::default() }
        });
        let config = Config::builder("ns", "lease").identity("a").build().unwrap();
        let elector = LeaderElector::with_clock(store.client("a"), config, clock, 1);
        let timer = Standing::default();
        let shared = Shared::new(Box::new(timer.clone()));
        let grace = Duration::from_secs(1);
        let watch = Arc::new(Watch { shared: Arc::new(shared), clock: Arc::new(clock), grace });
        elector.shared().term_watch.set(watch.clone()).unwrap();
        Self { clock, elector, watch, timer, cut }
    }

    /// The thread's action now.
    fn due(&self) -> Due {
        self.watch.shared.due(self.clock.now())
    }

    fn is_quiet(&self) -> bool {
        self.due() == Due::Wait(None) && self.timer.0.lock().unwrap().is_none()
    }

    /// Runs work that ignores the end of its term.
    fn run_stubborn(&self) -> tokio::task::JoinHandle<Outcome<()>> {
        let elector = self.elector.clone();
        tokio::spawn(async move { elector.run(|_| std::future::pending::<()>()).await })
    }
}

async fn seconds(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn each_renewal_sets_it_anew_and_the_end_of_the_work_turns_it_off() {
    let scene = Scene::new();
    assert!(scene.is_quiet());
    let run = scene.run_stubborn();
    for _ in 0..100 {
        seconds(1.0).await;
        let Due::Wait(Some(deadline)) = scene.due() else { panic!("{:?}", scene.due()) };
        assert!(deadline > scene.clock.now());
        assert_eq!(*scene.timer.0.lock().unwrap(), Some(deadline));
    }
    // The deadline is the end of the hold and the grace.
    let Due::Wait(Some(deadline)) = scene.due() else { unreachable!() };
    let remaining = scene.elector.shared().term().unwrap().remaining();
    assert_eq!(deadline, scene.clock.now().after(remaining).after(Duration::from_secs(1)));
    // Cut off, the work is late before the elector drops it.
    scene.cut.send_replace(true);
    seconds(remaining.as_secs_f64() + 0.9).await;
    assert_eq!(scene.due(), Due::Wait(Some(deadline)));
    seconds(0.2).await;
    assert!(matches!(scene.due(), Due::Fire { late, .. } if late < Duration::from_millis(200)));
    assert!(matches!(scene.due(), Due::Wait(None)), "once");
    assert_eq!(run.await.unwrap(), Outcome::Aborted);
    assert!(scene.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_in_time_after_a_loss_is_not_overdue() {
    let scene = Scene::new();
    let elector = scene.elector.clone();
    let run = tokio::spawn(async move {
        let lost = |leadership: crate::leadership::Leadership| async move {
            leadership.lost().await;
            seconds(0.9).await;
        };
        elector.run(lost).await
    });
    seconds(5.0).await;
    scene.cut.send_replace(true);
    while !run.is_finished() {
        assert!(matches!(scene.due(), Due::Wait(_)));
        seconds(0.05).await;
    }
    assert_eq!(run.await.unwrap(), Outcome::Lost(()));
    assert!(scene.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_overran_is_overdue_a_grace_later_and_so_is_work_after_definitive_news() {
    // A blocked runtime would not drop the work. This one would, so the thread's view is read
    // before.
    for news in [true, false] {
        let scene = Scene::new();
        let run = scene.run_stubborn();
        seconds(1.0).await;
        let term = scene.elector.shared().term().unwrap();
        let hold_ends = scene.clock.now().after(term.remaining());
        if news {
            term.end(crate::loss::Loss::Deleted);
            seconds(0.1).await;
            let Due::Wait(Some(deadline)) = scene.due() else { panic!("{:?}", scene.due()) };
            assert!(deadline < hold_ends);
            seconds(1.0).await;
            assert!(matches!(scene.due(), Due::Fire { .. }));
        } else {
            scene.elector.stop_handle().stop();
            seconds(29.0).await;
            assert!(matches!(scene.due(), Due::Wait(Some(_))), "renewals go on");
        }
        assert_eq!(run.await.unwrap(), Outcome::Aborted);
        assert!(scene.is_quiet());
    }
}

#[test]
fn the_grace_is_half_the_stop_margin_and_at_most_all_of_it() {
    let config = Config::builder("ns", "lease").build().unwrap();
    assert_eq!(grace(None, &config), Ok(Duration::from_secs(1)));
    assert_eq!(grace(Some(Duration::from_secs(2)), &config), Ok(Duration::from_secs(2)));
    let error = grace(Some(Duration::from_millis(2001)), &config).unwrap_err();
    assert_eq!(error.field, "grace");
    assert!(
        error.to_string().contains("2.001s") && error.to_string().contains("stop_margin 2s"),
        "{error}"
    );
}

proptest::proptest! {
    /// In whole numbers, for each configuration: on the slowest clock it acts before the lease ends
    /// on the fastest.
    #[test]
    fn it_never_acts_later_than_the_lease_ends(
        lease in 1_u64..=600,
        renew in 10_u64..60_000,
        request in 10_u64..60_000,
        margin in 10_u64..600_000,
        ppm in 0_u32..=100_000,
        part in 0_u32..=100,
    ) {
        let ms = Duration::from_millis;
        let times = Config::builder("ns", "lease").lease_duration(Duration::from_secs(lease)).clock_drift_ppm(ppm).takeover_jitter(Duration::ZERO);
        // Spread below the lease's limits, or hardly any configuration would be valid.
        let below = |value: u64, most: u64| ms(10 + value % (lease * 1000 / most).max(1));
        let config = times.retry_period(below(renew, 4)).request_timeout(below(request, 4)).stop_margin(below(margin, 1)).build();
        if let Ok(config) = config {
            let stop_margin = config.stop_margin();
            for asked in [None, Some(stop_margin), Some(stop_margin * part / 100)] {
                let acts = config.hold() + grace(asked, &config).unwrap();
                let (slow, fast) = (1_000_000 - u128::from(ppm), 1_000_000 + u128::from(ppm));
                proptest::prop_assert!(acts.as_nanos() * fast <= config.lease_duration().as_nanos() * slow);
            }
        }
    }
}
