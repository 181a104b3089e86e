//! Real: the start with 100,000 ConfigMaps of the real API server, all at their defaults.
//! client-go decodes protobuf from it, and has a list of 100,000 objects as a stream.

use std::time::Duration;

use anyhow::Result;
use control_plane::ControlPlane;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Request;
use kube::Client;
use rivals::{cluster, measured, real};

use crate::pause;
use crate::process::{DEFAULTS, Process};
use crate::seen::Mode;
use crate::server::{MAPS, map};
use crate::workloads::{Gates, MANY, ratio, row, since};

/// Writes at once.
const WRITES: usize = 64;

pub(crate) fn run(gates: &Gates) -> Result<()> {
    let plane = real(ControlPlane::builder())?;
    let kubeconfig = plane.kubeconfig_file("admin")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::try_from(cluster(&kubeconfig).await?)?;
        fill(&client, MANY).await
    })?;
    let server = kubeconfig.to_string_lossy();
    let figures = gates.rounds(3, &DEFAULTS, |peer| {
        let process = Process::start(&gates.go, peer, &server, Mode::Noop, MANY)?;
        let reached = process.must_reach()?;
        pause(Duration::from_secs(5));
        let resident = process.memory("VmRSS")?;
        let start = since(process.began, reached.at) / 1e9;
        Ok([start, reached.cpu as f64 / 1e9, resident / 1e6])
    })?;
    let [ours, kube, go] = &figures[..] else { unreachable!() };
    let all = [("", ours), (" kr", kube), (" c-r", go)];
    row("real server: start, s", &all, 0);
    row("real server: CPU of the start, s", &all, 1);
    row("real server: resident, MB", &all, 2);
    measured("real_start_kr", ratio(&kube[0], &ours[0]));
    measured("real_start_cr", ratio(&go[0], &ours[0]));
    measured("real_resident", ratio(&ours[2], &go[2]));
    Ok(())
}

/// Creates the objects that the embedded server has.
async fn fill(client: &Client, objects: usize) -> Result<()> {
    let create = |number| async move {
        let request = Request::post(MAPS)
            .header("content-type", "application/json")
            .body(map(number, 0).into_bytes())?;
        anyhow::Ok(client.request_text(request).await?)
    };
    stream::iter(0..objects)
        .map(create)
        .buffer_unordered(WRITES)
        .try_for_each(|_| std::future::ready(Ok(())))
        .await
}
