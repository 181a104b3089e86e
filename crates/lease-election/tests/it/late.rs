//! Acquisitions that come too late for a term, again and again: each begins the others' wait anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lease_election::{Fault, Record, Verb};
use tokio::time::Instant;

use crate::cluster::{LEASE, Replica, fast, sleep_ms};
use crate::migration::{Knows, Stores, leads};

const MS: Duration = Duration::from_millis(1);

/// Each write of a is carried out long after it was sent, and is not answered. b is well.
#[tokio::test(start_paused = true)]
async fn one_whose_writes_come_too_late_to_lead_keeps_nobody_out() {
    for (knows, late) in [
        (Knows::Old, 4500),
        (Knows::Both, 2500),
        // In time for a term, which it cannot renew.
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
        // And goes on.
        sleep_ms(60_000).await;
        assert!(leads(&b), "{knows:?}, {late} ms: {:?}", b.elector.stats().losses);
        runs.abort();
        b.run.abort();
    }
}

/// Where nobody else is there, one that comes in time leads.
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
    // Two that were late, and then what others would have waited.
    assert!(took <= 2 * 4600 * MS + LEASE + 1500 * MS, "{took:?}");
    a.run.abort();
}

/// It has given the lease back itself, or the Lease is gone: nobody waits for it.
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
        // Found at 4.5 and at 9 s.
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
