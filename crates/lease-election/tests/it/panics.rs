//! Panics: when the lease is released after work panics with requests in flight, and which caller
//! gets the panic.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{Config, ConfigBuilder, LeaderElector, Outcome};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cluster::{Cluster, Replica, fast, sleep_ms};

const MS: Duration = Duration::from_millis(1);

/// Leads, sends a request that lands after `travels`, and panics when told to end, or by itself
/// after a second and a half.
fn panics(
    elector: &LeaderElector,
    travels: Duration,
    landed: &Arc<Mutex<Option<Instant>>>,
) -> JoinHandle<()> {
    let (elector, landed) = (elector.clone(), Arc::clone(landed));
    tokio::spawn(async move {
        let _: Outcome<()> = elector
            .run(move |leadership| async move {
                let _ = tokio::time::timeout(1500 * MS, leadership.ending()).await;
                tokio::spawn(async move {
                    tokio::time::sleep(travels).await;
                    *landed.lock().unwrap() = Some(Instant::now());
                });
                std::panic::resume_unwind(Box::new("oh"))
            })
            .await;
    })
}

fn election(identity: &str) -> ConfigBuilder {
    Config::builder("ns", "lease").identity(identity)
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_given_back_as_soon_as_nothing_that_the_work_sent_can_land() {
    let long_margin =
        |identity| election(identity).request_timeout(2500 * MS).stop_margin(7000 * MS);
    let configs: [&dyn Fn(&'static str) -> ConfigBuilder; 3] = [
        &|identity| fast(identity),
        &|identity| election(identity).client_go_compatible(),
        &long_margin,
    ];
    for config in configs {
        let cluster = Cluster::new();
        let a = cluster.elector(config("a"));
        let (margin, landed) = (a.config().stop_margin(), Arc::default());
        let run = panics(&a, margin - MS, &landed);
        sleep_ms(10).await;
        let b = Replica::start(cluster.elector(config("b")), Duration::ZERO);
        sleep_ms(1490).await;
        let panicked = Instant::now();
        let began = b.leads().await;
        assert!(began >= landed.lock().unwrap().expect("it landed before"), "{margin:?}");
        let took = began - panicked;
        assert!(took >= margin && took < margin + 100 * MS, "{margin:?}: took {took:?}");
        assert!(run.await.unwrap_err().is_panic(), "it goes on where it was run");
        assert_eq!(
            (a.stats().releases, a.stats().failed_releases, a.stats().losses.expired),
            (1, 0, 0)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn so_it_is_when_a_stop_was_asked_for() {
    let cluster = Cluster::new();
    let a = cluster.elector(fast("a"));
    let landed = Arc::default();
    let run = panics(&a, 999 * MS, &landed);
    sleep_ms(1200).await;
    a.stop_handle().stop();
    let panicked = Instant::now();
    assert!(run.await.unwrap_err().is_panic());
    assert_eq!(cluster.holder(), "");
    assert!(landed.lock().unwrap().is_some());
    assert!(panicked.elapsed() < 1100 * MS, "took {:?}", panicked.elapsed());
}

/// The run waits only if it has to release.
#[tokio::test(start_paused = true)]
async fn where_nothing_is_given_back_the_panic_goes_on_at_once() {
    let landed = Arc::default();
    let cluster = Cluster::new();
    let a = cluster.elector(fast("a").release_on_stop(false));
    let run = panics(&a, MS, &landed);
    sleep_ms(1500).await;
    let panicked = Instant::now();
    assert!(run.await.unwrap_err().is_panic());
    assert!(panicked.elapsed() <= MS);

    let a = Cluster::new();
    let taken = a.store.clone();
    let elector = a.elector(fast("a"));
    let run = panics(&elector, MS, &landed);
    sleep_ms(1700).await;
    let deleted = Instant::now();
    taken.delete();
    assert!(run.await.unwrap_err().is_panic());
    assert!(deleted.elapsed() <= 10 * MS, "took {:?}", deleted.elapsed());
    assert_eq!((elector.stats().releases, elector.stats().failed_releases), (0, 1));
}
