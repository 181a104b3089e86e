//! Clients that write, watch and read at the same time, and note what they see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use embedded_apiserver::Faults;
use futures::future::try_join_all;
use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::histories::register::{Access, Effect};
use crate::histories::watch::{Change, Kind, Seen, Selection};

/// What hangs must fail by its name.
const PATIENCE: Duration = Duration::from_secs(60);
const NAMES: [&str; 5] = ["n0", "n1", "n2", "n3", "n4"];
/// The annotation of the last change that each watcher is to see.
const FENCE: &str = "fence";

/// Who does what, and where.
#[derive(Clone)]
#[non_exhaustive]
pub struct Scene {
    /// Writes, and watches everything; meets no fault.
    pub sound: Client,
    /// Watches; meets faults.
    pub faulty: Client,
    /// A namespace that nobody else uses.
    pub namespace: String,
    /// How many write at the same time.
    pub writers: usize,
    /// How many writes each makes.
    pub writes: usize,
    /// Decides what is written.
    pub seed: u64,
    /// What happens to the history meanwhile; nothing if it is kept.
    pub gaps: Option<Gaps>,
}

/// A history that is lost again and again while some are away.
#[derive(Clone)]
pub struct Gaps {
    /// How often.
    pub count: usize,
    /// Cuts off who is to be away.
    pub faults: Faults,
    /// Who is to be away.
    pub away: &'static str,
    /// Each of its requests takes the history away.
    pub compactor: Client,
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scene")
            .field("namespace", &self.namespace)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Gaps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gaps")
            .field("count", &self.count)
            .field("away", &self.away)
            .finish_non_exhaustive()
    }
}

impl Scene {
    /// Four writers of a hundred writes each.
    #[must_use]
    pub fn new(sound: Client, faulty: Client, namespace: &str, seed: u64) -> Self {
        Self {
            sound,
            faulty,
            namespace: namespace.to_owned(),
            writers: 4,
            writes: 100,
            seed,
            gaps: None,
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/configmaps{rest}", self.namespace)
    }
}

/// What was recorded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Recorded {
    /// All changes, as one saw them who met no fault.
    pub truth: Seen,
    /// What each of the watchers saw, from each of its lists on.
    pub seen: Vec<Seen>,
    /// How often a watch had to be resumed.
    pub resumed: usize,
}

impl Recorded {
    /// How often a watcher was told that the history is gone.
    #[must_use]
    pub fn expired(&self) -> usize {
        self.seen.iter().filter(|seen| seen.expired_at.is_some()).count()
    }
}

/// Lets everybody write and watch.
///
/// # Errors
///
/// What a server does not answer at all, or answers as it never should.
///
/// # Cancel safety
///
/// A dropped run leaves its objects behind.
pub async fn record(scene: &Scene) -> Result<Recorded, String> {
    let selections = [
        Selection::All,
        Selection::Label("l", "x"),
        Selection::Name("n1"),
        Selection::Label("l", "x"),
        Selection::All,
    ];
    let (progress, follow) = watch::channel(0);
    let mut everything = Watcher::begin(&scene.sound, scene, Selection::All).await?;
    everything.progress = Some(progress);
    let mut watchers = Vec::new();
    for selection in selections {
        watchers.push(Watcher::begin(&scene.faulty, scene, selection).await?);
    }
    let writing = async {
        let writers = || try_join_all((0..scene.writers).map(|writer| write(scene, writer)));
        writers().await?;
        if let Some(gaps) = &scene.gaps {
            for _ in 0..gaps.count {
                gaps.faults.partition(gaps.away);
                writers().await?;
                lose_history(scene, gaps, follow.clone()).await?;
                gaps.faults.heal(gaps.away);
                writers().await?;
            }
        }
        fences(scene).await
    };
    let watching = try_join_all(watchers.into_iter().map(Watcher::watch));
    let all =
        timeout(PATIENCE, async { tokio::try_join!(everything.watch(), watching, writing) }).await;
    let ((mut truth, _), seen, ()) =
        all.map_err(|_| format!("it did not end within {} s", PATIENCE.as_secs()))??;
    let resumed = seen.iter().map(|(_, resumed)| resumed).sum();
    let (Some(truth), true) = (truth.pop(), truth.is_empty()) else {
        return Err("who met no fault was told that the history is gone".to_owned());
    };
    Ok(Recorded { truth, seen: seen.into_iter().flat_map(|(seen, _)| seen).collect(), resumed })
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    media: &str,
    body: Value,
) -> Result<(u16, Value), String> {
    let said = format!("{method} {path}");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media)
        .body(body.into_bytes().into());
    let response = client.send(request.map_err(|error| error.to_string())?).await;
    let response = response.map_err(|error| format!("{said}: {error}"))?;
    let code = response.status().as_u16();
    let bytes = http_body_util::BodyExt::collect(response.into_body())
        .await
        .map_err(|error| format!("{said}: {error}"))?;
    Ok((code, serde_json::from_slice(&bytes.to_bytes()).unwrap_or_default()))
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// The same writes each time, on what the earlier ones have left.
async fn write(scene: &Scene, writer: usize) -> Result<(), String> {
    let mut rng = fastrand::Rng::with_seed(scene.seed ^ (writer as u64) << 32);
    for count in 0..scene.writes {
        let name = NAMES[rng.usize(..NAMES.len())];
        let label = ["x", "y"][rng.usize(..2)];
        let object = json!({
            "metadata": { "name": name, "labels": { "l": label } }, "data": { "by": format!("{writer}.{count}") },
        });
        let path = scene.path(&format!("/{name}"));
        let (code, answer) = match rng.u8(..10) {
            0..4 => send(&scene.sound, Method::POST, &scene.path(""), JSON, object).await?,
            4..7 => send(&scene.sound, Method::PATCH, &path, MERGE, object).await?,
            7 => send(&scene.sound, Method::PUT, &path, JSON, object).await?,
            _ => send(&scene.sound, Method::DELETE, &path, JSON, Value::Null).await?,
        };
        if ![200, 201, 404, 409].contains(&code) {
            return Err(format!("a write answers {code}: {answer}"));
        }
    }
    Ok(())
}

