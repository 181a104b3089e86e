//! A sequence of calls on both servers, answer by answer.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _};
use http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::time::{sleep, timeout};

use crate::conformance::text;
use crate::fuzz::call::{Call, Memory, Request, What};
use crate::fuzz::compare::Relation;

/// What hangs must fail by its name.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the slower server may take to show an event that the other has shown.
const SOON: Duration = Duration::from_secs(5);
/// How long a cache of the real server's may take to see what was written, and how often it is
/// asked.
const SETTLED: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);
/// How long nothing more may come once all has come that the other server has shown.
const QUIET: Duration = Duration::from_millis(40);

/// A write begins no later than so long before the next second. Times in objects are in seconds,
/// and what stands in managedFields depends on their order: two servers must see one write in the
/// same second.
const ROOM: Duration = Duration::from_millis(100);
/// How often a sequence is played anew because a write took longer than that, a cache was late, or
/// an address was drawn again, and what came of it disagrees.
const MOST_REPLAYS: usize = 10;

/// How far this machine's clock is into its second, and which one it is. The servers have the same
/// clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the second that two servers write into objects is this one"
)]
fn second() -> (u64, Duration) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs(), Duration::from_nanos(now.subsec_nanos().into()))
}

/// The real server, and the embedded one. Any two may be compared.
#[derive(Debug)]
pub struct Pair {
    real: Side,
    embedded: Side,
    run: String,
    played: AtomicU32,
    replayed: AtomicU32,
}

struct Side {
    name: &'static str,
    client: Client,
}

impl std::fmt::Debug for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Where the servers did not agree.
#[derive(Debug)]
pub(super) struct Disagreement {
    /// The place of the call in what was played.
    pub(super) at: usize,
    /// How.
    pub(super) why: String,
    /// What the real server answered, as far as it is known.
    pub(super) real: String,
}

impl Disagreement {
    /// In what the answers differ, without the values.
    pub(super) fn place(&self) -> String {
        let (_, how) = self.why.split_once("\n    ").unwrap_or(("", &self.why));
        let words: Vec<_> = how.split_whitespace().take(2).collect();
        words.join(" ")
    }

    /// What two disagreements of one cause have in common: what was said of them, less names and
    /// numbers.
    pub(super) fn sort(&self) -> String {
        let (_, how) = self.why.split_once("\n    ").unwrap_or(("", &self.why));
        let letters = how.chars().filter(|c| !c.is_ascii_digit()).take(160).collect::<String>();
        letters.split_whitespace().filter(|word| !word.contains("fuzz-")).collect()
    }
}

/// What became of one sequence.
#[derive(Debug, Default)]
pub(super) struct Played {
    /// Calls that both servers answered.
    pub(super) calls: usize,
    /// Watches that were compared.
    pub(super) watches: usize,
    /// Events they showed.
    pub(super) events: usize,
    /// The first call on which they do not agree.
    pub(super) disagreement: Option<Disagreement>,
}

impl Pair {
    /// Clients of both, which may do everything. The custom kinds of the conformance cases must be
    /// served by both.
    #[must_use]
    pub fn new(real: Client, embedded: Client) -> Self {
        let side = |name, client| Side { name, client };
        let run = format!("fuzz-{:x}", std::process::id());
        Self {
            real: side("real", real),
            embedded: side("embedded", embedded),
            run,
            played: AtomicU32::new(0),
            replayed: AtomicU32::new(0),
        }
    }

    /// How many plays have been repeated.
    pub(super) fn replayed(&self) -> u32 {
        self.replayed.load(Ordering::Relaxed)
    }

