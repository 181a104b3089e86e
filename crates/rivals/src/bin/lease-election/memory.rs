//! What an elector holds in memory, without the server and the connections to it: a thousand on an
//! embedded server in this process, less what such a server holds after the same writes with as
//! many watches and no electors.
#![expect(clippy::cast_precision_loss, reason = "far below 2^53")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use embedded_apiserver::EmbeddedApiServer;
use http_body_util::{BodyExt, Empty};
use lease_election::{
    BootClock, Clock as _, Config, KubeLeaseStore, LeaderElector, LeaseStore, Record,
};
use rivals::{measured, median};
use tokio::runtime::Builder;
use tower::ServiceExt;

use crate::{ELECTORS, NAMESPACE, allocated, pause};

fn config(number: usize) -> Result<Config> {
    Ok(Config::builder(NAMESPACE, format!("elector-{number}")).build()?)
}

pub(crate) fn run() -> Result<()> {
    let (with, renewals) = electors()?;
    // Each acquisition is a write, too.
    let without = watches(1 + renewals / ELECTORS as u64)? as f64;
    let each = (with - without) / ELECTORS as f64 / 1e3;
    eprintln!(
        "memory: {ELECTORS} electors and their server {:.1} kB each, the server alone {:.1} kB: {each:.1} kB an elector",
        with / ELECTORS as f64 / 1e3,
        without / ELECTORS as f64 / 1e3,
    );
    measured("memory", each);
    Ok(())
}

/// Bytes of a server and of electors that lead on it, and how often they have renewed.
fn electors() -> Result<(f64, u64)> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let before = allocated();
    let server = EmbeddedApiServer::new();
    let entered = runtime.enter();
    let client = server.client();
    let mut electors = Vec::new();
    for number in 0..ELECTORS {
        let config = config(number)?;
        let elector = LeaderElector::new(KubeLeaseStore::new(client.clone(), &config), config);
        let running = elector.clone();
        runtime.spawn(async move {
            running
                .run_forever(|leadership| async move {
                    let _ = leadership.ending().await;
                })
                .await;
        });
        electors.push(elector);
    }
    drop(entered);
    let deadline = BootClock.now().after(Duration::from_secs(60));
    while !electors.iter().all(|elector| elector.is_leader() && elector.status().watching) {
        ensure!(BootClock.now() < deadline, "not all of them lead");
        pause(Duration::from_millis(10));
    }
    // As many renewals as make all that is kept for reuse as large as it gets.
    pause(Duration::from_secs(10));
    // Over a retry period: what renewals under way hold comes and goes.
    let mut looks: Vec<f64> = Vec::new();
    for _ in 0..40 {
        pause(Duration::from_millis(50));
        looks.push(allocated().saturating_sub(before) as f64);
    }
    let held = median(&mut looks);
    let renewals = electors.iter().map(|elector| elector.stats().renewals).sum();
    runtime.shutdown_timeout(Duration::from_secs(5));
    Ok((held, renewals))
}

/// Bytes of a server with as many Leases, each written so often and watched by nobody who
/// understands it.
fn watches(writes: u64) -> Result<usize> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let before = allocated();
    let server = EmbeddedApiServer::new();
    let held = runtime.block_on(async {
        let client = server.client();
        for number in 0..ELECTORS {
            let config = config(number)?;
            let store = KubeLeaseStore::new(client.clone(), &config);
            let now = Some(BootClock.wall());
            let mut record = Record { holder: config.identity().to_owned(), ..Record::default() };
            (record.lease_duration_seconds, record.acquire_time, record.renew_time) = (15, now, now);
            record.write_id = Some(format!("{number:016x}.1"));
            let mut version = store.create(&record).await?.version;
            let path = format!(
                "/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases?watch=true&timeoutSeconds=290&fieldSelector=metadata.name%3D{}&resourceVersion={}",
                config.name(),
                version.resource_version,
            );
            let request = http::Request::get(path).body(Empty::<bytes::Bytes>::new())?;
            let answer = server.service().oneshot(request).await?;
            ensure!(answer.status().is_success(), "a watch was answered {}", answer.status());
            let mut body = Box::pin(answer.into_body());
            tokio::spawn(async move { while let Some(Ok(_)) = body.frame().await {} });
            for write in 2..=writes {
                record.write_id = Some(format!("{number:016x}.{write}"));
                version = store.update(&version, &record).await?.version;
            }
        }
        anyhow::Ok(allocated())
    });
    let held = held.context("the server without electors")?.saturating_sub(before);
    runtime.shutdown_timeout(Duration::from_secs(5));
    Ok(held)
}
