//! The embedded API server beside the real kube-apiserver, over loopback and in process: what the
//! gates of `gates.toml` are about.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a program for the command line")]

use std::alloc::System;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use clap::{Parser, Subcommand};
use control_plane::ControlPlane;
use embedded_apiserver::{EmbeddedApiServer, Tls};
use futures::StreamExt;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use rivals::{Endpoint, Machine, Pinned, interleaved, measured, median, real};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tower::ServiceExt;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The embedded API server beside the real one.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Option<Serve>,
    /// Rounds of each measurement over loopback
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only the gate of this name
    #[arg(long, default_value = "")]
    only: String,
    /// ConfigMaps that are created in process
    #[arg(long, default_value_t = 100_000)]
    creates: usize,
    /// Without the real server: for a profile of ours, nothing over loopback is measured for a
    /// gate
    #[arg(long)]
    alone: bool,
}

#[derive(Debug, Subcommand)]
enum Serve {
    /// Serves on loopback until its standard input ends: the program starts itself so, in a process
    /// of its own
    Serve,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    // And so are all threads and processes that come of this one, the servers among them. What
    // wakes an idle processor of a virtual machine may take longer than the request that it is
    // woken for.
    let _pinned = Pinned::to(0)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match cli.command {
        Some(Serve::Serve) => runtime.block_on(serve()),
        None => runtime.block_on(run(&cli)),
    }
}

const TOKEN: &str = "rivals";

async fn serve() -> Result<()> {
    let server = EmbeddedApiServer::builder().token("rivals", TOKEN).build();
    let tls = Tls::self_signed()?;
    let listener = server.listen_tls("127.0.0.1:0", &tls).await?;
    println!("{}", json!({ "url": listener.url(), "ca": tls.authority() }));
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    listener.shutdown().await;
    Ok(())
}

async fn run(cli: &Cli) -> Result<()> {
    let machine = Machine::before();
    let wanted = |name: &str| cli.only.is_empty() || name == cli.only;
    if ["start", "in_process_creates", "memory", "idle_watches"].into_iter().any(wanted) {
        in_process(cli.creates, wanted).await?;
    }
    if ["create", "get", "list", "fan_out"].into_iter().any(wanted) {
        over_loopback(cli.rounds, cli.alone, wanted).await?;
    }
    eprintln!("{}", machine.line());
    Ok(())
}

/// A ConfigMap with 400 bytes of data.
fn map(name: &str) -> Bytes {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "app": "rivals" } },
        "data": { "key": "x".repeat(400) },
    });
    object.to_string().into()
}

fn maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// A request in process; returns how many bytes the answer had.
async fn call(
    server: &EmbeddedApiServer,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<usize> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Full::new(body))?;
    let response = server.service().oneshot(request).await?;
    ensure!(response.status().is_success(), "{path} answered {}", response.status());
    Ok(response.into_body().collect().await?.to_bytes().len())
}

/// Start, bulk, memory and idle watches: bounds of our own, no peer.
async fn in_process(many: usize, wanted: impl Fn(&str) -> bool) -> Result<()> {
    if wanted("start") {
        let mut starts = Vec::new();
        for _ in 0..51 {
            let start = now();
            let server = EmbeddedApiServer::new();
            call(&server, Method::GET, &maps("default"), Bytes::new()).await?;
            starts.push(start.elapsed().as_secs_f64() * 1000.0);
        }
        measured("start", median(&mut starts));
    }
    if wanted("in_process_creates") || wanted("memory") {
        let (mut seconds, mut shares) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let bodies: Vec<_> = (0..many).map(|number| map(&format!("map-{number:06}"))).collect();
            let server = EmbeddedApiServer::new();
            let (path, mut json) = (maps("default"), 0);
            let region = Region::new(ALLOCATOR);
            let start = now();
            for body in &bodies {
                json += call(&server, Method::POST, &path, body.clone()).await?;
            }
            seconds.push(start.elapsed().as_secs_f64());
            let change = region.change();
            let held = change.bytes_allocated.saturating_sub(change.bytes_deallocated);
            shares.push(held as f64 / json as f64);
            eprintln!(
                "{many} creates: {:.2} s, {:.1} allocations each, {held} bytes held for {json} of JSON",
                start.elapsed().as_secs_f64(),
                change.allocations as f64 / many as f64,
            );
        }
        // Of something that takes a time of its own, what else the machine does can only add to it.
        measured("in_process_creates", seconds.into_iter().fold(f64::INFINITY, f64::min));
        measured("memory", median(&mut shares));
    }
    if wanted("idle_watches") {
        measured("idle_watches", idle_watches().await?);
    }
    Ok(())
}

