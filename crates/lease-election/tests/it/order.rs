//! Order: which half of two stores is written first, and what a refused, late, unanswered or
//! distant half costs the others.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{ConfigBuilder, Fault, LeaseStore, MultiStore, Record, StoreError, Verb};
use tokio::time::Instant;

use crate::cluster::{LEASE, Replica, fast, sleep_ms};
use crate::migration::{Knows, Stores, leads, led_by};

const MS: Duration = Duration::from_millis(1);

/// The electors of these tests take over at once.
fn eager(identity: &str) -> ConfigBuilder {
    fast(identity).takeover_jitter(Duration::ZERO)
}

fn failed() -> Fault {
    Fault::Refused(StoreError::unknown("500"))
}

fn forbidden() -> Fault {
    Fault::Refused(StoreError::Rejected { code: 403, message: "no".into() })
}

/// Requests take `before`, their answers `after`, and events no time.
fn slow(before: Duration, after: Duration) -> impl Fn(Verb) -> Fault + Clone {
    move |verb| match verb {
        Verb::Event => Fault::None,
        _ => Fault::Slow { before, after },
    }
}

/// The faults of the updates of `a`, one after the other: `false` is the old store, `true` the new
/// one. `calls` gives the faults of all other calls.
fn scripted(
    stores: &mut Stores,
    calls: impl Fn(&str, Verb) -> Fault + Clone + Send + Sync + 'static,
) -> Arc<Mutex<Vec<(bool, Fault)>>> {
    let script: Arc<Mutex<Vec<(bool, Fault)>>> = Arc::default();
    let of = |is_new: bool| {
        let (script, calls) = (Arc::clone(&script), calls.clone());
        move |client: &str, verb: Verb| {
            let mut script = script.lock().unwrap();
            let is_hit = client == "a"
                && verb == Verb::Update
                && script.first().is_some_and(|next| next.0 == is_new);
            if is_hit { script.remove(0).1 } else { calls(client, verb) }
        }
    };
    (stores.old, stores.new) =
        (stores.old.with_faults(of(false)), stores.new.with_faults(of(true)));
    script
}

/// Its first write of the second half failed once, so it writes that half first from then on. It
/// may not write the other half.
#[tokio::test(start_paused = true)]
async fn one_that_may_write_the_second_half_only_leaves_the_lease_to_the_others() {
    for (rival, maintenance) in
        [(Knows::Both, false), (Knows::Both, true), (Knows::New, false), (Knows::New, true)]
    {
        let mut stores = Stores::new();
        let (olds, news) = (AtomicU32::new(0), AtomicU32::new(0));
        let is_update = |client: &str, verb| client == "a" && verb == Verb::Update;
        stores.old = stores.old.with_faults(move |client, verb| {
            let is_hit = is_update(client, verb) && olds.fetch_add(1, Ordering::SeqCst) > 0;
            if is_hit { forbidden() } else { Fault::None }
        });
        stores.new = stores.new.with_faults(move |client, verb| {
            let is_hit = is_update(client, verb) && news.fetch_add(1, Ordering::SeqCst) == 0;
            if is_hit { failed() } else { Fault::None }
        });
        stores.old.overwrite(led_by("dead"));
        stores.new.overwrite(led_by("dead"));
        let a = Replica::start(stores.elector_of(Knows::Both, eager("a"), 1), Duration::ZERO);
        sleep_ms(1000).await;
        let b = Replica::start(stores.elector_of(rival, eager("b"), 2), Duration::ZERO);
        while stores.holders().0 != "a" {
            sleep_ms(1).await;
        }
        if maintenance {
            a.elector.maintenance().begin();
        }
        let began = Instant::now();
        let took = b.leads().await - began;
        assert!(took <= LEASE + 200 * MS, "{rival:?}, maintenance {maintenance}: {took:?}");
    }
}

