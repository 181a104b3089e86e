//! One half of a lease in two stores, the other missing: how long that is believed, and what a stop
//! leaves of an acquisition that is half made.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{
    Fault, LeaderElector, LeaseStore, MemoryLeaseStore, MultiStore, Outcome, Record, StopHandle,
    StoreError, TokioClock, Verb,
};
use tokio::time::Instant;

use crate::cluster::{LEASE, Replica, fast, sleep_ms};
use crate::migration::{Knows, Stores, leads, led_by};

const MS: Duration = Duration::from_millis(1);

/// What it may take one that was cut off to read: a request that went nowhere, the longest wait
/// after it, and the random one before a take-over.
const BACK: Duration = Duration::from_millis(3500);

/// What befalls the first create of one client.
fn first_create(
    store: &MemoryLeaseStore,
    client: &'static str,
    befalls: Fault,
) -> MemoryLeaseStore {
    let first = AtomicBool::new(true);
    // A handle has one hook: those of the other stay.
    let others = store.clone();
    others.with_faults(move |who, verb| {
        let is_hit = who == client && verb == Verb::Create && first.swap(false, Ordering::SeqCst);
        if is_hit { befalls.clone() } else { Fault::None }
    })
}

/// It made the first half and was cut off. Another made the second, led, and lost it by a deletion:
/// as with a Lease, that one may act for a lease.
#[tokio::test(start_paused = true)]
async fn v10_who_was_cut_off_between_two_creates_waits_for_a_second_half_that_may_have_gone() {
    let stores = Stores::new();
    let (dead, once) = (Arc::clone(&stores.dead), AtomicBool::new(true));
    let old = stores.old.on_write(move |client, _| {
        if once.swap(false, Ordering::SeqCst) {
            dead.lock().unwrap().insert(client.to_owned());
        }
    });
    let config = fast("a").build().unwrap();
    let both = MultiStore::new(old.client("a"), stores.new.client("a"), &config);
    let a = Replica::start(
        LeaderElector::with_clock(both, config, TokioClock::new(), 1),
        Duration::ZERO,
    );
    sleep_ms(1000).await;
    assert_eq!((stores.holders().0.as_str(), stores.new.lease()), ("a", None));
    stores.new.overwrite(led_by("b"));
    sleep_ms(6000).await;
    stores.new.delete();
    let deleted = Instant::now();
    stores.dead.lock().unwrap().clear();
    let took = a.leads().await - deleted;
    assert!(took >= LEASE && took <= LEASE + BACK, "took {took:?}");
}

/// The same if it was cut off for a moment: it tries again at once.
#[tokio::test(start_paused = true)]
async fn who_lost_a_create_between_two_halves_makes_it_again_at_once() {
    let mut stores = Stores::new();
    stores.new = first_create(&stores.new, "a", Fault::Lost);
    let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
    let began = Instant::now();
    let took = a.leads().await - began;
    assert!(took <= 2000 * MS, "took {took:?}");
}

/// That a half is missing holds for a while only, and no event tells that it still is.
#[tokio::test(start_paused = true)]
async fn v10_who_saw_one_half_long_ago_waits_for_the_other_that_may_have_gone() {
    for missing in [Knows::Old, Knows::New] {
        for renews in [true, false] {
            let stores = Stores::new();
            let (there, gone) = match missing {
                Knows::Old => (&stores.new, &stores.old),
                _ => (&stores.old, &stores.new),
            };
            there.overwrite(led_by("dead"));
            let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
            sleep_ms(1000).await;
            stores.dead.lock().unwrap().insert("a".into());
            sleep_ms(2000).await;
            gone.overwrite(led_by("c"));
            sleep_ms(6000).await;
            if renews {
                // What is there is free now.
                there.overwrite(Record::default());
            }
            gone.delete();
            let deleted = Instant::now();
            stores.dead.lock().unwrap().clear();
            let took = a.leads().await - deleted;
            assert!(took >= LEASE && took <= LEASE + BACK, "{missing:?} {renews}: took {took:?}");
        }
    }
}

/// It goes on looking, so that it need not wait when its turn comes.
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

