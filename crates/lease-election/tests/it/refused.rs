//! Refused: a server that refuses an elector's requests again and again, and how the elector
//! reports and paces them.

use std::time::Duration;

use lease_election::{Fault, StoreError, Verb};

use crate::cluster::{Cluster, Replica, fast, sleep_ms};

/// Admission or a quota: such a refusal leaves the version of the Lease as it was, and a lost race
/// leaves another.
#[tokio::test(start_paused = true)]
async fn a_server_that_answers_each_write_with_a_conflict_is_said_to_block_and_a_lost_race_is_not()
{
    let cluster = Cluster::new();
    let held = Replica::start(cluster.elector(fast("held")), Duration::ZERO);
    held.leads().await;
    held.elector.stop_handle().stop();
    held.run.await.unwrap();
    let refused = || Fault::Refused(StoreError::Conflict);
    let writes = [Verb::Create, Verb::Update];
    cluster.set("a", &writes, refused());
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    sleep_ms(20_000).await;
    assert_eq!(a.elector.status().blocked, Some(StoreError::Conflict));

    // The server does not refuse others, so this elector now meets a race.
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    b.leads().await;
    sleep_ms(5000).await;
    assert_eq!(a.elector.status().blocked, None, "it waits for the other as it should");
    b.elector.stop_handle().stop();
    b.run.await.unwrap();
    sleep_ms(20_000).await;
    assert_eq!(a.elector.status().blocked, Some(StoreError::Conflict));
    cluster.heal("a");
    a.leads().await;
    assert_eq!(a.elector.status().blocked, None);
}
