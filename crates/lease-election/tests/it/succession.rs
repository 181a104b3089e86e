//! Succession: voluntary hand-over to a named successor, and the order of the waiting candidates.

use std::time::Duration;

use lease_election::{
    Ending, Fault, HandOverError, Leadership, Lost, MAX_RANK, MemoryLeaseStore, Outcome, Verb,
};
use tokio::time::Instant;

use crate::cluster::{Cluster, LEASE, Replica, fast, sleep_ms};

const MS: Duration = Duration::from_millis(1);

/// An identity and its rank.
type Standby = (&'static str, Option<u8>);

/// A leader `a`, and standbys with these identities and ranks.
async fn with_standbys(cluster: &Cluster, standbys: &[Standby]) -> (Replica, Vec<Replica>) {
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let standby = |(identity, rank): &Standby| {
        let config = rank.map_or(fast(identity), |rank| fast(identity).rank(rank));
        Replica::start(cluster.elector(config), Duration::ZERO)
    };
    let standbys = standbys.iter().map(standby).collect();
    sleep_ms(3000).await;
    (a, standbys)
}

/// The next leader, once there is one.
async fn next_leader(cluster: &Cluster) -> String {
    while cluster.holder().is_empty() {
        sleep_ms(1).await;
    }
    cluster.holder()
}

fn leadership(replica: &Replica) -> Leadership {
    replica.last().leadership
}

#[tokio::test(start_paused = true)]
async fn the_successor_that_was_named_leads_though_it_hears_of_it_last() {
    let names = ["b", "c", "d", "e", "f"];
    for successor in names {
        let cluster = Cluster::new();
        cluster.set(
            successor,
            &[Verb::Event],
            Fault::Slow { before: 300 * MS, after: Duration::ZERO },
        );
        let (a, standbys) = with_standbys(&cluster, &names.map(|name| (name, None))).await;
        let asked = Instant::now();
        leadership(&a).hand_over_to(successor).unwrap();
        let named =
            standbys.iter().find(|standby| standby.elector.config().identity() == successor);
        let began = named.unwrap().leads().await;
        assert!(began - asked <= 302 * MS, "took {:?}", began - asked);
        assert_eq!(cluster.holder(), successor);
        assert_eq!(a.run.await.unwrap(), Outcome::Finished(Ending::StopRequested));
        assert!(!a.elector.is_stopped());
        assert_eq!(
            standbys.iter().map(|standby| standby.terms.lock().unwrap().len()).sum::<usize>(),
            1
        );
        // The first renewal removes the hint.
        assert_eq!(cluster.store.lease().unwrap().record.successor, "");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_to_one_that_is_not_there_is_over_soon_and_by_rank() {
    // The standbys, their wait, and the candidates that may be first.
    let cases: [(&[Standby], u32, &[&str]); 3] = [
        (&[("b", None), ("c", None)], 2600, &["b", "c"]),
        (&[("b", None), ("c", Some(2)), ("d", Some(1))], 1200, &["d"]),
        (&[("b", None), ("c", Some(MAX_RANK))], 2400, &["c"]),
    ];
    for (standbys, millis, first) in cases {
        let cluster = Cluster::new();
        let (a, _standbys) = with_standbys(&cluster, standbys).await;
        leadership(&a).hand_over_to("nobody").unwrap();
        let asked = Instant::now();
        a.run.await.unwrap();
        assert_eq!(cluster.holder(), "");
        let next = next_leader(&cluster).await;
        let took = asked.elapsed();
        assert!(first.contains(&&*next), "{next}");
        let bound = millis * MS;
        assert!(bound <= took && took <= bound + 205 * MS, "took {took:?} instead of {bound:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_work_winds_up_under_the_lease_before_it_is_handed_over() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), 7000 * MS);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(2000).await;
    let leadership = leadership(&a);
    leadership.hand_over_to("c").unwrap();
    // The last call counts.
    leadership.hand_over_to("b").unwrap();
    leadership.step_down().unwrap();
    assert!(leadership.is_stopping() && leadership.is_valid());
    b.leads().await;
    let (told, ending) = a.last().told.unwrap();
    assert_eq!(ending, Ending::StopRequested);
    let ended = a.last().ended.expect("its work ended before");
    assert_eq!(ended - told, 7000 * MS, "longer than a lease");
    assert!(b.last().began >= ended && b.last().began - ended <= 3 * MS);
    assert_eq!(a.elector.stats().releases, 1);
    assert!(matches!(leadership.hand_over_to("b"), Err(HandOverError::Lost(Lost(_)))));
    assert!(matches!(leadership.step_down(), Err(HandOverError::Lost(_))));
}

#[tokio::test(start_paused = true)]
async fn who_stepped_down_campaigns_again_and_leaves_the_lease_to_its_successor_for_a_while() {
    for (successor, earliest, latest) in [(None, 1000, 1010), (Some("nobody"), 2600, 2810)] {
        let cluster = Cluster::new();
        let elector = cluster.elector(fast("a"));
        let running = elector.clone();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let run = tokio::spawn(async move {
            running
                .run_forever(move |leadership| {
                    tell.send(leadership.clone()).unwrap();
                    async move { drop(leadership.ending().await) }
                })
                .await;
        });
        let first = told.recv().await.unwrap();
        sleep_ms(2000).await;
        let asked = Instant::now();
        match successor {
            None => first.step_down().unwrap(),
            Some(successor) => first.hand_over_to(successor).unwrap(),
        }
        let second = told.recv().await.unwrap();
        let took = asked.elapsed();
        assert!(earliest * MS <= took && took <= latest * MS, "{successor:?} took {took:?}");
        assert!(second.fence() > first.fence());
        elector.stop_handle().stop();
        run.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_hands_over_to_itself_or_to_what_is_no_name_or_what_it_keeps() {
    let cluster = Cluster::new();
    let (a, _) = with_standbys(&cluster, &[]).await;
    let leadership = leadership(&a);
    assert_eq!(leadership.hand_over_to("a"), Err(HandOverError::OwnIdentity));
    for blank in ["", " ", "a\n", &"x".repeat(254)] {
        let refused = leadership.hand_over_to(blank);
        assert!(
            matches!(&refused, Err(HandOverError::Identity(error)) if error.field == "identity")
        );
    }
    assert!(!leadership.is_stopping());
    a.elector.stop_handle().stop();
    a.run.await.unwrap();
    let keeper = Replica::start(cluster.elector(fast("k").release_on_stop(false)), Duration::ZERO);
    keeper.leads().await;
    assert_eq!(keeper.last().leadership.hand_over_to("b"), Err(HandOverError::NeverReleases));
    assert_eq!(keeper.last().leadership.step_down(), Err(HandOverError::NeverReleases));
    assert!(!keeper.last().leadership.is_stopping());
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_the_ranks_take_over_in_their_order() {
    for (ranks, first) in [([0, 1, 2], "b"), ([3, 1, 2], "c"), ([7, 7, 6], "d")] {
        let cluster = Cluster::new();
        let standbys: Vec<_> = ["b", "c", "d"].into_iter().zip(ranks.map(Some)).collect();
        let (a, _standbys) = with_standbys(&cluster, &standbys).await;
        cluster.cut("a");
        while cluster.holder() == "a" {
            sleep_ms(1).await;
        }
        assert_eq!(cluster.holder(), first);
        a.run.abort();
    }
    // A release goes to the first candidate that comes: the last rank does not delay it.
    let cluster = Cluster::new();
    let (a, _standbys) = with_standbys(&cluster, &[("b", Some(MAX_RANK))]).await;
    let asked = Instant::now();
    a.elector.stop_handle().stop();
    a.run.await.unwrap();
    assert_eq!(next_leader(&cluster).await, "b");
    assert!(asked.elapsed() <= 3 * MS);
}

/// A hint costs the bound, and not the lease, whichever client writes it.
#[tokio::test(start_paused = true)]
async fn a_hint_that_is_written_again_and_again_keeps_nobody_from_a_lease_that_is_free() {
    let cluster = Cluster::new();
    let (a, _standbys) = with_standbys(&cluster, &[("b", None)]).await;
    leadership(&a).hand_over_to("nobody").unwrap();
    a.run.await.unwrap();
    let asked = Instant::now();
    // A label changes four times a second.
    let store: MemoryLeaseStore = cluster.store.client("operator");
    let labels = tokio::spawn(async move {
        loop {
            sleep_ms(250).await;
            store.touch();
        }
    });
    assert_eq!(next_leader(&cluster).await, "b");
    assert!(asked.elapsed() <= LEASE, "took {:?}", asked.elapsed());
    labels.abort();
}