/// The claim is long on its way. In between another had that half, unseen, and lost it.
#[tokio::test(start_paused = true)]
async fn v10_a_half_that_is_made_late_may_follow_on_one_that_was_another_s() {
    let mut stores = Stores::new();
    stores.old.overwrite(Record::default());
    let dead = Arc::clone(&stores.dead);
    let first = AtomicBool::new(true);
    stores.new = stores.new.with_faults(move |client, verb| {
        if verb == Verb::Create && first.swap(false, Ordering::SeqCst) {
            dead.lock().unwrap().insert(client.to_owned());
            return Fault::Late(8000 * MS);
        }
        if dead.lock().unwrap().contains(client) { Fault::Lost } else { Fault::None }
    });
    let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
    sleep_ms(1000).await;
    stores.new.overwrite(led_by("c"));
    sleep_ms(6900).await;
    stores.new.delete();
    let deleted = Instant::now();
    sleep_ms(200).await;
    assert_eq!(stores.holders(), (String::new(), "a".into()), "its claim is there");
    stores.dead.lock().unwrap().clear();
    let took = a.leads().await - deleted;
    assert!(took >= LEASE && took <= LEASE + BACK, "took {took:?}");
}

/// Its claim of the missing half is made; answered, or not.
#[tokio::test(start_paused = true)]
async fn v15_a_stop_after_the_claim_of_a_missing_half_strands_nobody() {
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
                assert_eq!(stores.holders(), (String::new(), String::new()), "{told}");
                let after = Instant::now();
                let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
                assert!(b.leads().await - after <= 10 * MS, "{told}");
                sleep_ms(10_000).await;
                assert!(leads(&b) && b.elector.stats().terms == 1, "{told}");
            }
        }
    }
}

/// Where there was no Lease the first half may be made, and the second not: that one is freed, and
/// the other not made.
#[tokio::test(start_paused = true)]
async fn v15_a_stop_frees_the_half_that_it_made_and_makes_no_other() {
    for befalls in [Fault::Lost, Fault::Late(3000 * MS), Fault::Refused(StoreError::unknown("500"))]
    {
        let mut stores = Stores::new();
        stores.new = first_create(&stores.new, "a", befalls.clone());
        let mut a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        while stores.holders().0 != "a" {
            sleep_ms(1).await;
        }
        a.elector.stop_handle().stop();
        assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
        assert_eq!((stores.holders().0.as_str(), stores.new.lease()), ("", None), "{befalls:?}");
    }
}

/// The second half is refused, which says nothing of the first; and of that the watch, which is not
/// open yet, has told nothing.
#[tokio::test(start_paused = true)]
async fn v15_a_stop_frees_the_half_that_it_made_also_if_the_other_was_refused() {
    let forbidden = StoreError::Rejected { code: 403, message: "no".into() };
    let busy = |seconds: Option<u64>| StoreError::TooManyRequests {
        retry_after: seconds.map(Duration::from_secs),
    };
    for (refusal, asked) in [(forbidden, 0), (busy(None), 0), (busy(Some(1)), 1)] {
        let mut stores = Stores::new();
        let stop: Arc<Mutex<Option<StopHandle>>> = Arc::default();
        let (at_refusal, befalls) = (Arc::clone(&stop), refusal.clone());
        stores.new = stores.new.with_faults(move |_, verb| match verb {
            Verb::Create => {
                at_refusal.lock().unwrap().take().unwrap().stop();
                Fault::Refused(befalls.clone())
            }
            Verb::Watch => Fault::Lost,
            _ => Fault::None,
        });
        let elector = stores.elector(Knows::Both, "a", 1);
        *stop.lock().unwrap() = Some(elector.stop_handle());
        let mut a = Replica::start(elector, Duration::ZERO);
        let began = Instant::now();
        assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
        assert_eq!((stores.holders().0.as_str(), stores.new.lease()), ("", None), "{refusal:?}");
        assert!(began.elapsed() >= Duration::from_secs(asked), "{refusal:?}");
    }
}