/// Takes the history away as soon as who meets no fault has seen all of it.
async fn lose_history(
    scene: &Scene,
    gaps: &Gaps,
    mut follow: watch::Receiver<u64>,
) -> Result<(), String> {
    let newest = list(&scene.sound, scene, Selection::All).await?.from;
    follow
        .wait_for(|seen| *seen >= newest)
        .await
        .map_err(|_| "who meets no fault has ended".to_owned())?;
    list(&gaps.compactor, scene, Selection::All).await.map(drop)
}

/// The last change for each of the watchers.
async fn fences(scene: &Scene) -> Result<(), String> {
    let named = scene.path("/n1");
    send(&scene.sound, Method::DELETE, &named, JSON, Value::Null).await?;
    for (name, label) in [("n1", "y"), ("fence", "x")] {
        let metadata =
            json!({ "name": name, "labels": { "l": label }, "annotations": { FENCE: name } });
        let (code, answer) = send(
            &scene.sound,
            Method::POST,
            &scene.path(""),
            JSON,
            json!({ "metadata": metadata }),
        )
        .await?;
        if code != 201 {
            return Err(format!("a fence answers {code}: {answer}"));
        }
    }
    Ok(())
}

struct Watcher<'a> {
    client: &'a Client,
    scene: &'a Scene,
    seen: Seen,
    fence: &'static str,
    resumed: usize,
    /// Told how far it has come.
    progress: Option<watch::Sender<u64>>,
}

/// How a watch ended.
enum End {
    /// All was seen.
    Fence,
    /// By a fault, or for no reason.
    Cut,
    /// The history from where it began is gone.
    Expired,
}

impl<'a> Watcher<'a> {
    async fn begin(
        client: &'a Client,
        scene: &'a Scene,
        selection: Selection,
    ) -> Result<Self, String> {
        let seen = list(client, scene, selection).await?;
        let fence = if selection == Selection::Name("n1") { "n1" } else { FENCE };
        Ok(Self { client, scene, seen, fence, resumed: 0, progress: None })
    }

    /// Watches, again and again from where the last watch ended, and from a new list where the
    /// history is gone, until the fence is seen, in an event or in a list.
    async fn watch(mut self) -> Result<(Vec<Seen>, usize), String> {
        let mut earlier = Vec::new();
        loop {
            match self.once().await? {
                End::Fence => break,
                End::Cut => self.resumed += 1,
                End::Expired => {
                    let next = list(self.client, self.scene, self.seen.selection).await?;
                    let expired_at = Some(self.seen.last());
                    earlier.push(std::mem::replace(&mut self.seen, Seen { expired_at, ..next }));
                    if self.seen.state.values().any(|object| self.is_fence(object)) {
                        break;
                    }
                }
            }
        }
        self.seen.is_whole = true;
        earlier.push(self.seen);
        Ok((earlier, self.resumed))
    }

    fn is_fence(&self, object: &Value) -> bool {
        object["metadata"]["annotations"][FENCE] == self.fence
    }

