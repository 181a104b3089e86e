//! Late: acquisitions that arrive too late for a term, again and again, and restart the others'
//! wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{Config, ConfigBuilder, Fault, LeaderElector, Record, StoreError, Verb};
use tokio::time::Instant;

use crate::cluster::{LEASE, Replica, fast, sleep_ms};
use crate::migration::{Knows, Stores, leads};

const MS: Duration = Duration::from_millis(1);

/// Each write of `a` is applied long after it was sent, and is not answered. `b` is well.
#[tokio::test(start_paused = true)]
async fn one_whose_writes_come_too_late_to_lead_keeps_nobody_out() {
    for (knows, late) in [
        (Knows::Old, 4500),
        (Knows::Both, 2500),
        // These are in time for a term, which `a` cannot renew.
        (Knows::Old, 1900),
        (Knows::Old, 3900),
        (Knows::Both, 1500),
    ] {
        let mut stores = Stores::new();
        let faults = move |who: &str, verb| match verb {
            Verb::Update if who == "a" => Fault::Late(late * MS),
            _ => Fault::None,
        };
        (stores.old, stores.new) = (stores.old.with_faults(faults), stores.new.with_faults(faults));
        stores.old.overwrite(Record::default());
        stores.new.overwrite(Record::default());
        let a = stores.elector_of(knows, fast("a"), 1);
        let runs = tokio::spawn(async move {
            a.run_forever(|leadership| async move { drop(leadership.ending().await) }).await
        });
        sleep_ms(4600).await;
        let b = Replica::start(stores.elector_of(knows, fast("b"), 2), Duration::ZERO);
        let began = Instant::now();
        while !leads(&b) {
            assert!(began.elapsed() < 5 * LEASE, "{knows:?}, {late} ms: nobody leads");
            sleep_ms(10).await;
        }
        // It also keeps the lease.
        sleep_ms(60_000).await;
        assert!(leads(&b), "{knows:?}, {late} ms: {:?}", b.elector.stats().losses);
        runs.abort();
        b.run.abort();
    }
}

/// The leader's own work fills its link. Its writes are applied too late for its renewals, but
/// before the others have waited. Its acquisitions are in time. The others have the last rank, or
/// may not watch.
#[tokio::test(start_paused = true)]
async fn one_whose_renewals_land_when_its_term_is_over_keeps_nobody_out() {
    let named = |who: &str| Config::builder("ns", "lease").identity(who);
    let presets: [fn(ConfigBuilder) -> ConfigBuilder; 2] =
        [ConfigBuilder::client_go_compatible, ConfigBuilder::fast];
    for (preset, rank, polls, percent) in presets.into_iter().flat_map(|preset| {
        let ways = [(None, false), (Some(7), false), (None, true), (Some(5), true)];
        let lates = [60, 70, 80, 85, 90, 107];
        ways.into_iter()
            .flat_map(move |(rank, polls)| lates.map(|late| (preset, rank, polls, late)))
    }) {
        let lease = preset(named("a")).build().unwrap().lease_duration();
        let case = format!("{lease:?}, rank {rank:?}, polls {polls}, {percent} % late");
        let mut stores = Stores::new();
        let leads_a = Arc::new(Mutex::new(None::<LeaderElector>));
        let leads_too = Arc::clone(&leads_a);
        stores.old = stores.old.with_faults(move |who, verb| {
            let leads = || leads_too.lock().unwrap().as_ref().is_some_and(LeaderElector::is_leader);
            match verb {
                Verb::Update if who == "a" && leads() => Fault::Late(lease * percent / 100),
                Verb::Watch if who != "a" && polls => {
                    Fault::Refused(StoreError::Rejected { code: 403, message: "no".into() })
                }
                _ if who != "a" && polls => Fault::Slow { before: lease / 50, after: lease / 50 },
                _ => Fault::None,
            }
        });
        stores.old.overwrite(Record::default());
        let a = stores.elector_of(Knows::Old, preset(named("a")), 1);
        *leads_a.lock().unwrap() = Some(a.clone());
        let campaigns = a.clone();
        let runs = tokio::spawn(async move {
            campaigns.run_forever(|leadership| async move { drop(leadership.ending().await) }).await
        });
        tokio::time::sleep(lease / 10).await;
        let other = |who| {
            let config = preset(named(who));
            match rank {
                Some(rank) => config.rank(rank),
                None => config,
            }
        };
        let b = Replica::start(stores.elector_of(Knows::Old, other("b"), 2), Duration::ZERO);
        let c = Replica::start(stores.elector_of(Knows::Old, other("c"), 3), Duration::ZERO);
        let began = Instant::now();
        // If `a` renews sometimes, it is not late.
        while !leads(&b) && !leads(&c) && a.stats().renewals == 0 {
            assert!(began.elapsed() < 8 * lease, "{case}: neither leads");
            sleep_ms(10).await;
        }
        if a.stats().renewals == 0 {
            tokio::time::sleep(4 * lease).await;
            assert!(leads(&b) || leads(&c), "{case}");
        }
        leads_a.lock().unwrap().take();
        runs.abort();
        b.run.abort();
        c.run.abort();
    }
}