/// Another has taken the first half since, or made the second: it is theirs to go on with.
#[tokio::test(start_paused = true)]
async fn v15_a_half_that_is_another_s_is_not_freed() {
    let stores = Stores::new();
    let config = fast("a").build().unwrap();
    let both = MultiStore::new(stores.old.client("a"), stores.new.client("a"), &config);
    let free = Record { write_id: Some("a.9".into()), ..Record::default() };
    // Not ours, and free or held.
    for holder in ["", "b"] {
        stores.old.overwrite(led_by(holder));
        let seen = both.get().await.unwrap().unwrap();
        let before = stores.old.lease();
        assert_eq!(both.update(&seen.version, &free).await, Err(StoreError::Conflict));
        assert_eq!((stores.old.lease(), stores.new.lease()), (before, None));
    }
    // Ours, and another makes the other half before it is freed.
    stores.old.delete();
    let broken = stores.new.with_faults(|_, verb| {
        if verb == Verb::Create { Fault::Refused(StoreError::unknown("500")) } else { Fault::None }
    });
    let both = MultiStore::new(stores.old.client("a"), broken.client("a"), &config);
    let ours = Record { write_id: Some("a.1".into()), ..led_by("a") };
    both.create(&ours).await.unwrap_err();
    let seen = both.get().await.unwrap().unwrap();
    assert!(seen.record.is_free(), "half of a write is none");
    stores.new.overwrite(led_by("c"));
    assert_eq!(both.update(&seen.version, &free).await, Err(StoreError::Conflict));
    assert_eq!(stores.holders(), ("a".into(), "c".into()));
    stores.new.delete();
    // Of one that nobody else has been at, the half that is there is freed.
    let both = MultiStore::new(stores.old.client("a"), broken.client("a"), &config);
    stores.old.delete();
    both.create(&ours).await.unwrap_err();
    let seen = both.get().await.unwrap().unwrap();
    assert_eq!(both.update(&seen.version, &free).await, Err(StoreError::Conflict));
    assert_eq!(stores.old.lease().map(|lease| lease.record), Some(free));
    assert_eq!(stores.new.lease(), None);
}

/// What was waited for is not waited for again because the claim is lost on its way.
#[tokio::test(start_paused = true)]
async fn who_has_waited_for_a_half_that_went_and_lost_its_claim_tries_again_at_once() {
    for gone in [Knows::Old, Knows::New] {
        let mut stores = Stores::new();
        stores.old.overwrite(led_by("dead"));
        stores.new.overwrite(led_by("dead"));
        let half = if gone == Knows::Old { &mut stores.old } else { &mut stores.new };
        *half = first_create(half, "a", Fault::Lost);
        let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        sleep_ms(1000).await;
        if gone == Knows::Old {
            stores.old.delete()
        } else {
            stores.new.delete()
        }
        let deleted = Instant::now();
        let took = a.leads().await - deleted;
        assert!(took >= LEASE && took <= LEASE + BACK, "{gone:?}: took {took:?}");
    }
}

/// The event of the first half comes before the answer of the second.
#[tokio::test(start_paused = true)]
async fn v15_an_acquisition_that_makes_both_halves_is_ones_own_also_beside_an_open_watch() {
    for (knows, way) in [(Knows::New, 2), (Knows::Both, 0), (Knows::Both, 1), (Knows::Both, 20)] {
        let mut stores = Stores::new();
        let slow = move |_: &str, verb: Verb| match verb {
            Verb::Event => Fault::None,
            _ => Fault::Slow { before: way * MS, after: way * MS },
        };
        (stores.old, stores.new) = (stores.old.with_faults(slow), stores.new.with_faults(slow));
        let config = |who| fast(who).takeover_jitter(Duration::ZERO);
        // It looks on, and there is nothing; then it may lead.
        let a = stores.elector_of(knows, config("a"), 1);
        a.maintenance().begin();
        let a = Replica::start(a, Duration::ZERO);
        sleep_ms(1000).await;
        let asked = Instant::now();
        a.elector.maintenance().end();
        let took = a.leads().await - asked;
        assert!(took <= (4 * way + 5) * MS, "{knows:?}, {way} ms: {took:?}");
        // Both halves go, under a leader and a standby that see it.
        let b = Replica::start(stores.elector_of(knows, config("b"), 2), Duration::ZERO);
        sleep_ms(2000).await;
        stores.old.delete();
        stores.new.delete();
        let deleted = Instant::now();
        let took = b.leads().await - deleted;
        assert!(took <= LEASE + (10 * way + 5) * MS, "{knows:?}, {way} ms: {took:?}");
    }
}

