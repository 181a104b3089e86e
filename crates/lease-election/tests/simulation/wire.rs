//! Wire: the connection of one process to its API server, which stands still with the process.
//!
//! A server without LeaseCandidates has no such path, and ends their watches.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Method, Request, Response, Uri};
use http_body::{Body as HttpBody, Frame, SizeHint};
use kube::Client;
use kube::client::Body;
use lease_election::Record;
use serde_json::json;
use tokio::sync::watch;

use crate::applied::record_of;
use crate::calamity::EXPIRED;
use crate::connection::Road;
use crate::judge::World;
use crate::ledger::{About, is_controller};
use crate::node::{Stage, Still};

/// Whether an API server has LeaseCandidates.
pub(crate) type Gate = Arc<watch::Sender<bool>>;

const CANDIDATES: &str = "/coordination.k8s.io/v1beta1";

type Shut = Pin<Box<dyn Future<Output = ()> + Send>>;

async fn shut(gate: Gate) {
    let _ = gate.subscribe().wait_for(|open| !open).await;
}

/// A client in the name of this process, which stands still with it.
pub(crate) fn client(
    stage: &Stage,
    still: &Still,
    link: &str,
    server: Road,
    gate: &Gate,
) -> Client {
    let (stage, still, link, gate) =
        (stage.clone(), still.clone(), link.to_owned(), Arc::clone(gate));
    let send = move |request: Request<Body>| {
        let (stage, still, link, gate) =
            (stage.clone(), still.clone(), link.clone(), Arc::clone(&gate));
        let server = server.clone();
        async move {
            let (mut parts, body) = request.into_parts();
            let body = body.collect_bytes().await.map_err(std::io::Error::other)?;
            let path = parts.uri.path().to_owned();
            let writes = matches!(parts.method, Method::POST | Method::PUT | Method::DELETE);
            let about_candidates = path.contains(CANDIDATES);
            let record = written(&parts.method, &path, &body);
            if let Some(record) = &record {
                // The record has its time, and its process may stand still before it sends the
                // record.
                stage.world.lock().unwrap().ledger.stamped(record);
            }
            still.goes_on().await;
            {
                let mut world = stage.world.lock().unwrap();
                world.check(stage.seed);
                if writes {
                    world
                        .trace
                        .note(stage.start, format_args!("{link} sends {} {path}", parts.method));
                }
                if !is_controller(&link) {
                    let about = if about_candidates { About::Candidate } else { About::Lease };
                    let verdict = world.ledger.asks(&link, about);
                    world.rules(stage.seed, verdict);
                }
                if let Some(record) = record {
                    if record.is_free() {
                        world.gives_back(stage.seed, &link);
                    }
                    world.ledger.sends(&link, record);
                }
            }
            let is_served = *gate.borrow();
            if about_candidates && !is_served {
                stage.world.lock().unwrap().saw("no such path");
                let unknown = parts.uri.to_string().replace(CANDIDATES, "/coordination.k8s.io/v0");
                parts.uri = unknown.parse().map_err(std::io::Error::other)?;
            }
            let refused =
                refusal(&mut stage.world.lock().unwrap(), &link, &parts.method, &parts.uri);
            let answer = match refused {
                Some(refused) => Ok(refused.map(|text| Answer::Refused(Some(text.into())))),
                None => {
                    let request = Request::from_parts(parts, Body::from(body));
                    server.send(request).await.map(|answer| answer.map(Answer::Passed))
                }
            };
            if writes {
                stage.poke();
            }
            let answer = answer.map_err(std::io::Error::other)?;
            still.goes_on().await;
            stage.world.lock().unwrap().check(stage.seed);
            // An answer about a missing path is not cut off.
            let shut: Option<Shut> =
                (about_candidates && is_served).then(|| Box::pin(shut(gate)) as Shut);
            let (seed, world) = (stage.seed, Arc::clone(&stage.world));
            Ok::<_, std::io::Error>(answer.map(|body| TakenIn {
                body,
                held: None,
                waits: None,
                still,
                shut,
                ended: false,
                seed,
                world,
            }))
        }
    };
    Client::new(tower::service_fn(send), "default")
}