/// A migration goes from the middle step to the last: the rights change before the new replicas
/// start.
#[tokio::test(start_paused = true)]
async fn rights_on_the_old_half_that_are_withdrawn_too_early_keep_nobody_out_who_knows_the_new_one()
{
    for once in [false, true] {
        let mut stores = Stores::new();
        let (withdrawn, fails) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(once)));
        let (gone, failing) = (Arc::clone(&withdrawn), Arc::clone(&fails));
        stores.old = stores.old.with_faults(move |_, verb| match verb {
            Verb::Update | Verb::Create if gone.load(Ordering::SeqCst) => forbidden(),
            _ => Fault::None,
        });
        stores.new = stores.new.with_faults(move |client, verb| {
            let is_hit = client == "a" && verb == Verb::Update && failing.load(Ordering::SeqCst);
            if is_hit { failed() } else { Fault::None }
        });
        stores.old.overwrite(led_by("dead"));
        stores.new.overwrite(led_by("dead"));
        let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        if once {
            while stores.holders().0 != "a" {
                sleep_ms(1).await;
            }
            let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
            b.leads().await;
            fails.store(false, Ordering::SeqCst);
            sleep_ms(3_600_000).await;
            assert!(leads(&b), "an hour, in which the other one had no reason to write");
            withdrawn.store(true, Ordering::SeqCst);
            sleep_ms(10_000).await;
            b.run.abort();
        } else {
            a.leads().await;
            withdrawn.store(true, Ordering::SeqCst);
        }
        let began = Instant::now();
        let new = Replica::start(stores.elector(Knows::New, "new", 3), Duration::ZERO);
        let took = new.leads().await - began;
        assert!(took <= 2 * LEASE + 400 * MS, "failed once {once}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn half_of_an_acquisition_is_given_back_beside_a_standby_that_is_well() {
    for stops in [false, true] {
        for way in [1, 2, 5, 20] {
            // The answer is lost. Then the release succeeds, or its second half fails and is made
            // good. A stop waits for one request only.
            for faults in [vec![], vec![(false, failed())], vec![(false, Fault::Lost)]] {
                if stops && faults.iter().any(|(_, fault)| *fault == Fault::Lost) {
                    continue;
                }
                let mut stores = Stores::new();
                // The standby is nearer to the server.
                let (near, far) = (slow(way * MS, way * MS), slow(2 * way * MS, 2 * way * MS));
                let script = scripted(
                    &mut stores,
                    move |who, verb| if who == "a" { far(verb) } else { near(verb) },
                );
                stores.old.overwrite(Record::default());
                stores.new.overwrite(Record::default());
                *script.lock().unwrap() =
                    [(false, Fault::AnswerLost)].into_iter().chain(faults.clone()).collect();
                let a =
                    Replica::start(stores.elector_of(Knows::Both, eager("a"), 1), Duration::ZERO);
                while stores.holders().0 != "a" {
                    sleep_ms(1).await;
                }
                let b =
                    Replica::start(stores.elector_of(Knows::Both, eager("b"), 2), Duration::ZERO);
                sleep_ms(500).await;
                let asked = Instant::now();
                if stops {
                    a.elector.stop_handle().stop();
                } else {
                    a.elector.maintenance().begin();
                }
                let took = b.leads().await - asked;
                assert!(script.lock().unwrap().is_empty());
                assert!(took <= 2500 * MS, "stops {stops}, {way} ms, {faults:?}: {took:?}");
            }
        }
    }
}

/// Half a renewal, then one in the other order, whose second half is late when the leader stops.
#[tokio::test(start_paused = true)]
async fn a_release_follows_a_renewal_in_the_other_order() {
    for late in [None, Some(950), Some(1000), Some(1100), Some(1200), Some(1350)] {
        let mut stores = Stores::new();
        let calls = slow(50 * MS, Duration::ZERO);
        let script = scripted(&mut stores, move |_, verb| calls(verb));
        stores.old.overwrite(Record::default());
        stores.new.overwrite(Record::default());
        let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        a.leads().await;
        let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
        sleep_ms(1500).await;
        *script.lock().unwrap() = vec![
            (true, failed()),
            (false, late.map_or(Fault::Lost, |late| Fault::Late(late * MS))),
        ];
        while !script.lock().unwrap().is_empty() {
            sleep_ms(1).await;
        }
        sleep_ms(10).await;
        let asked = Instant::now();
        a.elector.stop_handle().stop();
        let took = b.leads().await - asked;
        assert!(took <= 2500 * MS, "{late:?}: {took:?}");
    }
}