/// For longer than any lease holds.
async fn never_lead_both(one: &Replica, other: &Replica) {
    let from = Instant::now();
    while from.elapsed() < 8000 * MS {
        sleep_ms(1).await;
        assert!(!(leads(one) && leads(other)), "two lead, after {:?}", from.elapsed());
    }
}

/// A create is half made, and late is the other half. The claim of that half meets another's; that
/// one is deleted, and the late half arrives.
#[tokio::test(start_paused = true)]
async fn v10_who_met_another_s_half_begins_no_term_by_a_create_that_arrives_when_that_is_gone() {
    let config = |who| fast(who).takeover_jitter(Duration::ZERO);
    let mut stores = Stores::new();
    let (dead, creates) = (Arc::clone(&stores.dead), Arc::new(AtomicU32::new(0)));
    let sent = Arc::clone(&creates);
    stores.new = stores.new.with_faults(move |who, verb| {
        if dead.lock().unwrap().contains(who) {
            return Fault::Lost;
        }
        match (who, verb) {
            ("a", Verb::Create) if sent.fetch_add(1, Ordering::SeqCst) == 0 => Fault::Lost,
            ("a", Verb::Event) => Fault::Slow { before: 3000 * MS, after: Duration::ZERO },
            ("a", _) => Fault::Slow { before: 50 * MS, after: 50 * MS },
            _ => Fault::None,
        }
    });
    let a = Replica::start(stores.elector_of(Knows::Both, config("a"), 1), Duration::ZERO);
    while creates.load(Ordering::SeqCst) < 2 {
        sleep_ms(1).await;
    }
    let late = stores.old.lease().unwrap().record;
    let n = Replica::start(stores.elector_of(Knows::New, config("n"), 2), Duration::ZERO);
    n.leads().await;
    stores.dead.lock().unwrap().insert("n".into());
    sleep_ms(70).await;
    assert_eq!((late.holder.as_str(), stores.holders().1.as_str()), ("a", "n"));
    stores.new.delete();
    sleep_ms(2).await;
    // What it sent before arrives.
    stores.new.client("late").create(&late).await.unwrap();
    never_lead_both(&a, &n).await;
}

/// The same, but that half is met by the look before the claim. One half is free, the other
/// missing.
#[tokio::test(start_paused = true)]
async fn v10_who_saw_another_s_half_before_its_claim_waits_for_who_led_by_it() {
    let mut stores = Stores::new();
    let (dead, gets) = (Arc::clone(&stores.dead), Arc::new(AtomicU32::new(0)));
    let asked = Arc::clone(&gets);
    stores.new = stores.new.with_faults(move |who, verb| {
        if dead.lock().unwrap().contains(who) {
            return Fault::Lost;
        }
        match (who, verb) {
            ("a", Verb::Event) => Fault::Slow { before: 3000 * MS, after: Duration::ZERO },
            ("a", _) => {
                asked.fetch_add(u32::from(verb == Verb::Get), Ordering::SeqCst);
                Fault::Slow { before: 50 * MS, after: 50 * MS }
            }
            _ => Fault::None,
        }
    });
    stores.old.overwrite(Record::default());
    let config = |who| fast(who).takeover_jitter(Duration::ZERO);
    let a = Replica::start(stores.elector_of(Knows::Both, config("a"), 1), Duration::ZERO);
    // Two of a read, and one before the claim.
    while gets.load(Ordering::SeqCst) < 3 {
        sleep_ms(1).await;
    }
    let n = Replica::start(stores.elector_of(Knows::New, config("n"), 2), Duration::ZERO);
    n.leads().await;
    stores.dead.lock().unwrap().insert("n".into());
    sleep_ms(60).await;
    stores.new.delete();
    never_lead_both(&a, &n).await;
    assert!(leads(&a));
}

