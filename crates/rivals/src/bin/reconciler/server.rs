//! Server: the API server of a workload, on loopback, with its objects put in beforehand, and the
//! writes of the workload.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Listener, Match, Rule, Verb};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rivals::{Connection, Endpoint};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use crate::pause;
use crate::seen::monotonic;

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// An API server that other processes reach.
pub(crate) struct Server {
    runtime: Runtime,
    server: EmbeddedApiServer,
    listener: Listener,
}

/// A server that keeps all history: a side that was stopped has to see all that it missed.
pub(crate) fn server() -> EmbeddedApiServer {
    EmbeddedApiServer::builder().history(1_000_000).history_bytes(1 << 30).build()
}

impl Server {
    /// Starts with this number of objects: `map-0`, `map-1` and so on.
    pub(crate) fn start(objects: usize) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let server = server();
        let listener = runtime.block_on(server.listen("127.0.0.1:0"))?;
        let started = Self { runtime, server, listener };
        started.runtime.block_on(fill(&started.server, 0..objects))?;
        Ok(started)
    }

    pub(crate) fn url(&self) -> String {
        self.listener.url()
    }

    /// How long the JSON of an object is.
    pub(crate) fn bytes(&self, number: usize) -> Result<usize> {
        let path = format!("{MAPS}/map-{number}");
        let get = send(&self.server, Method::GET, &path, String::new());
        Ok(self.runtime.block_on(get)?.len())
    }

    /// A connection for writes over loopback.
    pub(crate) fn connect(&self) -> Result<Connection> {
        self.runtime.block_on(Endpoint::new(&self.url(), &[], "rivals")?.connect())
    }

    /// Writes over loopback; returns when the answer came.
    pub(crate) fn put(&self, connection: &mut Connection, number: usize, turn: u64) -> Result<u64> {
        let (path, body) = (format!("{MAPS}/map-{number}"), Bytes::from(map(number, turn)));
        self.runtime.block_on(connection.send(Method::PUT, &path, body, StatusCode::OK))?;
        Ok(monotonic())
    }

    /// Writes each of these objects once.
    pub(crate) fn write(&self, numbers: Range<usize>, turn: u64) -> Result<()> {
        self.runtime.block_on(async {
            for number in numbers {
                let path = format!("{MAPS}/map-{number}");
                send(&self.server, Method::PUT, &path, map(number, turn)).await?;
            }
            Ok(())
        })
    }

    /// Creates objects that want to run again at once, always.
    pub(crate) fn heat(&self, count: usize) -> Result<()> {
        for number in 0..count {
            let name = format!("hot-{number}");
            let body = object(&name, data([("again", "true".to_owned())]));
            self.runtime.block_on(send(&self.server, Method::POST, MAPS, body))?;
        }
        Ok(())
    }

    /// Writes objects that are there for nothing else over loopback, one after the other at full
    /// speed, until the end. Returns how many writes there were.
    pub(crate) fn storm(&self, count: usize, end: &AtomicBool) -> Result<usize> {
        let mut connection = self.connect()?;
        self.runtime.block_on(async {
            for write in 0.. {
                let name = format!("loud-{}", write % count);
                let body = object(&name, data([("turn", write.to_string())])).into();
                if write < count {
                    connection.send(Method::POST, MAPS, body, StatusCode::CREATED).await?;
                } else if end.load(Ordering::Relaxed) {
                    return Ok(write);
                } else {
                    let path = format!("{MAPS}/{name}");
                    connection.send(Method::PUT, &path, body, StatusCode::OK).await?;
                }
            }
            Ok(0)
        })
    }

    /// Changes one object while watches fail, and forgets the history: every client lists again.
    pub(crate) fn expire(&self, number: usize, turn: u64) -> Result<()> {
        let watches = || Match::any().verb(Verb::Watch);
        let faults = self.server.faults();
        faults.set_plan(FaultPlan::none().rule(Rule::new(watches(), Fault::Unavailable)));
        faults.cut_watches(&watches());
        self.write(number..number + 1, turn)?;
        self.server.compact();
        pause(Duration::from_millis(100));
        faults.clear();
        Ok(())
    }
}

/// Creates these objects.
pub(crate) async fn fill(server: &EmbeddedApiServer, numbers: Range<usize>) -> Result<()> {
    for number in numbers {
        send(server, Method::POST, MAPS, map(number, 0)).await?;
    }
    Ok(())
}

/// A request in process; returns the answer.
pub(crate) async fn send(
    server: &EmbeddedApiServer,
    method: Method,
    path: &str,
    body: String,
) -> Result<Bytes> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .header("user-agent", "rivals/1")
        .body(Full::new(Bytes::from(body)))?;
    let response = server.service().oneshot(request).await?;
    let status = response.status();
    let answer = response.into_body().collect().await?.to_bytes();
    ensure!(status.is_success(), "{path}: {status}, {}", String::from_utf8_lossy(&answer));
    Ok(answer)
}

/// A ConfigMap of 930 bytes of JSON, of which managedFields have 356.
pub(crate) fn map(number: usize, turn: u64) -> String {
    let mut written = data([("turn", turn.to_string()), ("at", monotonic().to_string())]);
    for key in 0..6 {
        written
            .insert(format!("entry-{key}"), format!("a-value-of-entry-{number:06}-{key}").into());
    }
    object(&format!("map-{number}"), written)
}

fn data<const N: usize>(pairs: [(&str, String); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}

fn object(name: &str, data: Map<String, Value>) -> String {
    let labels =
        json!({ "app.kubernetes.io/name": "rivals", "app.kubernetes.io/part-of": "gates" });
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "labels": labels },
        "data": data,
    })
    .to_string()
}
