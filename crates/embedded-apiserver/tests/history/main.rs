//! Random writes by several clients, compared with a model. A watch from any revision must replay
//! to the state of a list: ordered, unique, complete, resumable.

use std::collections::BTreeMap;

use embedded_apiserver::{ApiService, EmbeddedApiServer};
use futures::{FutureExt, StreamExt};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::ServiceExt;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// One write of a client. Each client remembers the versions that it has read.
#[derive(Debug, Clone)]
enum Op {
    Create { name: u8, value: u8 },
    Replace { client: u8, name: u8, value: u8, checked: bool },
    Merge { name: u8, value: u8 },
    Relabel { name: u8, color: u8 },
    Finalize { name: u8, hold: bool },
    Delete { name: u8 },
    Read { client: u8, name: u8 },
    Compact,
}

fn op() -> impl Strategy<Value = Op> {
    let (client, name, value) = (0..3_u8, 0..5_u8, 0..4_u8);
    prop_oneof![
        4 => (name.clone(), value.clone()).prop_map(|(name, value)| Op::Create { name, value }),
        4 => (client.clone(), name.clone(), value.clone(), any::<bool>())
            .prop_map(|(client, name, value, checked)| Op::Replace { client, name, value, checked }),
        3 => (name.clone(), value).prop_map(|(name, value)| Op::Merge { name, value }),
        3 => (name.clone(), 0..3_u8).prop_map(|(name, color)| Op::Relabel { name, color }),
        2 => (name.clone(), any::<bool>()).prop_map(|(name, hold)| Op::Finalize { name, hold }),
        3 => name.clone().prop_map(|name| Op::Delete { name }),
        3 => (client, name).prop_map(|(client, name)| Op::Read { client, name }),
        1 => Just(Op::Compact),
    ]
}

/// The model of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Expected {
    value: u8,
    color: u8,
    held: bool,
    deleting: bool,
}

fn color(color: u8) -> Value {
    ["red", "blue"].get(usize::from(color)).map_or(Value::Null, |color| json!(color))
}

struct Run {
    service: ApiService,
    server: EmbeddedApiServer,
    objects: BTreeMap<u8, Expected>,
    /// (client, name) -> the version that was read last, if the object existed.
    seen: BTreeMap<(u8, u8), u64>,
    versions: BTreeMap<u8, u64>,
    compacted: u64,
}