    /// Plays a sequence in a namespace of its own.
    pub(super) async fn play(&self, calls: &[Call]) -> Played {
        let mut replays = 0;
        loop {
            let (played, comparable) = self.play_once(calls).await;
            if comparable || played.disagreement.is_none() || replays == MOST_REPLAYS {
                return played;
            }
            replays += 1;
            self.replayed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Also says whether both servers saw each write in the same second, the real one's caches were
    /// in time, and nothing was drawn again.
    async fn play_once(&self, calls: &[Call]) -> (Played, bool) {
        let namespace = format!("{}-{}", self.run, self.played.fetch_add(1, Ordering::Relaxed));
        let mut stage = Stage {
            pair: self,
            relation: Relation::default(),
            memories: [(); 2]
                .map(|()| Memory { namespace: namespace.clone(), ..Memory::default() }),
            watches: Vec::new(),
            played: Played::default(),
            comparable: true,
            written: 0,
            seen: BTreeMap::new(),
        };
        let mut outcome = stage.begin(&namespace).await.map_err(|why| (0, why, String::new()));
        if outcome.is_ok() {
            outcome = stage.all(calls).await;
        }
        stage.end(&namespace).await;
        let Stage { mut played, comparable, relation, .. } = stage;
        let comparable = comparable && !relation.drawn_again;
        played.disagreement = outcome.err().map(|(at, why, real)| Disagreement { at, why, real });
        (played, comparable)
    }
}

struct Stage<'a> {
    pair: &'a Pair,
    relation: Relation,
    /// Of the real server, and of the embedded one.
    memories: [Memory; 2],
    watches: Vec<(usize, usize, [Stream; 2])>,
    played: Played,
    /// Each write began and ended in one second, and no cache of the real server was late.
    comparable: bool,
    /// How many writes there were, and how many of them the real server's cache of each collection
    /// has seen.
    written: usize,
    seen: BTreeMap<String, usize>,
}

type Wrong = (usize, String, String);

impl Stage<'_> {
    async fn begin(&self, namespace: &str) -> Result<(), String> {
        let object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } })
                .to_string();
        for side in [&self.pair.real, &self.pair.embedded] {
            let headers = [("content-type", "application/json".to_owned())];
            let made =
                side.send(&Method::POST, "/api/v1/namespaces", &headers, object.clone()).await?;
            if made.code != 201 {
                return Err(format!("{}: no namespace: {}", side.name, made.body));
            }
        }
        Ok(())
    }

    /// What is of cluster scope would be seen by nobody else, but it would pile up.
    async fn end(&mut self, namespace: &str) {
        self.watches.clear();
        for side in [&self.pair.real, &self.pair.embedded] {
            let path = format!("/api/v1/namespaces/{namespace}");
            let _answer = side.send(&Method::DELETE, &path, &[], String::new()).await;
        }
    }

    async fn all(&mut self, calls: &[Call]) -> Result<(), Wrong> {
        for (at, call) in calls.iter().enumerate() {
            match &call.what {
                What::Send(request) => self.send(at, call.id, request).await?,
                What::Watch(request) => self.watch(at, call.id, request).await?,
                What::Close(id) => {
                    if let Some(index) = self.watches.iter().position(|(_, opened, _)| opened == id)
                    {
                        let (opened, _, streams) = self.watches.remove(index);
                        self.compare_watch(opened, streams).await?;
                    }
                }
            }
        }
        for (opened, _, streams) in std::mem::take(&mut self.watches) {
            self.compare_watch(opened, streams).await?;
        }
        Ok(())
    }

    /// Waits until the real server's cache of a collection has all that was written here: what it
    /// answers from the cache, and whether a write that changes nothing one is shown is a
    /// write, depends on what the cache has seen. Here all is seen at once.
    async fn settle(&mut self, request: &Request) {
        let written = self.written;
        let seen = self.seen.insert(request.collection.clone(), written);
        if seen == Some(written) || seen.is_none() && written == 0 {
            return;
        }
        let Some(path) = self.memories[0].fill(&request.collection) else { return };
        // The first asks the storage what is the last version; the others, the cache.
        let last = self.version_of(&path).await;
        let settled = async {
            while self.version_of(&format!("{path}?resourceVersion=0")).await < last {
                sleep(POLL).await;
            }
        };
        self.comparable &= timeout(SETTLED, settled).await.is_ok();
    }

    /// The version of a list of the real server's; the greatest, if it has none.
    async fn version_of(&self, path: &str) -> u64 {
        let answer = self.pair.real.send(&Method::GET, path, &[], String::new()).await;
        let body = answer.map(|answer| answer.body).unwrap_or_default();
        text(&body, "/metadata/resourceVersion").parse().unwrap_or(u64::MAX)
    }

    async fn send(&mut self, at: usize, id: usize, request: &Request) -> Result<(), Wrong> {
        let fill = |memory: &Memory| request.fill(memory);
        let (Some(a), Some(b)) = (fill(&self.memories[0]), fill(&self.memories[1])) else {
            return Ok(());
        };
        self.settle(request).await;
        let writes = request.method != Method::GET;
        let (_, into) = second();
        let left = Duration::from_secs(1).saturating_sub(into);
        if writes && left < ROOM {
            sleep(left).await;
        }
        let (begun, _) = second();
        let pair = self.pair;
        let (real, embedded) = tokio::join!(
            pair.real.send(&a.method, &a.path, &a.headers, a.body.clone()),
            pair.embedded.send(&b.method, &b.path, &b.headers, b.body.clone()),
        );
        self.comparable &= !writes || second().0 == begun;
        let said = |why: String| {
            let body: String = a.body.chars().take(1500).collect();
            format!("{} {} {:?} {body}\n    {why}", a.method, a.path, request.media)
        };
        let (real, embedded) = match (real, embedded) {
            (Ok(real), Ok(embedded)) => (real, embedded),
            (Err(_), Err(_)) => return Ok(()),
            (real, embedded) => {
                let short = |answer: Result<Answered, String>| answer.map(|answer| answer.code);
                let why = format!("real {:?}, embedded {:?}", short(real), short(embedded));
                return Err((at, said(why), String::new()));
            }
        };
        self.played.calls += 1;
        self.written += usize::from(writes && real.code < 300);
        self.comparable &= real.code == embedded.code || !is_late(&real.text);
        self.answers(&real, &embedded).map_err(|why| (at, said(why), real.text.clone()))?;
        for (memory, answer) in self.memories.iter_mut().zip([&real, &embedded]) {
            memory.learn(id, request, &answer.body);
        }
        Ok(())
    }

    fn answers(&mut self, real: &Answered, embedded: &Answered) -> Result<(), String> {
        if real.code != embedded.code {
            return Err(format!(
                "real {} {:.1200}\n    embedded {} {:.1200}",
                real.code, real.text, embedded.code, embedded.text
            ));
        }
        for header in ["content-type", "warning", "retry-after", "allow"] {
            let of = |answer: &Answered| {
                let all = answer.headers.get_all(header).iter();
                all.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                    .collect::<Vec<_>>()
            };
            let (a, b) = (of(real), of(embedded));
            self.relation.headers(&a, &b).map_err(|why| format!("header {header}: {why}"))?;
        }
        if real.body.is_null() || embedded.body.is_null() {
            return self.relation.texts(&real.text, &embedded.text);
        }
        self.relation.bodies(&real.body, &embedded.body)
    }

    async fn watch(&mut self, at: usize, id: usize, request: &Request) -> Result<(), Wrong> {
        let fill = |memory: &Memory| request.fill(memory);
        let (Some(a), Some(b)) = (fill(&self.memories[0]), fill(&self.memories[1])) else {
            return Ok(());
        };
        self.settle(request).await;
        let pair = self.pair;
        let (real, embedded) = tokio::join!(
            pair.real.open(&a.path, &a.headers),
            pair.embedded.open(&b.path, &b.headers)
        );
        let said = |why: String| format!("GET {} as {:?}\n    {why}", a.path, request.accept);
        let (real, embedded) = match (real, embedded) {
            (Ok(real), Ok(embedded)) => (real, embedded),
            (real, embedded) => {
                let why = format!("real {:?}, embedded {:?}", real.err(), embedded.err());
                return Err((at, said(why), String::new()));
            }
        };
        self.played.calls += 1;
        match (real, embedded) {
            (Opened::Stream(a), Opened::Stream(b)) => {
                self.watches.push((at, id, [a, b]));
                Ok(())
            }
            (Opened::Refused(a), Opened::Refused(b)) => {
                self.answers(&a, &b).map_err(|why| (at, said(why), a.text.clone()))
            }
            (Opened::Refused(a), Opened::Stream(_)) => {
                self.comparable &= !is_late(&a.text);
                Err((
                    at,
                    said(format!("real refuses with {}, embedded does not", a.text)),
                    a.text.clone(),
                ))
            }
            (Opened::Stream(_), Opened::Refused(b)) => Err((
                at,
                said(format!("embedded refuses with {}, real does not", b.text)),
                String::new(),
            )),
        }
    }

    async fn compare_watch(&mut self, at: usize, streams: [Stream; 2]) -> Result<(), Wrong> {
        let [mut a, mut b] = streams;
        self.played.watches += 1;
        let mut count = 0;
        loop {
            // What one has, the other must show soon. The embedded one is asked first: it is quick.
            let (real, embedded) = match b.next(QUIET).await {
                Some(embedded) => (a.next(SOON).await, Some(embedded)),
                None => (a.next(QUIET).await, None),
            };
            let (real, embedded) = match (real, embedded) {
                (Some(real), None) => (Some(real), b.next(SOON).await),
                other => other,
            };
            let wrong = |why: String, real: String| {
                (at, format!("event {count} of the watch {}\n    {why}", a.path), real)
            };
            match (real, embedded) {
                (None, None) => return Ok(()),
                (Some(real), Some(embedded)) => {
                    self.comparable &= !is_late(&real.to_string());
                    self.relation.bodies(&real, &embedded).map_err(|why| {
                        wrong(
                            format!("{why}\n    real {real:.700}\n    embedded {embedded:.700}"),
                            real.to_string(),
                        )
                    })?;
                }
                (Some(real), None) => {
                    self.comparable &= !is_late(&real.to_string());
                    return Err(wrong(
                        format!("only the real server shows {real:.700}"),
                        real.to_string(),
                    ));
                }
                (None, Some(embedded)) => {
                    return Err(wrong(
                        format!("only the embedded server shows {embedded:.700}"),
                        String::new(),
                    ));
                }
            }
            count += 1;
            self.played.events += 1;
        }
    }
}