/// How much longer writes take beside 10,000 watches of other namespaces than beside none.
async fn idle_watches() -> Result<f64> {
    let server = EmbeddedApiServer::builder().check_namespaces(false).build();
    let alone = EmbeddedApiServer::builder().check_namespaces(false).build();
    let mut watches = tokio::task::JoinSet::new();
    for number in 0..10_000 {
        let path = format!("{}?watch=1&resourceVersion=1", maps(&format!("n{number}")));
        let response =
            server.service().oneshot(Request::get(path).body(Full::new(Bytes::new()))?).await?;
        let mut lines = response.into_body().into_stream();
        watches.spawn(async move { lines.next().await.is_some() });
    }
    tokio::task::yield_now().await;
    let writes = async |server: &EmbeddedApiServer, round: usize| {
        let start = now();
        for number in 0..10_000 {
            call(server, Method::POST, &maps("busy"), map(&format!("m-{round}-{number}"))).await?;
        }
        Ok(start.elapsed().as_secs_f64())
    };
    let compared = interleaved(
        7,
        async |round| writes(&server, round).await,
        async |round| writes(&alone, round).await,
    )
    .await?;
    ensure!(watches.try_join_next().is_none(), "an idle watch had something to say");
    Ok(compared.ratio())
}

/// The embedded server in a process of its own.
struct Embedded {
    child: Child,
    endpoint: Endpoint,
}

impl Embedded {
    async fn start() -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the embedded server")?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let line = lines.next_line().await?.context("the embedded server said nothing")?;
        let said: Value = serde_json::from_str(&line)?;
        let ca = said["ca"].as_str().unwrap_or_default();
        let endpoint =
            Endpoint::new(said["url"].as_str().unwrap_or_default(), ca.as_bytes(), TOKEN)?;
        Ok(Self { child, endpoint })
    }

    async fn stop(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().await?;
        Ok(())
    }
}

fn plane() -> Result<ControlPlane> {
    real(ControlPlane::builder().user("rivals", TOKEN, &["system:masters"]))
}

/// The servers that are measured over loopback, by the same clients: HTTP/1.1 over TLS to both.
struct Sides<'a> {
    ours: &'a Endpoint,
    theirs: Option<&'a Endpoint>,
    rounds: usize,
}

impl Sides<'_> {
    fn all(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(self.ours).chain(self.theirs)
    }

    /// Measures rounds of some work, in `unit`, for the gate of this name.
    async fn compare(
        &self,
        name: &str,
        unit: &str,
        work: impl AsyncFn(&Endpoint, usize) -> Result<f64>,
    ) -> Result<()> {
        let Some(theirs) = self.theirs else {
            let mut ours = Vec::new();
            for round in 0..self.rounds {
                ours.push(work(self.ours, round).await?);
            }
            eprintln!("{name}: ours {:.1} {unit}", median(&mut ours));
            return Ok(());
        };
        let ours = async |round| work(self.ours, round).await;
        let compared =
            interleaved(self.rounds, ours, async |round| work(theirs, round).await).await?;
        eprintln!(
            "{name}: ours {:.1} {unit}, the real one {:.1} {unit}",
            compared.ours(),
            compared.theirs()
        );
        measured(name, compared.ratio());
        Ok(())
    }
}

async fn over_loopback(rounds: usize, alone: bool, wanted: impl Fn(&str) -> bool) -> Result<()> {
    let plane = if alone { None } else { Some(tokio::task::spawn_blocking(plane).await??) };
    let embedded = Embedded::start().await?;
    let theirs = match &plane {
        Some(plane) => Some(Endpoint::new(&plane.url(), &std::fs::read(plane.ca_file())?, TOKEN)?),
        None => None,
    };
    let sides = Sides { ours: &embedded.endpoint, theirs: theirs.as_ref(), rounds };
    for endpoint in sides.all() {
        prepare(endpoint).await?;
    }
    if wanted("create") {
        sides.compare("create", "a second", creates).await?;
    }
    if wanted("get") {
        sides.compare("get", "a second", async |endpoint, _| gets(endpoint).await).await?;
    }
    if wanted("list") {
        for endpoint in sides.all() {
            fill(endpoint, 10_000).await?;
        }
        sides.compare("list", "a second", async |endpoint, _| lists(endpoint).await).await?;
    }
    if wanted("fan_out") {
        sides.compare("fan_out", "events a second", fan_out).await?;
    }
    embedded.stop().await?;
    if let Some(plane) = plane {
        tokio::task::spawn_blocking(move || plane.stop()).await??;
    }
    Ok(())
}