/// A request may take 900 ms. One half of a renewal failed, and the next renewal must not take
/// longer because of it.
#[tokio::test(start_paused = true)]
async fn a_renewal_on_a_long_way_of_which_half_failed_once_costs_no_term() {
    for way in [200, 250, 290] {
        let mut stores = Stores::new();
        let requests = slow(way * MS, Duration::ZERO);
        let same = requests.clone();
        stores.old = stores.old.with_faults(move |_, verb| same(verb));
        let fails = Arc::new(AtomicBool::new(false));
        let once = Arc::clone(&fails);
        stores.new = stores.new.with_faults(move |client, verb| {
            let is_hit =
                client == "a" && verb == Verb::Update && once.swap(false, Ordering::SeqCst);
            if is_hit { failed() } else { requests(verb) }
        });
        stores.old.overwrite(Record::default());
        stores.new.overwrite(Record::default());
        let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        a.leads().await;
        let _b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
        sleep_ms(20_000).await;
        fails.store(true, Ordering::SeqCst);
        sleep_ms(60_000).await;
        assert!(leads(&a) && !fails.load(Ordering::SeqCst));
        assert_eq!(a.elector.stats().terms, 1, "{way} ms");
    }
}

/// `a` leads, and makes way for a short maintenance, perhaps with half a release that fails. Then
/// `b` leads. All links are well when `b` is stopped, before two standbys.
#[tokio::test(start_paused = true)]
async fn how_a_release_went_long_ago_costs_nothing_when_the_next_leader_stops() {
    for (way, fails) in [(1, false), (1, true), (5, false), (5, true), (20, false), (20, true)] {
        let mut stores = Stores::new();
        let (calls, armed) = (slow(way * MS, way * MS), Arc::new(AtomicBool::new(false)));
        let (others, once) = (calls.clone(), Arc::clone(&armed));
        stores.old = stores.old.with_faults(move |_, verb| calls(verb));
        stores.new = stores.new.with_faults(move |who, verb| {
            let is_hit = who == "a" && verb == Verb::Update && once.swap(false, Ordering::SeqCst);
            if is_hit { failed() } else { others(verb) }
        });
        stores.old.overwrite(Record::default());
        stores.new.overwrite(Record::default());
        let start = |who, seed| {
            Replica::start(stores.elector_of(Knows::Both, eager(who), seed), Duration::ZERO)
        };
        let a = stores.elector_of(Knows::Both, eager("a"), 1);
        let running = a.clone();
        tokio::spawn(async move {
            running.run_forever(|leadership| async move { drop(leadership.ending().await) }).await;
        });
        while !a.is_leader() {
            sleep_ms(1).await;
        }
        let b = start("b", 2);
        sleep_ms(2000).await;
        armed.store(fails, Ordering::SeqCst);
        a.maintenance().begin();
        b.leads().await;
        assert!(!armed.load(Ordering::SeqCst));
        a.maintenance().end();
        let c = start("c", 3);
        sleep_ms(30_000).await;
        assert!(leads(&b));
        let asked = Instant::now();
        b.elector.stop_handle().stop();
        while !leads(&c) && !a.is_leader() {
            sleep_ms(1).await;
        }
        let took = asked.elapsed();
        assert!(took <= (12 * way + 5) * MS, "{way} ms, failed half {fails}: {took:?}");
    }
}

/// Both stores as one for `a`, without an elector.
fn both(stores: &Stores) -> MultiStore {
    let config = fast("a").build().unwrap();
    MultiStore::new(stores.old.client("a"), stores.new.client("a"), &config)
}

/// Records of `a`: this one holds the lease, and `free` releases it.
fn held(id: &str) -> Record {
    Record { write_id: Some(id.into()), ..led_by("a") }
}

fn free(id: &str) -> Record {
    Record { write_id: Some(id.into()), ..Record::default() }
}

/// Another candidate has already written the free half.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_release_leaves_half_a_take_over_of_another_s_alone() {
    let mut stores = Stores::new();
    let fails = Arc::new(AtomicBool::new(true));
    let armed = Arc::clone(&fails);
    stores.new = stores.new.with_faults(move |who, verb| {
        let is_hit = who == "a" && verb == Verb::Update && armed.swap(false, Ordering::SeqCst);
        if is_hit { failed() } else { Fault::None }
    });
    let both = both(&stores);
    stores.old.overwrite(held("a.1"));
    stores.new.overwrite(held("a.1"));
    let told = both.get().await.unwrap().unwrap();
    both.update(&told.version, &free("a.2")).await.unwrap_err();
    assert_eq!(stores.holders(), (String::new(), "a".into()));
    let told = both.get().await.unwrap().unwrap();
    // Another candidate waited for it, and has written the first half, whose event is in flight.
    stores.old.overwrite(led_by("b"));
    assert_eq!(both.update(&told.version, &free("a.3")).await, Err(StoreError::Conflict));
    assert_eq!(
        stores.holders(),
        ("b".into(), "a".into()),
        "the second half of b's take-over meets a conflict"
    );
}