/// Whether the real server gave up waiting for its own cache, which it does after 3 seconds: on a
/// busy machine it may.
fn is_late(answer: &str) -> bool {
    answer.contains("ResourceVersionTooLarge")
}

/// A whole answer.
struct Answered {
    code: u16,
    headers: HeaderMap,
    text: String,
    /// Null if it is no JSON.
    body: Value,
}

enum Opened {
    Stream(Stream),
    Refused(Answered),
}

struct Stream {
    path: String,
    lines: futures::stream::BoxStream<'static, std::io::Result<String>>,
}

impl Stream {
    /// The next event that is not the clock's: null for a line that is no JSON, an end, or a break.
    async fn next(&mut self, patience: Duration) -> Option<Value> {
        let waiting = async {
            loop {
                match self.lines.next().await {
                    None => return std::future::pending().await,
                    Some(Err(error)) => return json!({ "broken": error.to_string() }),
                    Some(Ok(line)) => {
                        let event: Value = serde_json::from_str(&line).unwrap_or_default();
                        let marks = &event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"];
                        if event["type"] != "BOOKMARK" || !marks.is_null() {
                            return event;
                        }
                    }
                }
            }
        };
        timeout(patience, waiting).await.ok()
    }
}

impl Side {
    async fn request(
        &self,
        method: &Method,
        path: &str,
        headers: &[(&str, String)],
        body: String,
    ) -> Result<http::Response<Body>, String> {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request =
            request.body(Body::from(body.into_bytes())).map_err(|error| error.to_string())?;
        let sent = timeout(PATIENCE, self.client.send(request)).await;
        sent.map_err(|_| format!("{}: no answer within {} s", self.name, PATIENCE.as_secs()))?
            .map_err(|error| error.to_string())
    }

    async fn send(
        &self,
        method: &Method,
        path: &str,
        headers: &[(&str, String)],
        body: String,
    ) -> Result<Answered, String> {
        let response = self.request(method, path, headers, body).await?;
        whole(response).await
    }

    async fn open(&self, path: &str, headers: &[(&str, String)]) -> Result<Opened, String> {
        let response = self.request(&Method::GET, path, headers, String::new()).await?;
        if response.status() != 200 {
            return Ok(Opened::Refused(whole(response).await?));
        }
        let reader = response
            .into_body()
            .into_data_stream()
            .map_err(std::io::Error::other)
            .into_async_read();
        Ok(Opened::Stream(Stream { path: path.to_owned(), lines: reader.lines().boxed() }))
    }
}

async fn whole(response: http::Response<Body>) -> Result<Answered, String> {
    let (parts, body) = response.into_parts();
    let collected = timeout(PATIENCE, body.collect()).await;
    let bytes = collected
        .map_err(|_| "the body does not end".to_owned())?
        .map_err(|error| error.to_string())?
        .to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body = serde_json::from_str(&text).unwrap_or_default();
    Ok(Answered { code: parts.status.as_u16(), headers: parts.headers, text, body })
}
