//! Lagging halves: with late events of one store, the watch reports no state that never was, and a
//! leader recognizes its own writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt;
use lease_election::{
    ConfigBuilder, Fault, LeaseEvent, LeaseStore, MemoryLeaseStore, MultiStore, Record, StoreError,
    Verb,
};
use tokio::time::Instant;

use crate::cluster::{Replica, fast, sleep_ms};
use crate::migration::{Knows, Stores, leads, led_by};

const MS: Duration = Duration::from_millis(1);

fn eager(identity: &str) -> ConfigBuilder {
    fast(identity).takeover_jitter(Duration::ZERO)
}

/// The first step of a migration ends: the candidate of the old half alone stops, and the new half
/// is created. Its events arrive a little later than those of the old half.
#[tokio::test(start_paused = true)]
async fn events_of_one_half_that_lag_do_not_make_a_half_that_was_made_one_that_went() {
    for (way, lag) in [
        (1, 0),
        (1, 2),
        (1, 5),
        (1, 10),
        (1, 20),
        (1, 100),
        (0, 1),
        (0, 5),
        (5, 20),
        (5, 50),
        (5, 100),
    ] {
        let mut stores = Stores::new();
        let slow = move |_: &str, verb| match verb {
            Verb::Event => Fault::None,
            _ => Fault::Slow { before: way * MS, after: way * MS },
        };
        stores.old = stores.old.with_faults(slow);
        stores.new = stores.new.with_faults(move |who, verb| match verb {
            Verb::Event => Fault::Late(lag * MS),
            _ => slow(who, verb),
        });
        stores.old.overwrite(Record::default());
        let old = Replica::start(stores.elector_of(Knows::Old, eager("old"), 1), Duration::ZERO);
        old.leads().await;
        let a = Replica::start(stores.elector_of(Knows::Both, eager("a"), 2), Duration::ZERO);
        sleep_ms(10_000).await;
        let asked = Instant::now();
        old.elector.stop_handle().stop();
        let took = a.leads().await - asked;
        assert!(took <= (12 * way + 2 * lag + 100) * MS, "{way} ms, {lag} ms: {took:?}");
    }
}

/// The second half of one renewal is late, and the watch of one half lags or is silent. With one
/// store neither costs a term.
#[tokio::test(start_paused = true)]
async fn a_late_half_of_a_renewal_and_a_watch_that_lags_cost_no_term() {
    for befalls in
        [Fault::Late(1200 * MS), Fault::AnswerLost, Fault::AppliedBut(StoreError::unknown("500"))]
    {
        for lag in [Fault::None, Fault::Late(300 * MS), Fault::Late(1500 * MS), Fault::Lost] {
            for half in [0, 1] {
                let mut stores = Stores::new();
                let armed = Arc::new(AtomicBool::new(false));
                let of = |is_lagging: bool, is_hit: bool| {
                    let (once, lag, befalls) = (Arc::clone(&armed), lag.clone(), befalls.clone());
                    move |who: &str, verb: Verb| match verb {
                        Verb::Event if who == "a" && is_lagging => lag.clone(),
                        Verb::Update
                            if who == "a" && is_hit && once.swap(false, Ordering::SeqCst) =>
                        {
                            befalls.clone()
                        }
                        Verb::Event => Fault::None,
                        _ => Fault::Slow { before: MS, after: MS },
                    }
                };
                // The second half is hit; that one or the other lags.
                stores.old = stores.old.with_faults(of(half == 0, false));
                stores.new = stores.new.with_faults(of(half == 1, true));
                stores.old.overwrite(Record::default());
                stores.new.overwrite(Record::default());
                let a =
                    Replica::start(stores.elector_of(Knows::Both, eager("a"), 1), Duration::ZERO);
                a.leads().await;
                let b =
                    Replica::start(stores.elector_of(Knows::Both, eager("b"), 2), Duration::ZERO);
                sleep_ms(10_500).await;
                assert!(leads(&a));
                armed.store(true, Ordering::SeqCst);
                sleep_ms(5_000).await;
                assert!(leads(&a) && !leads(&b), "{befalls:?}, half {half} lags {lag:?}");
                assert_eq!(a.elector.stats().terms, 1);
            }
        }
    }
}

