//! Watches: a cursor into the history of a table, moved on by whoever reads the answer. No task, no buffer of events.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderValue, Response, header};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use crate::body::{Body, Disconnected};
use crate::kind::Kind;
use crate::query::{ListOptions, Query};
use crate::rest::{parse_version, wait_for};
use crate::route::Target;
use crate::selector::Selector;
use crate::server::Core;
use crate::status::Status;
use crate::store::state::{Change, Expired};
use crate::stored::{Form, Stored};

/// How many changes are read under one lock.
const BATCH: usize = 256;
/// How long a watch without a time-out lasts: the real server picks 30 to 60 minutes at random.
const DEFAULT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(45 * 60);

pub(crate) async fn watch(
    core: &Arc<Core>,
    target: &Target,
    query: &Query,
    form: Form,
) -> Result<Response<Body>, Status> {
    let kind = &target.kind;
    let options = ListOptions::parse(query)?;
    options.check_watch()?;
    let selector = Selector::parse(kind, &options.labels, &options.fields)?;
    let version = parse_version(&options.version).map_err(|why| Status::unknown(why.0))?;
    let now = Instant::now();
    let deadline = now.checked_add(options.timeout.unwrap_or(DEFAULT_TIMEOUT));
    // Without initial events asked for, "from any version" and "from the newest" begin with what is there.
    let initial = options.initial_events.unwrap_or(version == 0);
    if options.initial_events == Some(true) {
        wait_for(core, version).await?;
    }
    let signal = core.store.subscribe(&kind.storage);
    let mut initial_objects = VecDeque::new();
    let mut cursor = version;
    if initial {
        let now = core.store.snapshot(&target.place(), None);
        let now = now.map_err(|_| Status::internal("the newest revision is gone"))?;
        cursor = now.revision;
        initial_objects.extend(now.objects.into_iter().filter(|object| selector.matches(object)));
    } else if version == 0 {
        cursor = core.store.revision();
    }
    // What the history no longer reaches is said in the stream. Decided here: a compaction while the watch is open
    // takes nothing from who has read everything.
    let refused = core.store.can_resume(&kind.storage, cursor).err().filter(|_| !initial && version != 0);
    let every = core.options.bookmark_interval;
    let ticks = (options.bookmarks && !every.is_zero()).then(|| {
        let mut ticks = interval_at(now.checked_add(every).unwrap_or(now), every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    });
    let watcher = Watcher {
        core: Arc::clone(core),
        kind: Arc::clone(kind),
        namespace: target.namespace.clone(),
        selector,
        form,
        signal,
        cursor,
        refused,
        initial: initial_objects,
        end_mark: options.initial_events == Some(true) && options.bookmarks,
        changes: VecDeque::new(),
        read_upto: cursor,
        bookmarks: options.bookmarks,
        ticks,
        deadline,
        bookmark_due: false,
        ending: false,
        ended: false,
    };
    let lines = futures::stream::unfold(watcher, async |mut watcher| {
        let line = watcher.next().await?;
        Some((Ok::<_, Disconnected>(line), watcher))
    });
    let mut response = Response::new(Body::stream(lines));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

/// One watch in progress.
struct Watcher {
    core: Arc<Core>,
    kind: Arc<Kind>,
    namespace: Option<String>,
    selector: Selector,
    form: Form,
    signal: watch::Receiver<u64>,
    /// Everything up to this revision has been sent.
    cursor: u64,
    /// The watch asked for a history that is gone.
    refused: Option<Expired>,
    /// Objects of the beginning that are still to be sent.
    initial: VecDeque<Arc<Stored>>,
    /// Whether the bookmark that ends the initial events is still to be sent.
    end_mark: bool,
    /// Changes that were read and are still to be sent.
    changes: VecDeque<Change>,
    /// The revision that the cursor reaches when `changes` are sent.
    read_upto: u64,
    bookmarks: bool,
    ticks: Option<Interval>,
    deadline: Option<Instant>,
    bookmark_due: bool,
    /// The time is up: what was written until now is still sent, and a last bookmark.
    ending: bool,
    ended: bool,
}

impl Watcher {
    /// The next line, or the end. Cancel safe: it only waits between lines.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        loop {
            if let Some(object) = self.initial.pop_front() {
                return Some(self.line("ADDED", &object));
            }
            if std::mem::take(&mut self.end_mark) {
                return Some(self.bookmark(true));
            }
            while let Some(change) = self.changes.pop_front() {
                self.cursor = change.revision;
                if let Some(line) = self.show(&change) {
                    return Some(line);
                }
            }
            self.cursor = self.read_upto;
            self.signal.borrow_and_update();
            let read = match self.refused {
                Some(expired) => Err(expired),
                None => self.core.store.changes(&self.kind.storage, self.cursor, BATCH),
            };
            match read {
                Ok(read) => {
                    self.changes.extend(read.changes);
                    self.read_upto = read.upto;
                }
                Err(expired) => {
                    self.ended = true;
                    let why = format!("too old resource version: {} ({})", self.cursor, expired.oldest);
                    return Some(error_line(&Status::expired(why)));
                }
            }
            if !self.changes.is_empty() {
                continue;
            }
            self.cursor = self.read_upto;
            // A watch from the future has nothing to say about the present.
            let present = self.cursor <= self.core.store.revision();
            if std::mem::take(&mut self.bookmark_due) && present {
                return Some(self.bookmark(false));
            }
            if self.ending {
                self.ended = true;
                return None;
            }
            self.wait().await;
        }
    }

    /// Waits for a change, a bookmark's time, or the end.
    async fn wait(&mut self) {
        let deadline = async {
            match self.deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let tick = async {
            match &mut self.ticks {
                Some(ticks) => drop(ticks.tick().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = deadline => {
                self.ending = true;
                self.bookmark_due = self.bookmarks;
            }
            changed = self.signal.changed() => {
                // The store outlives the watch; were it gone, there would be nothing more to say.
                self.ending = changed.is_err();
            }
            () = tick => self.bookmark_due = true,
        }
    }

    /// How a change looks through the namespace and the selector: objects that begin or cease to match appear and
    /// disappear.
    fn show(&self, change: &Change) -> Option<Bytes> {
        let object = &change.object;
        if self.namespace.as_deref().is_some_and(|namespace| *object.key.namespace != *namespace) {
            return None;
        }
        let before = change.before.as_ref().filter(|before| self.selector.matches(before));
        let after = !change.removed && self.selector.matches(object);
        match (before, after) {
            (None, true) => Some(self.line("ADDED", object)),
            (Some(_), true) => Some(self.line("MODIFIED", object)),
            (Some(_), false) if change.removed => Some(self.line("DELETED", object)),
            // The watcher knows it as it was: that content, at the revision of the change.
            (Some(before), false) => {
                Some(self.line("DELETED", &before.at_revision(&self.kind, change.revision)))
            }
            (None, false) => None,
        }
    }

    fn line(&self, event: &str, object: &Stored) -> Bytes {
        let mut line = BytesMut::with_capacity(object.size().saturating_add(128));
        line.put_slice(format!("{{\"type\":\"{event}\",\"object\":").as_bytes());
        object.write(&self.kind, self.form, &mut line);
        line.put_slice(b"}\n");
        line.freeze()
    }

    fn bookmark(&self, end_of_initial_events: bool) -> Bytes {
        let mut metadata = json!({ "resourceVersion": self.cursor.to_string(), "creationTimestamp": null });
        if end_of_initial_events {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let (version, kind) = match self.form {
            Form::Full => (self.kind.api_version(), self.kind.kind()),
            Form::Metadata => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata"),
        };
        let object = json!({ "apiVersion": version, "kind": kind, "metadata": metadata });
        event_line("BOOKMARK", &object)
    }
}

fn error_line(status: &Status) -> Bytes {
    event_line("ERROR", &status.to_json())
}

fn event_line(event: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"))
}