/// A client in the name of this process that never stands still. It reaches the Lease, and its
/// credentials may expire.
pub(crate) fn checked(world: &Arc<Mutex<World>>, link: &str, server: Road) -> Client {
    let (world, link) = (Arc::clone(world), link.to_owned());
    let send = move |request: Request<Body>| {
        let (world, link, server) = (Arc::clone(&world), link.clone(), server.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.map_err(std::io::Error::other)?;
            if let Some(record) = written(&parts.method, parts.uri.path(), &body) {
                world.lock().unwrap().ledger.sends(&link, record);
            }
            let request = Request::from_parts(parts, Body::from(body));
            if let Some(refusal) =
                refusal(&mut world.lock().unwrap(), &link, request.method(), request.uri())
            {
                return Ok::<_, std::io::Error>(
                    refusal.map(|text| Answer::Refused(Some(text.into()))),
                );
            }
            let answer = server.send(request).await.map_err(std::io::Error::other)?;
            Ok(answer.map(Answer::Passed))
        }
    };
    Client::new(tower::service_fn(send), "default")
}

/// The refusal of an unknown client, of a missing namespace, or of a version that the server has
/// not seen. A proxy may answer in the server's place.
fn refusal(world: &mut World, link: &str, method: &Method, uri: &Uri) -> Option<Response<Vec<u8>>> {
    let watches =
        || uri.query().is_some_and(|query| query.split('&').any(|part| part == "watch=true"));
    let (what, code, reason, message) = if world.weather.get(link) == Some(&EXPIRED) {
        ("unauthorized", 401, "Unauthorized", "Unauthorized")
    } else if world.no_namespace && method == Method::POST {
        ("no such namespace", 404, "NotFound", "namespaces \"default\" not found")
    } else if world.lagging.contains(link) && watches() {
        ("version too large", 504, "Timeout", "Timeout: Too large resource version: 9, current: 8")
    } else if world.garbled.contains(link) && method == Method::GET && !watches() {
        world.saw("no JSON");
        let answer = Response::builder().header("content-type", "application/json");
        return answer.body(b"<html>{\"kind\":\"Lease\"".to_vec()).ok();
    } else {
        return None;
    };
    world.saw(what);
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": match code {
            404 => json!({ "name": "default", "kind": "namespaces" }),
            504 => json!({
                "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
                "retryAfterSeconds": 1,
            }),
            _ => json!({}),
        },
        "code": code,
    });
    let answer = Response::builder().status(code).header("content-type", "application/json");
    answer.body(status.to_string().into_bytes()).ok()
}

/// The body from the server, or from a proxy before it.
enum Answer<B: HttpBody> {
    Refused(Option<B::Data>),
    Passed(B),
}

impl<B> HttpBody for Answer<B>
where
    B: HttpBody + Unpin,
    B::Data: Unpin,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.get_mut() {
            Self::Refused(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Passed(body) => Pin::new(body).poll_frame(cx),
        }
    }
}

/// The record that this request writes into the Lease, if it writes one.
fn written(method: &Method, path: &str, body: &[u8]) -> Option<Record> {
    let writes = match *method {
        Method::PUT => path.ends_with("/leases/lease"),
        Method::POST => path.ends_with("/leases"),
        _ => false,
    };
    writes.then(|| record_of(&serde_json::from_slice(body).unwrap_or_default()))
}

/// A server's answer, as the process receives it.
struct TakenIn<B: HttpBody> {
    body: B,
    held: Option<Result<Frame<B::Data>, B::Error>>,
    waits: Option<Pin<Box<tokio::time::Sleep>>>,
    still: Still,
    /// Resolves when the API is switched off.
    shut: Option<Shut>,
    ended: bool,
    seed: u64,
    world: Arc<Mutex<World>>,
}

impl<B> HttpBody for TakenIn<B>
where
    B: HttpBody + Unpin,
    B::Data: Unpin,
    B::Error: Unpin,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = &mut *self;
        if this.held.is_none() {
            if this.shut.as_mut().is_some_and(|shut| shut.as_mut().poll(cx).is_ready()) {
                this.shut = None;
                this.ended = true;
            }
            if this.ended {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(frame) => this.held = Some(frame),
                None => return Poll::Ready(None),
            }
        }
        loop {
            if let Some(waits) = &mut this.waits {
                ready!(waits.as_mut().poll(cx));
                this.waits = None;
            }
            let left = this.still.left();
            if left.is_zero() {
                this.world.lock().unwrap().check(this.seed);
                return Poll::Ready(this.held.take());
            }
            this.waits = Some(Box::pin(tokio::time::sleep(left.max(Duration::from_micros(1)))));
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