/// Both halves are released during a read, which sees only the primary one's release. The secondary
/// half's event arrives before the read's answer, the primary half's after it.
#[tokio::test(start_paused = true)]
async fn what_a_read_told_beside_an_older_half_is_told_again_beside_the_newer_one() {
    let (old, new) = (MemoryLeaseStore::new(), MemoryLeaseStore::new());
    old.overwrite(led_by("x"));
    new.overwrite(led_by("x"));
    let lagging = old.with_faults(|_, verb| match verb {
        Verb::Event => Fault::Late(300 * MS),
        _ => Fault::None,
    });
    let far = new.with_faults(|_, verb| match verb {
        Verb::Get => Fault::Slow { before: 20 * MS, after: 20 * MS },
        _ => Fault::None,
    });
    let config = eager("b").build().unwrap();
    let both = Arc::new(MultiStore::new(lagging.client("b"), far.client("b"), &config));
    let mut events = both.watch(None).await.unwrap();
    assert!(
        matches!(events.next().await, Some(Ok(LeaseEvent::Changed(lease))) if lease.record.holder == "x")
    );
    let reader = Arc::clone(&both);
    let read = tokio::spawn(async move { reader.get().await });
    // The read asks the secondary half at 20 ms, the primary one at 40, and the secondary one again
    // at 60. The answer comes at 80.
    sleep_ms(30).await;
    old.overwrite(Record::default());
    sleep_ms(40).await;
    new.overwrite(Record::default());
    let mut last = None;
    while let Ok(Some(Ok(LeaseEvent::Changed(lease)))) =
        tokio::time::timeout(1000 * MS, events.next()).await
    {
        last = Some(lease.record);
    }
    assert!(!read.await.unwrap().unwrap().unwrap().record.is_free());
    assert_eq!(last, Some(Record::default()));
}

/// Another caller's read of the same store is not the elector's.
#[tokio::test(start_paused = true)]
async fn what_somebody_read_is_still_told_by_the_watch() {
    let (old, new) = (MemoryLeaseStore::new(), MemoryLeaseStore::new());
    old.overwrite(led_by("x"));
    new.overwrite(led_by("x"));
    let lags = |_: &str, verb| if verb == Verb::Event { Fault::Late(50 * MS) } else { Fault::None };
    let both =
        MultiStore::new(old.with_faults(lags), new.with_faults(lags), &eager("b").build().unwrap());
    let mut events = both.watch(None).await.unwrap();
    events.next().await;
    old.overwrite(led_by("y"));
    new.overwrite(led_by("y"));
    assert_eq!(both.get().await.unwrap().unwrap().record.holder, "y");
    let mut told = Vec::new();
    while let Ok(Some(Ok(event))) = tokio::time::timeout(1000 * MS, events.next()).await {
        if let LeaseEvent::Changed(lease) = event {
            told.push(lease.record.holder);
        }
    }
    assert_eq!(told.last().map(String::as_str), Some("y"));
}

/// Writes are applied and answered with 500, and events are a little late. The work asks the server
/// all the time.
#[tokio::test(start_paused = true)]
async fn work_that_asks_the_server_costs_no_term() {
    let mut stores = Stores::new();
    let on = Arc::new(AtomicBool::new(false));
    let faults = {
        let on = Arc::clone(&on);
        move |_: &str, verb| match verb {
            Verb::Update if on.load(Ordering::SeqCst) => {
                Fault::AppliedBut(StoreError::unknown("500"))
            }
            Verb::Event => Fault::Late(5 * MS),
            _ => Fault::Slow { before: MS, after: MS },
        }
    };
    stores.old = stores.old.with_faults(faults.clone());
    stores.new = stores.new.with_faults(faults);
    stores.old.overwrite(Record::default());
    stores.new.overwrite(Record::default());
    let a = Replica::start(stores.elector_of(Knows::Both, eager("a"), 1), Duration::ZERO);
    a.leads().await;
    let leadership = a.last().leadership;
    tokio::spawn(async move {
        while leadership.verify_remote().await.is_ok() {
            sleep_ms(20).await;
        }
    });
    sleep_ms(3000).await;
    on.store(true, Ordering::SeqCst);
    sleep_ms(30_000).await;
    assert!(leads(&a), "{:?}", a.elector.stats().losses);
}