/// A label leaves half a release. Then an acquisition has a late first half, before the rest of the
/// release. Only one of these two may be applied.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_release_is_not_made_beside_a_late_half() {
    let mut stores = Stores::new();
    let late = Arc::new(AtomicBool::new(false));
    let armed = Arc::clone(&late);
    stores.old = stores.old.with_faults(move |who, verb| {
        let is_hit = who == "a" && verb == Verb::Update && armed.swap(false, Ordering::SeqCst);
        if is_hit { Fault::Late(1000 * MS) } else { Fault::None }
    });
    let both = both(&stores);
    stores.old.overwrite(held("a.1"));
    stores.new.overwrite(held("a.1"));
    let told = both.get().await.unwrap().unwrap();
    stores.new.touch();
    let now = both.get().await.unwrap().unwrap();
    assert_ne!(told.version, now.version);
    // Its own lease: it writes both halves without a read.
    let told = both.update(&now.version, &held("a.2")).await.unwrap();
    stores.new.touch();
    assert_eq!(both.update(&told.version, &free("a.3")).await, Err(StoreError::Conflict));
    assert_eq!(stores.holders(), (String::new(), "a".into()));
    let told = both.get().await.unwrap().unwrap();
    late.store(true, Ordering::SeqCst);
    let sent = tokio::time::timeout(900 * MS, both.update(&told.version, &held("a.4"))).await;
    assert!(sent.is_err());
    let told = both.get().await.unwrap().unwrap();
    let _ = both.update(&told.version, &free("a.5")).await;
    sleep_ms(2000).await;
    assert_eq!(stores.holders(), (String::new(), String::new()), "held by one that gave it back");
}

/// The first half of its writes is applied, and never answered. Its other requests are answered,
/// and another candidate is well.
#[tokio::test(start_paused = true)]
async fn one_whose_writes_of_one_half_are_not_answered_keeps_nobody_out() {
    for is_new in [false, true] {
        for rival in [Knows::Both, Knows::Old, Knows::New] {
            let mut stores = Stores::new();
            let unanswered = |who: &str, verb| {
                if who == "a" && verb == Verb::Update { Fault::AnswerLost } else { Fault::None }
            };
            if is_new {
                stores.new = stores.new.with_faults(unanswered);
            } else {
                stores.old = stores.old.with_faults(unanswered);
            }
            let ground = Record { lease_duration_seconds: 1, ..led_by("dead") };
            stores.old.overwrite(ground.clone());
            stores.new.overwrite(ground);
            let a = Replica::start(stores.elector_of(Knows::Both, eager("a"), 1), Duration::ZERO);
            let config = fast("b").takeover_jitter(500 * MS);
            let b = Replica::start(stores.elector_of(rival, config, 2), Duration::ZERO);
            let began = Instant::now();
            while !leads(&b) && !leads(&a) {
                assert!(
                    began.elapsed() < LEASE * 2,
                    "new {is_new}, {rival:?}: {:?}",
                    stores.holders()
                );
                sleep_ms(1).await;
            }
        }
    }
}

/// Its writes of either half are applied, and answered too late or never. Its reads are answered;
/// events arrive, or do not. With one store it would lead by its reads.
#[tokio::test(start_paused = true)]
async fn one_whose_writes_of_either_half_are_not_answered_leads_by_what_it_reads() {
    let too_late = Fault::Slow { before: Duration::ZERO, after: 2000 * MS };
    for answer in [Fault::AnswerLost, Fault::AppliedBut(StoreError::unknown("500")), too_late] {
        for hears in [true, false] {
            for there in [[true, true], [true, false], [false, true]] {
                let mut stores = Stores::new();
                let fails = answer.clone();
                let unanswered = move |_: &str, verb| match verb {
                    Verb::Create | Verb::Update => fails.clone(),
                    Verb::Event if !hears => Fault::Lost,
                    _ => Fault::None,
                };
                stores.old = stores.old.with_faults(unanswered.clone());
                stores.new = stores.new.with_faults(unanswered);
                for (store, is_there) in [&stores.old, &stores.new].into_iter().zip(there) {
                    if is_there {
                        store.overwrite(Record::default());
                    }
                }
                let a =
                    Replica::start(stores.elector_of(Knows::Both, eager("a"), 1), Duration::ZERO);
                let began = Instant::now();
                let took = a.leads().await - began;
                // A time-out for each half that it creates or takes, and less for the rest.
                assert!(took <= 4000 * MS, "{answer:?} {hears} {there:?}: {took:?}");
                // Without events it has no time to read both halves after each renewal as well.
                sleep_ms(60_000).await;
                assert!(leads(&a) || !hears, "{answer:?} {there:?}");
            }
        }
    }
}