async fn call(
    service: &ApiService,
    method: Method,
    path: &str,
    body: &Value,
) -> (StatusCode, Value) {
    let media =
        if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    let request = request.body(Full::new(bytes::Bytes::from(body))).unwrap();
    let response = service.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (parts.status, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

impl Run {
    fn new(history: usize) -> Self {
        let server = EmbeddedApiServer::builder().seed(1).history(history).build();
        Self {
            service: server.service(),
            server,
            objects: BTreeMap::new(),
            seen: BTreeMap::new(),
            versions: BTreeMap::new(),
            compacted: 0,
        }
    }

    /// Applies an operation to the server and the model, and compares the results.
    async fn step(&mut self, op: &Op) {
        let before = self.server.revision();
        let path = |name: u8| format!("{MAPS}/m{name}");
        let (name, code, wanted) = match *op {
            Op::Create { name, value } => {
                let object = json!({ "metadata": { "name": format!("m{name}") }, "data": { "v": value.to_string() } });
                let (code, _) = call(&self.service, Method::POST, MAPS, &object).await;
                let wanted = match self.objects.get(&name) {
                    None => Ok(Some(Expected { value, color: 2, ..Expected::default() })),
                    Some(_) => Err(409),
                };
                (name, code, wanted)
            }
            Op::Replace { client, name, value, checked } => {
                let seen = self.seen.get(&(client, name)).copied();
                let old = self.objects.get(&name).cloned().unwrap_or_default();
                let mut object = json!({ "metadata": { "name": format!("m{name}") }, "data": { "v": value.to_string() } });
                object["metadata"]["labels"] = json!({ "color": color(old.color) });
                if old.color > 1 {
                    object["metadata"]["labels"] = Value::Null;
                }
                if old.held {
                    object["metadata"]["finalizers"] = json!(["x.io/f"]);
                }
                if let Some(seen) = seen.filter(|_| checked) {
                    object["metadata"]["resourceVersion"] = seen.to_string().into();
                }
                let (code, _) = call(&self.service, Method::PUT, &path(name), &object).await;
                let wanted = match (self.objects.get(&name), seen) {
                    (None, _) => Err(404),
                    (Some(_), Some(seen)) if checked && self.versions.get(&name) != Some(&seen) => {
                        Err(409)
                    }
                    (Some(old), _) => Ok(Some(Expected { value, ..old.clone() })),
                };
                (name, code, wanted)
            }
            Op::Merge { name, value } => {
                let patch = json!({ "data": { "v": value.to_string() } });
                let (code, _) = call(&self.service, Method::PATCH, &path(name), &patch).await;
                (name, code, self.changed(name, |old| old.value = value))
            }
            Op::Relabel { name, color: new } => {
                let patch = json!({ "metadata": { "labels": { "color": color(new) } } });
                let (code, _) = call(&self.service, Method::PATCH, &path(name), &patch).await;
                (name, code, self.changed(name, |old| old.color = new))
            }
            Op::Finalize { name, hold } => {
                let finalizers = if hold { json!(["x.io/f"]) } else { Value::Null };
                let patch = json!({ "metadata": { "finalizers": finalizers } });
                let (code, _) = call(&self.service, Method::PATCH, &path(name), &patch).await;
                (name, code, self.changed(name, |old| old.held = hold))
            }
            Op::Delete { name } => {
                let (code, _) =
                    call(&self.service, Method::DELETE, &path(name), &Value::Null).await;
                (name, code, self.changed(name, |old| old.deleting = true))
            }
            Op::Read { client, name } => {
                let (code, object) =
                    call(&self.service, Method::GET, &path(name), &Value::Null).await;
                match self.objects.get(&name) {
                    Some(_) => self.seen.insert((client, name), version(&object)),
                    None => self.seen.remove(&(client, name)),
                };
                let found = if self.objects.contains_key(&name) { 200 } else { 404 };
                assert_eq!(code, found, "{op:?}");
                return;
            }
            Op::Compact => {
                self.server.compact();
                self.compacted = before;
                return;
            }
        };
        let after = self.server.revision();
        match wanted {
            Err(refused) => {
                assert_eq!(code.as_u16(), refused, "{op:?}");
                assert_eq!(after, before, "a refused write changes nothing: {op:?}");
            }
            Ok(wanted) => {
                assert!(code.is_success(), "{op:?}: {code}");
                let wanted = wanted.filter(|object| object.held || !object.deleting);
                let changed = self.objects.get(&name) != wanted.as_ref();
                assert_eq!(
                    after - before,
                    u64::from(changed),
                    "one revision for a change, none for none: {op:?}"
                );
                if changed {
                    self.versions.insert(name, after);
                }
                match wanted {
                    Some(object) => drop(self.objects.insert(name, object)),
                    None => {
                        self.objects.remove(&name);
                        self.versions.remove(&name);
                    }
                }
            }
        }
    }

    fn changed(
        &self,
        name: u8,
        change: impl FnOnce(&mut Expected),
    ) -> Result<Option<Expected>, u16> {
        let mut object = self.objects.get(&name).cloned().ok_or(404_u16)?;
        change(&mut object);
        Ok(Some(object))
    }

    /// The current list, by name.
    async fn list(&self, query: &str) -> (BTreeMap<String, Value>, u64) {
        let (code, list) =
            call(&self.service, Method::GET, &format!("{MAPS}?{query}"), &Value::Null).await;
        assert_eq!(code, StatusCode::OK, "{query}: {list}");
        (by_name(list["items"].as_array().unwrap()), version(&list))
    }
}

fn by_name(items: &[Value]) -> BTreeMap<String, Value> {
    let strip = |item: &Value| {
        let mut item = item.clone();
        let members = item.as_object_mut().unwrap();
        members.remove("kind");
        members.remove("apiVersion");
        item
    };
    items
        .iter()
        .map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), strip(item)))
        .collect()
}

/// A watch from a revision with a known state.
struct Watcher {
    lines: std::pin::Pin<Box<dyn futures::Stream<Item = Value> + Send>>,
    state: BTreeMap<String, Value>,
    revision: u64,
    selector: &'static str,
    started: u64,
}

impl Watcher {
    async fn start(run: &Run, selector: &'static str) -> Self {
        let (state, revision) = run.list(selector).await;
        Self::resume(run, selector, state, revision).await
    }

    async fn resume(
        run: &Run,
        selector: &'static str,
        state: BTreeMap<String, Value>,
        revision: u64,
    ) -> Self {
        let path = format!("{MAPS}?watch=1&resourceVersion={revision}&{selector}");
        let request = Request::get(path).body(Full::new(bytes::Bytes::new())).unwrap();
        let response = run.service.clone().oneshot(request).await.unwrap();
        let lines = response.into_body().into_stream();
        let lines = lines.map(|line| serde_json::from_slice(&line.unwrap()).unwrap());
        Self { lines: Box::pin(lines), state, revision, selector, started: revision }
    }

