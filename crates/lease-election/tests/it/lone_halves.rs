//! Lone halves: of a lease in two stores one half is missing, and candidates wait for the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{Fault, MemoryLeaseStore, Outcome, Record, StopHandle, StoreError, Verb};
use tokio::time::Instant;

use crate::cluster::{LEASE, Replica, sleep_ms};
use crate::migration::{Knows, Stores, leads, led_by};

const MS: Duration = Duration::from_millis(1);

/// The wait after a failed request, and the random wait before a take-over.
const POLITE: Duration = Duration::from_millis(1500);

/// Sets the fault of the first create of one client.
fn first_create(
    store: &MemoryLeaseStore,
    client: &'static str,
    befalls: Fault,
) -> MemoryLeaseStore {
    let first = AtomicBool::new(true);
    // A handle has one hook, and other handles keep theirs.
    let others = store.clone();
    others.with_faults(move |who, verb| {
        let is_hit = who == client && verb == Verb::Create && first.swap(false, Ordering::SeqCst);
        if is_hit { befalls.clone() } else { Fault::None }
    })
}

/// If a create into two empty stores ends after its first half, that half expires like a lease,
/// even for its sender. A late second half changes nothing.
#[tokio::test(start_paused = true)]
async fn the_first_half_of_a_create_runs_out_like_a_lease() {
    for befalls in [Fault::Lost, Fault::Late(3000 * MS), Fault::Refused(StoreError::unknown("500"))]
    {
        let mut stores = Stores::new();
        stores.new = first_create(&stores.new, "a", befalls.clone());
        let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        let began = Instant::now();
        let took = a.leads().await - began;
        let late = 3000 * MS;
        assert!(took >= LEASE && took <= LEASE + late + POLITE, "{befalls:?}: {took:?}");
        assert_eq!(stores.holders(), ("a".into(), "a".into()));
    }
}

/// The standby keeps looking, so that it need not wait when its turn comes.
#[tokio::test(start_paused = true)]
async fn who_goes_on_looking_takes_one_half_as_soon_as_it_has_run_out_or_is_free() {
    for frees in [true, false] {
        let stores = Stores::new();
        let single = Replica::start(stores.elector(Knows::Old, "single", 1), Duration::ZERO);
        single.leads().await;
        let both = Replica::start(stores.elector(Knows::Both, "both", 2), Duration::ZERO);
        sleep_ms(60_000).await;
        let asked = Instant::now();
        if frees {
            single.elector.stop_handle().stop();
        } else {
            stores.dead.lock().unwrap().insert("single".into());
        }
        let took = both.leads().await - asked;
        let bound = if frees { 10 * MS } else { LEASE + 500 * MS };
        assert!(took <= bound, "{frees}: took {took:?}");
    }
}

/// Its claim of the missing half is applied, answered or not, and then it stops. The claim expires
/// like a lease.
#[tokio::test(start_paused = true)]
async fn a_claim_of_a_missing_half_runs_out_like_a_lease() {
    let answered = Fault::Slow { before: Duration::ZERO, after: 50 * MS };
    for missing in [Knows::Old, Knows::New] {
        for ground in [Record::default(), Record { lease_duration_seconds: 1, ..led_by("dead") }] {
            for befalls in
                [answered.clone(), Fault::AnswerLost, Fault::AppliedBut(StoreError::unknown("500"))]
            {
                let mut stores = Stores::new();
                let stop: Arc<Mutex<Option<StopHandle>>> = Arc::default();
                let at_claim = Arc::clone(&stop);
                let claimed = |store: &MemoryLeaseStore| {
                    store.on_write(move |client, lease| {
                        let is_claim = lease.is_some_and(|lease| lease.record.holder == "a");
                        if let Some(stop) =
                            at_claim.lock().unwrap().take_if(|_| client == "a" && is_claim)
                        {
                            stop.stop();
                        }
                    })
                };
                if missing == Knows::Old {
                    stores.new.overwrite(ground.clone());
                    stores.old = claimed(&first_create(&stores.old, "a", befalls.clone()));
                } else {
                    stores.old.overwrite(ground.clone());
                    stores.new = claimed(&first_create(&stores.new, "a", befalls.clone()));
                }
                let elector = stores.elector(Knows::Both, "a", 1);
                *stop.lock().unwrap() = Some(elector.stop_handle());
                let mut a = Replica::start(elector, Duration::ZERO);
                assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
                let told = format!("{missing:?} {ground:?} {befalls:?}");
                assert!(stop.lock().unwrap().is_none(), "{told}");
                let after = Instant::now();
                let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
                assert!(b.leads().await - after <= LEASE + POLITE, "{told}");
                sleep_ms(10_000).await;
                assert!(leads(&b) && b.elector.stats().terms == 1, "{told}");
            }
        }
    }
}