/// A create and the claim after it have made a half each. The claim's goes, and the take-over meets
/// another's in its place.
#[tokio::test(start_paused = true)]
async fn v10_a_create_that_arrives_after_a_conflict_begins_no_term_also_where_both_halves_were_made()
 {
    let mut stores = Stores::new();
    let (dead, creates, gets) =
        (Arc::clone(&stores.dead), AtomicU32::new(0), Arc::new(AtomicU32::new(0)));
    let asked = Arc::clone(&gets);
    stores.new = stores.new.with_faults(move |who, verb| {
        if dead.lock().unwrap().contains(who) {
            return Fault::Lost;
        }
        let way = Fault::Slow { before: 50 * MS, after: 50 * MS };
        match (who, verb) {
            ("a", Verb::Create) => match creates.fetch_add(1, Ordering::SeqCst) {
                0 => Fault::Lost,
                1 => Fault::AnswerLost,
                _ => way,
            },
            ("a", Verb::Event) => Fault::Slow { before: 3000 * MS, after: Duration::ZERO },
            ("a", Verb::Get) => {
                asked.fetch_add(u32::from(creates.load(Ordering::SeqCst) == 2), Ordering::SeqCst);
                way
            }
            ("a", _) => way,
            _ => Fault::None,
        }
    });
    let config = |who| fast(who).takeover_jitter(Duration::ZERO);
    let a = Replica::start(stores.elector_of(Knows::Both, config("a"), 1), Duration::ZERO);
    // Two of a read, and one before the take-over.
    while gets.load(Ordering::SeqCst) < 3 {
        sleep_ms(1).await;
    }
    let late = stores.old.lease().unwrap().record;
    assert_eq!(stores.holders(), ("a".into(), "a".into()));
    stores.new.delete();
    let n = Replica::start(stores.elector_of(Knows::New, config("n"), 2), Duration::ZERO);
    n.leads().await;
    stores.dead.lock().unwrap().insert("n".into());
    sleep_ms(70).await;
    stores.new.delete();
    sleep_ms(2).await;
    // What it sent before arrives.
    stores.new.client("late").create(&late).await.unwrap();
    never_lead_both(&a, &n).await;
}

/// Played by a stage of `--full`: the stage `test` leaves `long` out.
mod long {
    use super::*;

    /// Its first half got no answer once, long ago. Then a half is deleted, and it makes that when
    /// it has waited.
    #[tokio::test(start_paused = true)]
    async fn what_got_no_answer_long_ago_costs_nothing_when_a_missing_half_is_made() {
        for unanswered in [false, true] {
            for gone in [Knows::Old, Knows::New] {
                let mut stores = Stores::new();
                let hit = Arc::new(AtomicBool::new(unanswered));
                let (once, dead) = (Arc::clone(&hit), Arc::clone(&stores.dead));
                stores.old = stores.old.with_faults(move |who, verb| {
                    if dead.lock().unwrap().contains(who) {
                        return Fault::Lost;
                    }
                    let is_hit =
                        who == "a" && verb == Verb::Update && once.swap(false, Ordering::SeqCst);
                    if is_hit { Fault::Lost } else { Fault::None }
                });
                stores.old.overwrite(Record::default());
                stores.new.overwrite(Record::default());
                let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
                if !unanswered {
                    // Somebody is there before it.
                    a.run.abort();
                }
                sleep_ms(10).await;
                let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
                b.leads().await;
                let a = if unanswered {
                    a
                } else {
                    Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO)
                };
                sleep_ms(3_600_000).await;
                assert!(leads(&b) && !hit.load(Ordering::SeqCst));
                // b crashes, and the half is deleted.
                stores.dead.lock().unwrap().insert("b".into());
                b.run.abort();
                if gone == Knows::Old {
                    stores.old.delete()
                } else {
                    stores.new.delete()
                }
                let began = Instant::now();
                let took = a.leads().await - began;
                assert!(took <= LEASE + 500 * MS, "unanswered {unanswered}, {gone:?}: {took:?}");
            }
        }
    }
}