/// Namespaces, and what both caches need to be warm.
async fn prepare(endpoint: &Endpoint) -> Result<()> {
    let mut connection = endpoint.connect().await?;
    for name in ["rivals", "rivals-list", "rivals-watch"] {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let body = namespace.to_string().into();
        connection.send(Method::POST, "/api/v1/namespaces", body, StatusCode::CREATED).await?;
    }
    connection.send(Method::POST, &maps("rivals"), map("warm"), StatusCode::CREATED).await?;
    for number in 0..200 {
        let body = map(&format!("warm-{number}"));
        connection.send(Method::POST, &maps("rivals"), body, StatusCode::CREATED).await?;
        connection
            .send(Method::GET, &format!("{}/warm", maps("rivals")), Bytes::new(), StatusCode::OK)
            .await?;
    }
    Ok(())
}

fn rate(count: usize, start: Instant) -> f64 {
    count as f64 / start.elapsed().as_secs_f64()
}

/// Creates one after the other on one connection.
async fn creates(endpoint: &Endpoint, round: usize) -> Result<f64> {
    const COUNT: usize = 500;
    let mut connection = endpoint.connect().await?;
    let start = now();
    for number in 0..COUNT {
        let body = map(&format!("c-{round}-{number}"));
        connection.send(Method::POST, &maps("rivals"), body, StatusCode::CREATED).await?;
    }
    Ok(rate(COUNT, start))
}

/// Gets of one object one after the other on one connection.
async fn gets(endpoint: &Endpoint) -> Result<f64> {
    const COUNT: usize = 1_000;
    let mut connection = endpoint.connect().await?;
    let path = format!("{}/warm", maps("rivals"));
    let start = now();
    for _ in 0..COUNT {
        connection.send(Method::GET, &path, Bytes::new(), StatusCode::OK).await?;
    }
    Ok(rate(COUNT, start))
}

/// So many ConfigMaps to list, by four connections.
async fn fill(endpoint: &Endpoint, count: usize) -> Result<()> {
    let parts = (0..4).map(|part| async move {
        let mut connection = endpoint.connect().await?;
        for number in (part..count).step_by(4) {
            let body = map(&format!("l-{number:06}"));
            connection.send(Method::POST, &maps("rivals-list"), body, StatusCode::CREATED).await?;
        }
        anyhow::Ok(())
    });
    futures::future::try_join_all(parts).await.map(drop)
}

/// Whole lists of 10,000, as bytes.
async fn lists(endpoint: &Endpoint) -> Result<f64> {
    const COUNT: usize = 5;
    let mut connection = endpoint.connect().await?;
    let start = now();
    for _ in 0..COUNT {
        let bytes = connection
            .send(Method::GET, &maps("rivals-list"), Bytes::new(), StatusCode::OK)
            .await?;
        ensure!(bytes > 4_000_000, "a list of 10,000 has only {bytes} bytes");
    }
    Ok(rate(COUNT, start))
}

/// A hundred watches, each on a connection of its own, of 400 creates by four writers: events that
/// arrived, a second.
async fn fan_out(endpoint: &Endpoint, round: usize) -> Result<f64> {
    const WATCHES: usize = 100;
    const WRITERS: usize = 4;
    const EACH: usize = 100;
    let mut watches = Vec::new();
    for _ in 0..WATCHES {
        let path = format!(
            "{}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&labelSelector=app%3Drivals",
            maps("rivals-watch")
        );
        watches.push(endpoint.watch(&path).await?);
    }
    // All of them are followed by the server now: their heads have come.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let start = now();
    let readers = watches
        .into_iter()
        .map(|mut events| tokio::spawn(async move { events.reach(WRITERS * EACH).await }));
    let readers: Vec<_> = readers.collect();
    let writers = (0..WRITERS).map(|writer| async move {
        let mut connection = endpoint.connect().await?;
        for number in 0..EACH {
            let body = map(&format!("w-{round}-{writer}-{number}"));
            connection.send(Method::POST, &maps("rivals-watch"), body, StatusCode::CREATED).await?;
        }
        anyhow::Ok(())
    });
    futures::future::try_join_all(writers).await?;
    for reader in readers {
        reader.await??;
    }
    Ok(rate(WATCHES * WRITERS * EACH, start))
}