    /// Reads at most `max` events. Returns false after a 410.
    fn read(&mut self, max: usize, compacted: u64) -> bool {
        for _ in 0..max {
            // Unconstrained: tokio's budget would make the stream look empty.
            let next = tokio::task::unconstrained(self.lines.next()).now_or_never();
            let Some(event) = next else { return true };
            let event = event.expect("only 410 ends a watch here");
            let object = event["object"].clone();
            if event["type"] == "ERROR" {
                assert_eq!(object["code"], 410);
                assert!(self.revision < compacted, "410 only for what a compaction took");
                return false;
            }
            let at = version(&object);
            assert!(at > self.revision, "ordered and unique: {at} after {}", self.revision);
            self.revision = at;
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            let stripped = by_name(std::slice::from_ref(&object)).into_values().next().unwrap();
            match event["type"].as_str().unwrap() {
                "ADDED" => assert_eq!(self.state.insert(name, stripped), None, "added once"),
                "MODIFIED" => {
                    assert!(self.state.insert(name, stripped).is_some(), "modified what was known")
                }
                "DELETED" => assert!(self.state.remove(&name).is_some(), "deleted what was known"),
                other => panic!("unexpected {other}"),
            }
        }
        true
    }
}

const SELECTORS: [&str; 4] =
    ["", "labelSelector=color%3Dred", "labelSelector=!color", "fieldSelector=metadata.name%3Dm1"];

proptest! {
    #[test]
    fn watchers_from_any_revision_replay_to_what_a_list_says(
        ops in prop::collection::vec((op(), 0..6_usize), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new(1000);
            let mut watchers: Vec<Watcher> = Vec::new();
            for (at, (op, reads)) in ops.iter().enumerate() {
                run.step(op).await;
                if at % 3 == 0 {
                    watchers.push(Watcher::start(&run, SELECTORS[at % SELECTORS.len()]).await);
                }
                if at % 5 == 4 {
                    // Cut a watch, and resume it from its last revision.
                    let cut = watchers.remove(at % watchers.len());
                    watchers.push(Watcher::resume(&run, cut.selector, cut.state, cut.revision).await);
                }
                let mut alive = Vec::new();
                for (turn, mut watcher) in watchers.into_iter().enumerate() {
                    if watcher.read((reads + turn) % 4, run.compacted) {
                        alive.push(watcher);
                    }
                }
                watchers = alive;
            }
            for mut watcher in watchers {
                if watcher.read(usize::MAX, run.compacted) {
                    let (listed, _) = run.list(watcher.selector).await;
                    assert_eq!(watcher.state, listed, "since {} {:?}", watcher.started, watcher.selector);
                }
            }
            let (listed, revision) = run.list("").await;
            assert_eq!(revision, run.server.revision());
            let names: Vec<_> = run.objects.keys().map(|name| format!("m{name}")).collect();
            assert_eq!(listed.keys().cloned().collect::<Vec<_>>(), names);
            for (name, expected) in &run.objects {
                let object = &listed[&format!("m{name}")];
                assert_eq!(object["data"]["v"], expected.value.to_string());
                assert_eq!(object["metadata"]["labels"]["color"], color(expected.color));
                assert_eq!(object["metadata"].get("deletionTimestamp").is_some(), expected.deleting);
                assert_eq!(version(object), run.versions[name]);
            }
        });
    }

    #[test]
    fn every_revision_of_the_past_lists_as_it_was_and_pages_are_consistent(
        ops in prop::collection::vec(op(), 1..40), limit in 1..4_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new(1000);
            let mut past = vec![run.list("").await];
            let mut paging: Option<(u64, Vec<Value>, String)> = None;
            for op in ops.iter().filter(|op| !matches!(op, Op::Compact)) {
                run.step(op).await;
                past.push(run.list("").await);
                // The next page of a list that began several writes ago.
                let query = match &paging {
                    None => format!("limit={limit}"),
                    Some((_, _, token)) => format!("limit={limit}&continue={token}"),
                };
                let (_, page) = call(&run.service, Method::GET, &format!("{MAPS}?{query}"), &Value::Null).await;
                let (begun, mut items, _) = paging.take().unwrap_or_else(|| (version(&page), Vec::new(), String::new()));
                assert_eq!(version(&page), begun);
                items.extend(page["items"].as_array().unwrap().iter().cloned());
                match page["metadata"]["continue"].as_str() {
                    Some(token) => paging = Some((begun, items, token.to_owned())),
                    None => {
                        let (then, _) = past.iter().find(|(_, revision)| *revision == begun).unwrap();
                        assert_eq!(&by_name(&items), then);
                    }
                }
            }
            for (state, revision) in &past {
                let query = format!("resourceVersion={revision}&resourceVersionMatch=Exact");
                assert_eq!(&run.list(&query).await, &(state.clone(), *revision));
            }
        });
    }
}