/// One of two stores is slow for `a`: a write that lands in either restarts the others' wait as
/// well.
#[tokio::test(start_paused = true)]
async fn one_whose_writes_of_one_half_come_too_late_keeps_nobody_out() {
    for slow_half in [0, 1] {
        for late in (500..8000).step_by(250) {
            let mut stores = Stores::new();
            let faults = move |who: &str, verb| match verb {
                Verb::Update if who == "a" => Fault::Late(late * MS),
                _ => Fault::None,
            };
            let half = if slow_half == 0 { &mut stores.old } else { &mut stores.new };
            *half = half.with_faults(faults);
            stores.old.overwrite(Record::default());
            stores.new.overwrite(Record::default());
            let a = stores.elector_of(Knows::Both, fast("a"), 1);
            let campaigns = a.clone();
            let runs = tokio::spawn(async move {
                campaigns
                    .run_forever(|leadership| async move { drop(leadership.ending().await) })
                    .await
            });
            tokio::time::sleep((late + 100) * MS).await;
            let b = Replica::start(stores.elector_of(Knows::Both, fast("b"), 2), Duration::ZERO);
            let began = Instant::now();
            // If `a` renews sometimes, it is not late.
            while !leads(&b) && a.stats().renewals == 0 {
                assert!(began.elapsed() < 8 * LEASE, "half {slow_half}, {late} ms: nobody leads");
                sleep_ms(10).await;
            }
            runs.abort();
            b.run.abort();
        }
    }
}

/// Each take-over counts from the start of its own vacancy, even after a late first one.
#[tokio::test(start_paused = true)]
async fn the_latency_of_a_take_over_counts_from_the_end_of_the_last_term() {
    let mut stores = Stores::new();
    let slow = Instant::now() + 4400 * MS;
    stores.old = stores.old.with_faults(move |_, verb| match verb {
        Verb::Update if Instant::now() < slow => Fault::Late(4500 * MS),
        _ => Fault::None,
    });
    stores.old.overwrite(Record::default());
    let a = stores.elector_of(Knows::Old, fast("a"), 1);
    let campaigns = a.clone();
    let runs = tokio::spawn(async move {
        campaigns.run_forever(|_leadership| async move { sleep_ms(300).await }).await
    });
    sleep_ms(30_000).await;
    let latency = a.stats().take_over_latency;
    // The first was late by one lease. The others wait for the next second, and the pause between
    // two terms.
    let others = latency.sum().saturating_sub(6000 * MS);
    assert!(
        others <= 1500 * MS * latency.count() as u32,
        "{:?} for {}",
        latency.sum(),
        latency.count()
    );
    runs.abort();
}

/// Without another candidate, an elector that arrives in time leads.
#[tokio::test(start_paused = true)]
async fn one_that_was_late_twice_leads_when_nobody_else_does() {
    let mut stores = Stores::new();
    let slow = Instant::now() + 10_000 * MS;
    stores.old = stores.old.with_faults(move |_, verb| match verb {
        Verb::Update if Instant::now() < slow => Fault::Late(4500 * MS),
        _ => Fault::None,
    });
    stores.old.overwrite(Record::default());
    let a = Replica::start(stores.elector_of(Knows::Old, fast("a"), 1), Duration::ZERO);
    let began = Instant::now();
    let took = a.leads().await - began;
    // Two late ones, and then the longest wait of others: the last rank's turn, a poll and a
    // request.
    let others = LEASE + 8 * 200 * MS + 1500 * MS + 900 * MS;
    assert!(took <= 2 * 4600 * MS + others + 500 * MS, "{took:?}");
    a.run.abort();
}

/// It released the lease itself, or the Lease is gone: no candidate has to wait.
#[tokio::test(start_paused = true)]
async fn who_was_late_twice_takes_a_lease_that_is_free_at_once() {
    for deleted in [false, true] {
        let mut stores = Stores::new();
        let heal = Arc::new(AtomicBool::new(false));
        let healed = Arc::clone(&heal);
        stores.old = stores.old.with_faults(move |_, verb| match verb {
            Verb::Update if !healed.load(Ordering::SeqCst) => Fault::Late(4500 * MS),
            _ => Fault::None,
        });
        stores.old.overwrite(Record::default());
        let a = Replica::start(stores.elector_of(Knows::Old, fast("a"), 1), Duration::ZERO);
        // The late acquisitions are found at 4.5 s and at 9 s.
        sleep_ms(9600).await;
        assert!(!leads(&a));
        heal.store(true, Ordering::SeqCst);
        let began = Instant::now();
        if deleted {
            stores.old.delete();
        } else {
            a.elector.maintenance().begin();
            sleep_ms(200).await;
            a.elector.maintenance().end();
        }
        let took = a.leads().await - began;
        assert!(took <= 300 * MS, "deleted {deleted}: {took:?}");
        a.run.abort();
    }
}
