//! Upstream candidates: client-go's `leasecandidate_test.go` by name, and more, on an API server.

use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::PostParams;
use lease_election::{Clock as _, TokioClock, WithoutApi};

use crate::cluster::{Replica, sleep_ms};
use crate::coordinated::{candidates, elector};

async fn stands(server: &EmbeddedApiServer, name: &str) -> LeaseCandidate {
    for _ in 0..1000 {
        if let Some(found) = candidates(server).get_opt(name).await.unwrap() {
            return found;
        }
        sleep_ms(1).await;
    }
    panic!("no LeaseCandidate {name}")
}

/// TestLeaseCandidateCreation.
#[tokio::test(start_paused = true)]
async fn lease_candidate_creation() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let elector = elector(&server, TokioClock::new(), "foo", "1.3.0", WithoutApi::Wait);
    let _candidate = Replica::start(elector, Duration::ZERO);
    let spec = stands(&server, "foo").await.spec;
    assert_eq!((&*spec.lease_name, &*spec.binary_version), ("lease", "1.9.0"));
    assert_eq!(spec.emulation_version.as_deref(), Some("1.3.0"));
    assert_eq!(spec.strategy, "OldestEmulationVersion");
    assert!(spec.renew_time.is_some() && spec.ping_time.is_none());
}

/// TestLeaseCandidateAck.
#[tokio::test(start_paused = true)]
async fn lease_candidate_ack() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let clock = TokioClock::new();
    let asked_one =
        Replica::start(elector(&server, clock, "foo", "1.3.0", WithoutApi::Wait), Duration::ZERO);
    stands(&server, "foo").await;
    for second in 1..4 {
        sleep_ms(1000).await;
        let mut asked = stands(&server, "foo").await;
        // Upstream asks at its own time. Here the asking clock may also be ahead of the
        // candidate's.
        let ping = clock.wall() + jiff::SignedDuration::from_secs(second - 1);
        asked.spec.ping_time = Some(MicroTime(ping));
        candidates(&server).replace("foo", &PostParams::default(), &asked).await.unwrap();
        sleep_ms(50).await;
        let answered = stands(&server, "foo").await;
        let spec = answered.spec;
        assert!(spec.renew_time.is_some_and(|renew| renew.0 > ping));
        assert_eq!(spec.ping_time.map(|time| time.0), Some(ping));
        // The candidate answers once, whatever the clocks show.
        sleep_ms(500).await;
        let later = stands(&server, "foo").await;
        assert_eq!(later.metadata.resource_version, answered.metadata.resource_version);
    }
    asked_one.elector.stop_handle().stop();
    asked_one.run.await.unwrap();
    assert!(candidates(&server).get_opt("foo").await.unwrap().is_none());
}