/// A proxy admits one write in 200 ms: half of each.
#[tokio::test(start_paused = true)]
async fn one_whose_second_write_in_a_moment_is_refused_keeps_nobody_out() {
    for fault in [Fault::Refused(StoreError::TooManyRequests { retry_after: None }), Fault::Lost] {
        let mut stores = Stores::new();
        let last: Arc<Mutex<Option<Instant>>> = Arc::default();
        let limit = || {
            let (last, fault) = (Arc::clone(&last), fault.clone());
            move |who: &str, verb: Verb| {
                if who != "a" || verb != Verb::Update {
                    return Fault::None;
                }
                let mut last = last.lock().unwrap();
                if last.is_some_and(|last| last.elapsed() < 200 * MS) {
                    return fault.clone();
                }
                *last = Some(Instant::now());
                Fault::None
            }
        };
        (stores.old, stores.new) =
            (stores.old.with_faults(limit()), stores.new.with_faults(limit()));
        stores.old.overwrite(Record::default());
        stores.new.overwrite(Record::default());
        let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        sleep_ms(100).await;
        let b = Replica::start(stores.elector(Knows::Both, "b", 2), Duration::ZERO);
        let began = Instant::now();
        while !leads(&a) && !leads(&b) {
            assert!(began.elapsed() < LEASE, "{fault:?}: nobody leads");
            sleep_ms(10).await;
        }
    }
}

/// The first half of an acquisition is applied, and the second one cannot be for minutes. By then
/// the elector has sent more writes than it remembers.
#[tokio::test(start_paused = true)]
async fn one_that_could_not_write_the_second_half_for_minutes_leads_when_it_can() {
    for befalls in [failed(), forbidden(), Fault::Lost] {
        for seconds in [10, 150, 300] {
            let mut stores = Stores::new();
            let is_away = Arc::new(AtomicBool::new(true));
            let away = Arc::clone(&is_away);
            let told = format!("{befalls:?}, {seconds} s");
            let befalls = befalls.clone();
            stores.new = stores.new.with_faults(move |_, verb| {
                if verb == Verb::Update && away.load(Ordering::SeqCst) {
                    befalls.clone()
                } else {
                    Fault::None
                }
            });
            stores.old.overwrite(Record::default());
            stores.new.overwrite(Record::default());
            let a = Replica::start(stores.elector_of(Knows::Both, eager("a"), 1), Duration::ZERO);
            sleep_ms(seconds * 1000).await;
            is_away.store(false, Ordering::SeqCst);
            let healed = Instant::now();
            let took = a.leads().await - healed;
            // The longest pause after failed writes, and a request.
            assert!(took <= 3500 * MS, "{told}: {took:?}");
        }
    }
}

/// The same without a watch: the elector learns of its half renewal by a read, after it has tried
/// again on the version before.
#[tokio::test(start_paused = true)]
async fn a_leader_that_polls_and_whose_second_write_in_a_moment_is_refused_renews() {
    for knows in [Knows::Old, Knows::Both] {
        let mut stores = Stores::new();
        let last: Arc<Mutex<Option<Instant>>> = Arc::default();
        let limit = || {
            let last = Arc::clone(&last);
            move |_: &str, verb: Verb| {
                if verb == Verb::Watch {
                    return forbidden();
                }
                if verb != Verb::Update {
                    return Fault::None;
                }
                let mut last = last.lock().unwrap();
                if last.is_some_and(|last| last.elapsed() < 200 * MS) {
                    return Fault::Refused(StoreError::TooManyRequests { retry_after: None });
                }
                *last = Some(Instant::now());
                Fault::None
            }
        };
        (stores.old, stores.new) =
            (stores.old.with_faults(limit()), stores.new.with_faults(limit()));
        stores.old.overwrite(Record::default());
        stores.new.overwrite(Record::default());
        let a = Replica::start(stores.elector(knows, "a", 1), Duration::ZERO);
        a.leads().await;
        sleep_ms(60_000).await;
        assert!(leads(&a), "{knows:?} {:?}", a.elector.stats());
        a.run.abort();
    }
}
