//! Migration: candidates of the old store, of both and of the new one never lead together,
//! whichever half fails; also with records of client-go's multi-locks.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use lease_election::{
    ConfigBuilder, Ending, Fault, LeaderElector, LeaseEvent, LeaseStore, Loss, MemoryLeaseStore,
    MultiStore, Outcome, Record, StoreError, TokioClock, Verb,
};

use tokio::time::Instant;

use crate::cluster::{LEASE, Replica, fast, sleep_ms};

const MS: Duration = Duration::from_millis(1);

/// An old and a new store, each of which can fail for all clients in one kind of call.
pub(crate) struct Stores {
    pub(crate) old: MemoryLeaseStore,
    pub(crate) new: MemoryLeaseStore,
    /// Clients whose requests are lost from now on.
    pub(crate) dead: Arc<Mutex<BTreeSet<String>>>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Knows {
    Old,
    Both,
    New,
}

impl Stores {
    pub(crate) fn new() -> Self {
        let dead: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let store = || {
            let dead = Arc::clone(&dead);
            MemoryLeaseStore::new().with_faults(move |client, _| {
                if dead.lock().unwrap().contains(client) { Fault::Lost } else { Fault::None }
            })
        };
        Self { old: store(), new: store(), dead: Arc::clone(&dead) }
    }

    pub(crate) fn elector(&self, knows: Knows, identity: &str, seed: u64) -> LeaderElector {
        self.elector_of(knows, fast(identity), seed)
    }

    pub(crate) fn elector_of(
        &self,
        knows: Knows,
        config: ConfigBuilder,
        seed: u64,
    ) -> LeaderElector {
        let config = config.build().unwrap();
        let identity = config.identity();
        let (old, new) = (self.old.client(identity), self.new.client(identity));
        let clock = TokioClock::new();
        match knows {
            Knows::Old => LeaderElector::with_clock(old, config, clock, seed),
            Knows::New => LeaderElector::with_clock(new, config, clock, seed),
            Knows::Both => {
                let both = MultiStore::new(old, new, &config);
                LeaderElector::with_clock(both, config, clock, seed)
            }
        }
    }