    async fn once(&mut self) -> Result<End, String> {
        let last = self.seen.last();
        let query = self.seen.selection.query();
        let path = self
            .scene
            .path(&format!("?watch=true&allowWatchBookmarks=true&resourceVersion={last}&{query}"));
        let request = Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
        // What is cut is cut anywhere: before the answer, in a line, after one.
        let lines = match self.client.request_stream(request).await {
            Ok(lines) => lines,
            Err(kube::Error::Api(status)) if status.code == 410 => return Ok(End::Expired),
            Err(_) => return Ok(End::Cut),
        };
        let mut lines = Box::pin(lines).lines();
        while let Ok(Some(line)) = lines.try_next().await {
            let Ok(event) = serde_json::from_str::<Value>(&line) else { return Ok(End::Cut) };
            if event["type"] == "ERROR" && event["object"]["code"] == 410 {
                return Ok(End::Expired);
            }
            let change = Change::read(&event)?;
            let ends = self.is_fence(&change.object) && change.kind != Kind::Bookmark;
            self.seen.changes.push(change);
            if let Some(progress) = &self.progress {
                progress.send_replace(self.seen.last());
            }
            if ends {
                return Ok(End::Fence);
            }
        }
        Ok(End::Cut)
    }
}

/// What is there, to watch from.
async fn list(client: &Client, scene: &Scene, selection: Selection) -> Result<Seen, String> {
    let path = scene.path(&format!("?{}", selection.query()));
    let (code, list) = send(client, Method::GET, &path, JSON, Value::Null).await?;
    let from = list["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
    let Some(from) = from else { return Err(format!("a list answers {code}: {list}")) };
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let state: BTreeMap<_, _> = items.into_iter().map(|item| (name(&item), item)).collect();
    Ok(Seen { selection, expired_at: None, is_whole: false, from, state, changes: Vec::new() })
}

/// Lets clients write and read one object at the same time; returns its first version and value,
/// and all accesses.
///
/// # Errors
///
/// What a server does not answer at all, or answers as it never should.
///
/// # Cancel safety
///
/// A dropped run leaves its object behind.
pub async fn race(scene: &Scene) -> Result<((u64, u64), Vec<Access>), String> {
    let object = json!({ "metadata": { "name": "register" }, "data": { "v": "0" } });
    let (code, made) = send(&scene.sound, Method::POST, &scene.path(""), JSON, object).await?;
    if code != 201 {
        return Err(format!("the create answers {code}: {made}"));
    }
    let first = (version(&made)?, 0);
    let clock = Arc::new(AtomicU64::new(1));
    let racing = (0..scene.writers).map(|client| {
        let (scene, clock) = (scene.clone(), Arc::clone(&clock));
        // Tasks of their own: on several threads where there are some.
        tokio::spawn(async move { access(&scene, client, first.0, &clock).await })
    });
    let mut history = Vec::new();
    for task in racing.collect::<Vec<_>>() {
        history.extend(task.await.map_err(|error| error.to_string())??);
    }
    Ok((first, history))
}

fn version(object: &Value) -> Result<u64, String> {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| format!("no version: {object}"))
}

async fn access(
    scene: &Scene,
    client: usize,
    first: u64,
    clock: &AtomicU64,
) -> Result<Vec<Access>, String> {
    let mut rng = fastrand::Rng::with_seed(scene.seed ^ (client as u64) << 40);
    let mut seen = first;
    let mut history = Vec::new();
    let path = scene.path("/register");
    for count in 0..scene.writes as u64 {
        let value = (client as u64 + 1) * 1_000_000 + count;
        let mut object =
            json!({ "metadata": { "name": "register" }, "data": { "v": value.to_string() } });
        let tick = || clock.fetch_add(1, Ordering::SeqCst);
        let kind = rng.u8(..10);
        let from = (4..8).contains(&kind).then_some(seen);
        if let Some(from) = from {
            object["metadata"]["resourceVersion"] = from.to_string().into();
        }
        let sent = tick();
        let (code, answer) = match kind {
            0..4 => send(&scene.sound, Method::GET, &path, JSON, Value::Null).await?,
            4..6 => send(&scene.sound, Method::PUT, &path, JSON, object).await?,
            6..9 => send(&scene.sound, Method::PATCH, &path, MERGE, object).await?,
            _ => send(&scene.sound, Method::PUT, &path, JSON, object).await?,
        };
        let answered = tick();
        let effect = match (code, from) {
            (409, Some(from)) => {
                // It cannot go on without another look.
                let (_, now) = send(&scene.sound, Method::GET, &path, JSON, Value::Null).await?;
                seen = version(&now)?;
                Effect::Conflicted { from }
            }
            (200, _) if kind < 4 => {
                seen = version(&answer)?;
                let value = answer["data"]["v"].as_str().and_then(|text| text.parse().ok());
                Effect::Read {
                    version: seen,
                    value: value.ok_or_else(|| format!("no value: {answer}"))?,
                }
            }
            (200, _) => {
                seen = version(&answer)?;
                Effect::Wrote { from, version: seen, value }
            }
            _ => return Err(format!("an access answers {code}: {answer}")),
        };
        history.push(Access::new(sent, answered, effect));
    }
    Ok(history)
}
