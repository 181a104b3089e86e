//! Missing: a 404 without a missing Lease: the namespace does not exist, or no server has watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::client::Body;
use kube::{Api, Client};
use lease_election::{Config, KubeLeaseStore, LeaderElector, LeaseStore, StoreError, TokioClock};
use serde_json::json;

use crate::cluster::{Replica, sleep_ms};

fn config(namespace: &str, identity: &str) -> Config {
    Config::builder(namespace, "lease").fast().identity(identity).build().unwrap()
}

fn elector(client: Client, config: Config) -> LeaderElector {
    LeaderElector::with_clock(KubeLeaseStore::new(client, &config), config, TokioClock::new(), 1)
}

#[tokio::test(start_paused = true)]
async fn without_its_namespace_an_elector_says_so_and_tries_again_until_it_is_there() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let a = Replica::start(elector(server.client(), config("nowhere", "a")), Duration::ZERO);
    let says_so = StoreError::Rejected { code: 404, message: "no namespace nowhere".into() };
    sleep_ms(100).await;
    for _ in 0..600 {
        assert_eq!(
            a.elector.status().blocked,
            Some(says_so.clone()),
            "also after a read, which finds no Lease"
        );
        sleep_ms(100).await;
    }
    let stats = a.elector.stats();
    let tried = stats.acquire_failures.rejected;
    assert!((10..=60).contains(&tried) && stats.reads <= 60, "in a minute: {stats:?}");
    assert_eq!(stats.acquire_failures.total(), tried);
    let namespace: Namespace =
        serde_json::from_value(json!({"metadata": {"name": "nowhere"}})).unwrap();
    Api::<Namespace>::all(server.client())
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    sleep_ms(3000).await;
    assert!(a.elector.is_leader());
    assert_eq!(a.elector.status().blocked, None);
}

/// A proxy without watches, or another server behind the same address.
fn without_watches(
    server: &EmbeddedApiServer,
    user: &str,
    body: &'static str,
    asked: &Arc<AtomicU64>,
) -> Client {
    let (server, asked) = (server.client_as(user), Arc::clone(asked));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (server, asked) = (server.clone(), Arc::clone(&asked));
        async move {
            if !request.uri().query().unwrap_or_default().contains("watch=") {
                return server.send(request).await;
            }
            asked.fetch_add(1, Ordering::SeqCst);
            let answer =
                http::Response::builder().status(404).body(Body::from(body.as_bytes().to_vec()));
            Ok(answer.unwrap())
        }
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn without_its_watch_an_elector_says_so_and_polls() {
    let status = r#"{"kind":"Status","code":404,"reason":"NotFound","message":"no such path"}"#;
    for (body, message) in [(status, "no such path"), ("404 page not found", "404 page not found")]
    {
        let server = EmbeddedApiServer::builder().seed(1).build();
        let asked = Arc::default();
        let client = without_watches(&server, "b", body, &asked);
        let refused =
            KubeLeaseStore::new(client.clone(), &config("default", "b")).watch(None).await;
        let error = refused.err().expect("it cannot watch");
        assert!(
            matches!(&error, StoreError::Rejected { code: 404, message: said } if said.contains(message)),
            "{error}"
        );
        let mut a =
            Replica::start(elector(server.client(), config("default", "a")), Duration::ZERO);
        a.leads().await;
        let b = Replica::start(elector(client, config("default", "b")), Duration::ZERO);
        sleep_ms(60_000).await;
        let opened = asked.load(Ordering::SeqCst);
        assert!((5..=25).contains(&opened), "in a minute: {opened}");
        let status = b.elector.status();
        assert_eq!((status.watching, status.unwatched, status.blocked), (false, Some(error), None));
        assert!(a.elector.status().watching && a.elector.status().unwatched.is_none());
        assert_eq!(b.elector.leader().as_deref(), Some("a"));
        a.elector.stop_handle().stop();
        (&mut a.run).await.unwrap();
        sleep_ms(2000).await;
        assert!(b.elector.is_leader(), "by a poll");
    }
}