    pub(crate) fn holders(&self) -> (String, String) {
        let holder = |store: &MemoryLeaseStore| {
            store.lease().map(|lease| lease.record.holder).unwrap_or_default()
        };
        (holder(&self.old), holder(&self.new))
    }
}

pub(crate) fn leads(replica: &Replica) -> bool {
    replica.terms.lock().unwrap().last().is_some_and(|led| led.leadership.is_valid())
}

/// At most one candidate leads at every moment of the roll-out. One leads after each step, and at
/// the end.
#[tokio::test(start_paused = true)]
async fn a_roll_out_in_three_steps_has_one_leader_at_all_times() {
    for crash in [false, true] {
        let stores = Stores::new();
        let mut seed = 0;
        let mut running: Vec<Replica> = Vec::new();
        let (mut terms, mut crashed, mut given_back) = (0, 0, 0);
        for knows in [Knows::Old, Knows::Both, Knows::New] {
            for n in 0..3 {
                seed += 1;
                let identity = format!("{knows:?}-{n}").to_lowercase();
                let next = Replica::start(stores.elector(knows, &identity, seed), 50 * MS);
                let retired = (running.len() > 2).then(|| running.remove(0));
                running.push(next);
                if let Some(retired) = &retired {
                    if crash {
                        // Its requests are lost from now on, so it releases nothing.
                        stores
                            .dead
                            .lock()
                            .unwrap()
                            .insert(retired.elector.config().identity().to_owned());
                        crashed += usize::from(leads(retired));
                        retired.run.abort();
                    } else {
                        retired.elector.stop_handle().stop();
                    }
                }
                for _ in 0..800 {
                    sleep_ms(10).await;
                    let valid =
                        running.iter().chain(&retired).filter(|replica| leads(replica)).count();
                    assert!(valid <= 1, "{valid} leaders while {identity} starts");
                }
                let led: usize =
                    running.iter().map(|replica| replica.terms.lock().unwrap().len()).sum();
                terms += led;
                given_back += retired.map_or(0, |retired| retired.elector.stats().releases);
                assert!(
                    running.iter().any(leads),
                    "nobody leads 8 s after {identity} started: {:?}",
                    stores.holders()
                );
            }
        }
        assert!(terms > 0);
        // Some retired replicas led, and only stopped ones released.
        assert_eq!(
            (crashed > 0, given_back > 0),
            (crash, !crash),
            "{crashed} crashed, {given_back} given back"
        );
        // Both halves may exist; only the new one counts now.
        assert!(stores.holders().1.starts_with("new"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_of_both_waits_for_a_leader_of_either() {
    for knows in [Knows::Old, Knows::New] {
        let stores = Stores::new();
        let single = Replica::start(stores.elector(knows, "single", 1), Duration::ZERO);
        single.leads().await;
        let both = Replica::start(stores.elector(Knows::Both, "both", 2), Duration::ZERO);
        sleep_ms(30_000).await;
        assert!(leads(&single) && both.terms.lock().unwrap().is_empty(), "{knows:?}");
        assert_eq!(single.elector.stats().terms, 1);
        let asked = Instant::now();
        single.elector.stop_handle().stop();
        let took = both.leads().await - asked;
        assert!(
            took <= 10 * MS,
            "{knows:?}: took {took:?} for a release, {:?}",
            both.elector.stats()
        );
        assert_eq!(stores.holders(), ("both".into(), "both".into()));
        // Now the single candidate waits.
        let again = Replica::start(stores.elector(knows, "again", 3), Duration::ZERO);
        sleep_ms(30_000).await;
        assert!(leads(&both) && again.terms.lock().unwrap().is_empty(), "{knows:?}");
        assert_eq!(both.elector.stats().losses, Default::default());
        both.elector.stop_handle().stop();
        again.leads().await;
    }
}

/// client-go reads the second half right before it overwrites it, so it robs a candidate that has
/// just taken it.
#[tokio::test(start_paused = true)]
async fn a_new_client_that_takes_the_second_half_in_between_is_not_robbed() {
    let stores = Stores::new();
    let config = fast("both").build().unwrap();
    let both = MultiStore::new(stores.old.client("both"), stores.new.client("both"), &config);
    let dead = Record { holder: "dead".into(), lease_duration_seconds: 5, ..Record::default() };
    stores.old.overwrite(dead.clone());
    stores.new.overwrite(dead);
    let seen = both.get().await.unwrap().unwrap();
    assert_eq!(seen.record.holder, "dead");
    // The rival writes between the read and the write.
    let rival = Record { holder: "rival".into(), lease_duration_seconds: 5, ..Record::default() };
    stores.new.overwrite(rival.clone());
    let ours = Record { holder: "both".into(), write_id: Some("b.1.x".into()), ..rival.clone() };
    assert_eq!(both.update(&seen.version, &ours).await, Err(StoreError::Conflict));
    assert_eq!(
        stores.holders(),
        ("dead".into(), "rival".into()),
        "not even the first half is broken"
    );
    // The rival may also write between the two halves.
    let (new, once) = (stores.new.clone(), Arc::new(AtomicBool::new(true)));
    let late = rival.clone();
    let old = stores.old.client("both").on_write(move |_, _| {
        if once.swap(false, Ordering::SeqCst) {
            new.overwrite(late.clone());
        }
    });
    let both = MultiStore::new(old, stores.new.client("both"), &config);
    let seen = both.get().await.unwrap().unwrap();
    assert_eq!(both.update(&seen.version, &ours).await, Err(StoreError::Conflict));
    assert_eq!(stores.holders(), ("both".into(), "rival".into()));
    let now = both.get().await.unwrap().unwrap();
    assert_eq!(now.record.holder, "leaderelection.k8s.io/unknown");
    assert_ne!(now.record, ours, "half of a write is none");
}

/// client-go's multi-locks do so, from an old client's record without a Lease, and from a Lease
/// alone.
#[tokio::test(start_paused = true)]
async fn transitions_are_counted_on_from_the_half_that_is_there() {
    for half in [0, 1] {
        for holder in ["go", ""] {
            let stores = Stores::new();
            let there = if half == 0 { &stores.old } else { &stores.new };
            there.overwrite(Record { leader_transitions: 41, ..led_by(holder) });
            let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
            a.leads().await;
            for store in [&stores.old, &stores.new] {
                let record = store.lease().unwrap().record;
                assert_eq!(
                    (record.holder.as_str(), record.leader_transitions),
                    ("a", 42),
                    "{half} {holder:?}"
                );
            }
            assert_eq!(a.terms.lock().unwrap().last().unwrap().leadership.fence().transitions, 42);
            a.elector.stop_handle().stop();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_of_which_half_fails_costs_no_term() {
    for half in [0, 1] {
        for (fault, calls) in [
            (Fault::Refused(StoreError::unknown("500")), 1),
            (Fault::AppliedBut(StoreError::unknown("500")), 1),
            (Fault::Refused(StoreError::TooManyRequests { retry_after: None }), 1),
            (Fault::Refused(StoreError::Rejected { code: 403, message: "not yet".into() }), 1),
            (Fault::AnswerLost, 1),
            (Fault::Lost, 1),
            (Fault::Late(1500 * MS), 1),
            (Fault::Refused(StoreError::unknown("500")), 3),
        ] {
            let armed = Arc::new(Mutex::new(0));
            let (trap, with) = (Arc::clone(&armed), fault.clone());
            let faulty = move |_: &str, verb: Verb| {
                let mut left = trap.lock().unwrap();
                if verb == Verb::Update && *left > 0 {
                    *left -= 1;
                    return with.clone();
                }
                Fault::None
            };
            let mut stores = Stores::new();
            if half == 0 {
                stores.old = stores.old.with_faults(faulty);
            } else {
                stores.new = stores.new.with_faults(faulty);
            }
            let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
            a.leads().await;
            let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
            sleep_ms(2500).await;
            *armed.lock().unwrap() = calls;
            sleep_ms(20_000).await;
            assert_eq!(*armed.lock().unwrap(), 0, "{fault:?} was met");
            let stats = a.elector.stats();
            assert!(leads(&a) && stats.terms == 1, "half {half}, {fault:?}: {:?}", stats.losses);
            assert!(b.terms.lock().unwrap().is_empty());
            a.elector.stop_handle().stop();
            b.leads().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_label_between_the_two_halves_of_a_renewal_costs_no_term() {
    for half in [0, 1] {
        let mut stores = Stores::new();
        let is_slow = Arc::new(AtomicBool::new(false));
        let slow = Arc::clone(&is_slow);
        stores.new = stores.new.with_faults(move |_, verb| {
            let slow = verb == Verb::Update && slow.load(Ordering::SeqCst);
            if slow { Fault::Slow { before: 100 * MS, after: Duration::ZERO } } else { Fault::None }
        });
        let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        a.leads().await;
        let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
        sleep_ms(2500).await;
        let before = stores.old.lease().unwrap().record;
        is_slow.store(true, Ordering::SeqCst);
        while stores.old.lease().unwrap().record == before {
            sleep_ms(1).await;
        }
        let labelled = if half == 0 { &stores.old } else { &stores.new };
        labelled.touch();
        assert_ne!(stores.new.lease().unwrap().record, stores.old.lease().unwrap().record);
        sleep_ms(200).await;
        is_slow.store(false, Ordering::SeqCst);
        sleep_ms(20_000).await;
        let stats = a.elector.stats();
        assert!(leads(&a) && stats.terms == 1, "half {half}: {:?}", stats.losses);
        assert!(b.terms.lock().unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_one_half_that_is_silent_or_lags_costs_no_term() {
    for half in [0, 1] {
        for fault in [Fault::Lost, Fault::Slow { before: 2500 * MS, after: Duration::ZERO }] {
            let mut stores = Stores::new();
            let with = fault.clone();
            let faulty = move |_: &str, verb: Verb| {
                if verb == Verb::Event { with.clone() } else { Fault::None }
            };
            if half == 0 {
                stores.old = stores.old.with_faults(faulty);
            } else {
                stores.new = stores.new.with_faults(faulty);
            }
            let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
            a.leads().await;
            let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
            sleep_ms(60_000).await;
            let losses = a.elector.stats().losses;
            assert!(
                leads(&a) && a.elector.stats().terms == 1,
                "half {half}, {fault:?}: {losses:?}"
            );
            assert!(b.terms.lock().unwrap().is_empty(), "half {half}, {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_half_that_is_deleted_or_written_by_another_ends_the_term() {
    for half in [0, 1] {
        for delete in [true, false] {
            let stores = Stores::new();
            let mut a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
            a.leads().await;
            sleep_ms(1500).await;
            let store = if half == 0 { &stores.old } else { &stores.new };
            if delete {
                store.delete();
            } else {
                store.overwrite(Record {
                    holder: "x".into(),
                    lease_duration_seconds: 5,
                    ..Record::default()
                });
            }
            let written = Instant::now();
            let outcome = (&mut a.run).await.unwrap();
            assert!(
                matches!(outcome, Outcome::Lost(Ending::Lost(_))),
                "{half} {delete}: {outcome:?}"
            );
            assert!(written.elapsed() <= 510 * MS, "{half} {delete}: {:?}", written.elapsed());
            assert_ne!(a.last().leadership.loss(), Some(Loss::Expired));
            // Another candidate of both takes both halves once the rest of them has expired.
            let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
            assert!(b.leads().await - written <= LEASE + LEASE + 1000 * MS);
            assert_eq!(stores.holders(), ("b".into(), "b".into()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn records_of_a_go_multi_lock_are_waited_for_and_each_renewal_is_seen() {
    // client-go writes both halves one after the other, with whole seconds in the first.
    let stores = Stores::new();
    let renew = |n: i64| {
        let time = jiff::Timestamp::from_second(1_767_225_600 + n).unwrap();
        let record = Record {
            holder: "go".into(),
            lease_duration_seconds: 5,
            acquire_time: jiff::Timestamp::from_second(1_767_225_600).ok(),
            renew_time: Some(time),
            ..Record::default()
        };
        stores.old.overwrite(record.clone());
        let fraction = jiff::SignedDuration::from_micros(123_456);
        stores.new.overwrite(Record { renew_time: time.checked_add(fraction).ok(), ..record });
    };
    renew(0);
    let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
    for n in 1..20 {
        sleep_ms(2000).await;
        renew(n);
        assert_eq!(a.elector.leader().as_deref(), Some("go"));
    }
    assert!(a.terms.lock().unwrap().is_empty());
    let crashed = Instant::now();
    let took = a.leads().await - crashed;
    assert!(took >= LEASE && took <= LEASE + 250 * MS, "{took:?}");
    a.elector.stop_handle().stop();
    a.run.await.unwrap();
    assert_eq!(stores.holders(), (String::new(), String::new()));
}

/// Writes a record into both halves.
fn put(stores: &Stores, record: &Record) {
    stores.old.overwrite(record.clone());
    stores.new.overwrite(record.clone());
}

pub(crate) fn led_by(holder: &str) -> Record {
    Record {
        holder: holder.into(),
        lease_duration_seconds: 5,
        acquire_time: "2026-01-01T00:00:00Z".parse().ok(),
        renew_time: "2026-01-01T00:00:00Z".parse().ok(),
        ..Record::default()
    }
}

/// A controller's grant for a second.
fn granted_to(holder: &str) -> Record {
    Record { lease_duration_seconds: 1, acquire_time: None, ..led_by(holder) }
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_version_tells_all_that_came_since() {
    let stores = Stores::new();
    put(&stores, &led_by("b"));
    let config = fast("a").build().unwrap();
    let both = MultiStore::new(stores.old.client("a"), stores.new.client("a"), &config);
    let known = both.get().await.unwrap().unwrap();
    for holder in ["c", "d", "e"] {
        put(&stores, &led_by(holder));
    }
    let mut told = Vec::new();
    let mut events = both.watch(Some(&known.version)).await.unwrap();
    while told.last().is_none_or(|last| last != "e") {
        if let LeaseEvent::Changed(lease) = events.next().await.unwrap().unwrap() {
            told.push(lease.record.holder);
        }
    }
    told.dedup();
    assert!(told.len() > 1, "{told:?}: it began with the present state");
    // It cannot watch from an unknown version, or from one with a missing half.
    let other = MultiStore::new(stores.old.client("a"), stores.new.client("a"), &config);
    assert_eq!(other.watch(Some(&known.version)).await.err(), Some(StoreError::Expired));
    stores.new.delete();
    let half = both.get().await.unwrap().unwrap();
    assert_eq!(both.watch(Some(&half.version)).await.err(), Some(StoreError::Expired));
}

/// It finds a grant when it is back, and no news connects that grant with the record that it knew.
/// A leader in between may act for a lease.
#[tokio::test(start_paused = true)]
async fn a_grant_after_a_gap_is_not_taken_for_the_next_that_happened() {
    let stores = Stores::new();
    put(&stores, &led_by("b"));
    let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
    sleep_ms(1000).await;
    stores.dead.lock().unwrap().insert("a".into());
    sleep_ms(500).await;
    put(&stores, &led_by("c"));
    put(&stores, &granted_to("d"));
    sleep_ms(500).await;
    stores.dead.lock().unwrap().clear();
    while a.elector.leader().as_deref() != Some("d") {
        sleep_ms(1).await;
    }
    let met = Instant::now();
    let took = a.leads().await - met;
    assert!(took >= LEASE, "took {took:?}");
}

/// The second half is lost, or arrives after the stop made it a conflict.
#[tokio::test(start_paused = true)]
async fn v15_a_stop_between_the_halves_of_an_acquisition_strands_nobody() {
    for ground in [Record::default(), Record { lease_duration_seconds: 1, ..led_by("dead") }] {
        for fault in [
            Fault::Lost,
            Fault::Late(1500 * MS),
            Fault::Refused(StoreError::TooManyRequests { retry_after: None }),
            Fault::Refused(StoreError::Rejected { code: 403, message: "not yet".into() }),
        ] {
            let (broken, met) = (Arc::new(AtomicBool::new(true)), fault.clone());
            let breaks = Arc::clone(&broken);
            let mut stores = Stores::new();
            stores.new = MemoryLeaseStore::new().with_faults(move |client, verb| {
                let is_hit = client == "a" && verb == Verb::Update && breaks.load(Ordering::SeqCst);
                if is_hit { met.clone() } else { Fault::None }
            });
            put(&stores, &ground);
            let mut a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
            while stores.holders().0 != "a" {
                sleep_ms(1).await;
            }
            broken.store(false, Ordering::SeqCst);
            a.elector.stop_handle().stop();
            let asked = Instant::now();
            assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
            assert!(asked.elapsed() <= 1800 * MS, "two requests' time");
            assert_eq!(stores.holders(), (String::new(), String::new()), "{ground:?} {fault:?}");
            let after = Instant::now();
            let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
            assert!(b.leads().await - after <= 10 * MS, "{ground:?} {fault:?}");
            sleep_ms(10_000).await;
            assert!(leads(&b) && b.elector.stats().terms == 1);
        }
    }
}

/// Applied late, it would be a free half beside the next leader's.
#[tokio::test(start_paused = true)]
async fn v15_a_stop_makes_no_half_of_a_lease() {
    let mut stores = Stores::new();
    stores.new = MemoryLeaseStore::new().with_faults({
        let creates = AtomicU32::new(0);
        move |_, verb| {
            let is_first = verb == Verb::Create && creates.fetch_add(1, Ordering::SeqCst) == 0;
            if is_first { Fault::Lost } else { Fault::None }
        }
    });
    stores.old.overwrite(Record::default());
    let mut a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
    sleep_ms(10).await;
    a.elector.stop_handle().stop();
    assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
    assert_eq!((stores.holders().0.as_str(), stores.new.lease()), ("", None));
}
