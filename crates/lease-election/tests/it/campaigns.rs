//! Campaigns: a loop of the caller's own, its pauses, and its reports about the lease.

use std::time::Duration;

use lease_election::{Fault, LeaderElector, Outcome, Release, Verb};
use tokio::time::Instant;

use crate::cluster::{Cluster, fast, sleep_ms};

const MS: Duration = Duration::from_millis(1);

fn stop_after(elector: &LeaderElector, millis: u64) {
    let stop = elector.stop_handle();
    tokio::spawn(async move {
        sleep_ms(millis).await;
        stop.stop();
    });
}

#[tokio::test(start_paused = true)]
async fn terms_that_are_taken_away_at_once_are_followed_by_ever_longer_pauses() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    stop_after(&elector, 60_000);
    let mut campaigns = elector.campaigns();
    let mut began = Vec::new();
    loop {
        let store = cluster.store.clone();
        let outcome = campaigns
            .run(move |leadership| async move {
                let began = Instant::now();
                let mut record = store.lease().unwrap().record;
                record.holder = String::new();
                store.overwrite(record);
                leadership.lost().await;
                began
            })
            .await;
        match outcome {
            Outcome::Lost(at) => began.push(at),
            other => break assert_eq!(other, Outcome::NeverLed),
        }
        assert_eq!(campaigns.release(), Release::NotDue);
    }
    let gaps: Vec<_> = began.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(gaps[..5], [1, 2, 4, 5, 5], "{gaps:?}");
    assert!(gaps[5..].iter().all(|gap| *gap == 5), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn the_pause_counts_from_the_end_of_the_term_and_a_stop_ends_it() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let mut campaigns = elector.campaigns();
    assert_eq!(campaigns.run(async |_| ()).await, Outcome::Finished(()));
    let ended = Instant::now();
    assert_eq!(campaigns.release(), Release::GivenBack);
    sleep_ms(600).await;
    assert_eq!(campaigns.run(async |_| Instant::now()).await, Outcome::Finished(ended + 1000 * MS));
    stop_after(&elector, 500);
    let ended = Instant::now();
    assert_eq!(campaigns.run(async |_| ()).await, Outcome::NeverLed);
    assert_eq!((ended.elapsed(), campaigns.release()), (500 * MS, Release::NotDue));
    campaigns.end().await;
}

#[tokio::test(start_paused = true)]
async fn work_that_panics_again_and_again_pauses_as_if_it_returned() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let mut campaigns = elector.campaigns();
    let mut panics = async || {
        let work = |_| async { std::panic::resume_unwind(Box::new("oh")) };
        let run = std::panic::AssertUnwindSafe(campaigns.run::<_, _, ()>(work));
        futures::FutureExt::catch_unwind(run).await.unwrap_err();
        Instant::now()
    };
    let first = panics().await;
    // The stop margin of the second run, and the pause before it.
    assert!(panics().await - first >= 2000 * MS);
    assert_eq!(campaigns.release(), Release::GivenBack);
}

#[tokio::test(start_paused = true)]
async fn a_release_that_fails_is_told_and_so_is_one_that_is_not_wanted() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let mut campaigns = elector.campaigns();
    let cut = cluster.clone();
    let outcome =
        campaigns.run(async move |_| cut.set("a", &[Verb::Update, Verb::Get], Fault::Lost)).await;
    assert_eq!((outcome, campaigns.release()), (Outcome::Finished(()), Release::Failed));
    assert_eq!(cluster.holder(), "a");
    let mut keeping = Cluster::new().elector(fast("k").release_on_stop(false)).campaigns();
    let outcome = keeping.run(async |_| ()).await;
    assert_eq!((outcome, keeping.release()), (Outcome::Finished(()), Release::NotDue));
}
