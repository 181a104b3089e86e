//! Watches: a cursor into the history of a table, advanced by the reader of the response. No task,
//! no buffer of events.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use api_front::{Body, Disconnected};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderValue, Response, header};
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at, sleep, sleep_until};

use crate::api::media::Form;
use crate::api::metadata::Object;
use crate::api::query::{ListOptions, Query};
use crate::api::status::Status;
use crate::rest::conversion::all_shown_as;
use crate::rest::route::Target;
use crate::rest::selector::Selector;
use crate::rest::state::ApiState;
use crate::rest::version::{parse_version, wait_for};
use crate::store::lines::{Event, Line};
use crate::store::state::{Change, Changes, Expired};
use crate::store::stored::Stored;
use crate::store::watcher_index::{Interest, WatcherId};
use crate::store::{Beginning, WatchStart};
use crate::strategy::resource::ServedResource;
use crate::strategy::shape::Source;

/// The changes that one lock reads.
const BATCH: usize = 256;
/// The duration of a watch without a timeout. Upstream picks 30 to 60 minutes at random.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45 * 60);
/// The longest time between two bookmarks: no watch lasts that long, and the clock does not
/// overflow.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
/// The time between two attempts to convert an object: that of upstream's reflector.
const CONVERSION_RETRY: Duration = Duration::from_secs(1);

pub(crate) async fn watch(
    api: &Arc<ApiState>,
    target: &Target,
    query: &Query,
    form: Form,
    of_lists: bool,
) -> Result<Response<Body>, Status> {
    let kind = &target.kind;
    let mut options = ListOptions::parse(query)?;
    Selector::check(&options.labels, &options.fields)?;
    options.default_watch();
    options.check_watch()?;
    let selector = Selector::parse(kind, &options.labels, &options.fields)?;
    let version =
        parse_version(&options.version).map_err(|why| Status::unknown(why.of_option()))?;
    let now = Instant::now();
    let deadline = now.checked_add(options.timeout.unwrap_or(DEFAULT_TIMEOUT));
    if options.initial_events == Some(true) {
        wait_for(api, version).await?;
    }
    let from = match options.initial_events {
        Some(true) => Beginning::Objects,
        Some(false) if version == 0 => Beginning::Now,
        // Zero in another spelling.
        None if version == 0 => Beginning::Objects,
        _ => Beginning::After(version),
    };
    let namespace = target.namespace.as_deref().or_else(|| selector.only("metadata.namespace"));
    let interest = Interest::new(namespace, selector.only("metadata.name"));
    let start = api.store.watch(&kind.storage, &target.place(), interest, from);
    let WatchStart { id, objects, revision, refused } =
        start.map_err(|_| Status::internal("the newest revision is gone"))?;
    let every = api.options.bookmark_interval.min(FAR);
    let ticks = (options.bookmarks && !every.is_zero()).then(|| {
        let mut ticks = interval_at(now.checked_add(every).unwrap_or(now), every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    });
    let initial = all_shown_as(api, kind, objects).await?;
    let initial = initial.into_iter().filter(|object| selector.matches(object)).collect();
    let watcher = Watcher {
        api: Arc::clone(api),
        kind: Arc::clone(kind),
        selector,
        form,
        of_lists,
        id,
        cursor: revision,
        // A missing history is reported in the stream. Decided here: a later compaction takes
        // nothing from a watch that has read everything.
        refused,
        initial,
        end_mark: options.initial_events == Some(true) && options.bookmarks,
        changes: VecDeque::new(),
        read_upto: revision,
        shared: false,
        bookmarks: options.bookmarks,
        ticks,
        deadline: deadline.map(|deadline| Box::pin(sleep_until(deadline))),
        withdrawn: kind.definition().map(|definition| Box::pin(definition.ended()) as _),
        bookmark_due: false,
        ending: false,
        ended: false,
    };
    // Boxed: otherwise each line moves it twice.
    let lines = futures::stream::unfold(Box::new(watcher), async |mut watcher| {
        let line = watcher.next().await?;
        Some((Ok::<_, Disconnected>(line), watcher))
    });
    let mut response = Response::new(Body::stream(lines));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

/// An open watch.
struct Watcher {
    api: Arc<ApiState>,
    kind: Arc<ServedResource>,
    selector: Selector,
    form: Form,
    /// The client accepts only lists. As upstream, the first event ends the watch.
    of_lists: bool,
    id: WatcherId,
    /// Everything up to this revision has been sent.
    cursor: u64,
    /// The history of this watch is gone.
    refused: Option<Expired>,
    /// Initial objects that are not sent yet.
    initial: VecDeque<Arc<Stored>>,
    /// Whether the bookmark after the initial events is still to be sent.
    end_mark: bool,
    /// Changes that were read and are not sent yet.
    changes: VecDeque<Change>,
    /// The revision of the cursor after `changes` are sent.
    read_upto: u64,
    /// Whether other watches may show the same lines.
    shared: bool,
    bookmarks: bool,
    ticks: Option<Interval>,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Resolves when the served kind changes.
    withdrawn: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    bookmark_due: bool,
    /// The timeout is over: the remaining changes and a last bookmark follow.
    ending: bool,
    ended: bool,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.api.store.unwatch(&self.id);
    }
}

impl Watcher {
    /// Returns the next line, or the end. Cancel safe.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        loop {
            if let Some(object) = self.initial.pop_front() {
                let line = self.write_line(Event::Added, &object);
                return self.fitting(line);
            }
            if std::mem::take(&mut self.end_mark) {
                let line = self.bookmark(true);
                return self.fitting(line);
            }
            while let Some(change) = self.changes.pop_front() {
                let change = match self.kind.has_webhook() {
                    true => self.convert(change).await?,
                    false => change,
                };
                self.cursor = change.revision;
                if let Some(event) = event_of(&self.selector, &change) {
                    let line = self.line(event, &change);
                    return self.fitting(line);
                }
            }
            self.cursor = self.read_upto;
            if let Some(expired) = self.refused {
                self.ended = true;
                let why = format!("too old resource version: {} ({})", self.cursor, expired.oldest);
                return Some(error_line(&Status::expired(why)));
            }
            if self.read(None).is_ready() {
                continue;
            }
            self.cursor = self.read_upto;
            // A watch from a future revision must not report the present one.
            let present = self.cursor <= self.api.store.revision();
            if std::mem::take(&mut self.bookmark_due) && present {
                let line = self.bookmark(false);
                return self.fitting(line);
            }
            if self.ending {
                self.ended = true;
                return None;
            }
            self.wait().await;
        }
    }

    /// The change in the version of the watch. Tries again while the webhook fails, as upstream's
    /// cache does. `None` if the watch ends meanwhile.
    async fn convert(&mut self, change: Change) -> Option<Change> {
        let Change { revision, before, object, removed } = change;
        let all: Vec<_> = std::iter::once(object).chain(before).collect();
        loop {
            if let Ok(shown) = all_shown_as(&self.api, &self.kind, all.clone()).await {
                let mut shown = shown.into_iter();
                let object = shown.next()?;
                return Some(Change { revision, before: shown.next(), object, removed });
            }
            let deadline = async {
                match &mut self.deadline {
                    Some(deadline) => deadline.await,
                    None => std::future::pending().await,
                }
            };
            let withdrawn = async {
                match &mut self.withdrawn {
                    Some(withdrawn) => withdrawn.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = deadline => break,
                () = withdrawn => break,
                () = sleep(CONVERSION_RETRY) => {}
            }
        }
        self.ended = true;
        None
    }

    /// Returns the line if the client accepts it, or ends the watch.
    fn fitting(&mut self, line: Bytes) -> Option<Bytes> {
        self.ended = self.of_lists;
        if self.of_lists { None } else { Some(line) }
    }

    /// Reads more history. Ready if there is something to send.
    fn read(&mut self, waker: Option<&Waker>) -> Poll<()> {
        // A webhook may change what a selector selects by.
        let converts = self.kind.has_webhook();
        loop {
            let shows = |change: &Change| converts || event_of(&self.selector, change).is_some();
            match self.api.store.read(&self.id, self.read_upto, BATCH, shows, waker) {
                Ok(Changes { changes, upto, all, shared }) => {
                    self.read_upto = upto;
                    self.shared = shared;
                    self.changes.extend(changes);
                    if !self.changes.is_empty() {
                        return Poll::Ready(());
                    }
                    if all {
                        return Poll::Pending;
                    }
                }
                Err(expired) => {
                    self.refused = Some(expired);
                    return Poll::Ready(());
                }
            }
        }
    }

    /// Waits for a change, a bookmark or the timeout.
    async fn wait(&mut self) {
        poll_fn(|context| {
            if let Some(deadline) = &mut self.deadline
                && deadline.as_mut().poll(context).is_ready()
            {
                self.deadline = None;
                self.ending = true;
                self.bookmark_due = self.bookmarks;
                return Poll::Ready(());
            }
            if self.read(Some(context.waker())).is_ready() {
                return Poll::Ready(());
            }
            if let Some(withdrawn) = &mut self.withdrawn
                && withdrawn.as_mut().poll(context).is_ready()
            {
                self.withdrawn = None;
                self.ending = true;
                return Poll::Ready(());
            }
            if let Some(ticks) = &mut self.ticks
                && ticks.poll_tick(context).is_ready()
            {
                self.bookmark_due = true;
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }

    fn line(&self, event: Event, change: &Change) -> Bytes {
        let write = || match (&change.before, event) {
            // The watch shows the old content, at the revision of the change.
            (Some(before), Event::Left) => {
                self.write_line(event, &before.at_revision(&self.kind, change.revision))
            }
            _ => self.write_line(event, &change.object),
        };
        if !self.shared {
            return write();
        }
        let line = Line { revision: change.revision, event, form: self.form };
        self.api.store.line(line, &self.kind.prefix, write)
    }

    fn write_line(&self, event: Event, object: &Stored) -> Bytes {
        let mut line = BytesMut::with_capacity(object.size().saturating_add(160));
        line.put_slice(b"{\"type\":\"");
        line.put_slice(event.as_str().as_bytes());
        line.put_slice(b"\",\"object\":");
        object.write(&self.kind, self.form, &mut line);
        line.put_slice(b"}\n");
        line.freeze()
    }

    fn bookmark(&self, end_of_initial_events: bool) -> Bytes {
        let mut metadata = json!({ "resourceVersion": self.cursor.to_string() });
        if end_of_initial_events {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let (version, kind) = match self.form {
            Form::Full | Form::Table => (self.kind.api_version(), self.kind.kind()),
            Form::Metadata => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata"),
        };
        let mut object = Object::from_iter([("metadata".to_owned(), metadata)]);
        // The members that Go writes for every object of a type.
        if self.form != Form::Metadata {
            let sent = object.clone();
            let whole = self.kind.canonical(sent, Source::Json, &mut Vec::new());
            object = whole.unwrap_or(object);
            self.kind.strategy().fill_empty(&mut object);
        }
        object.insert("apiVersion".to_owned(), version.into());
        object.insert("kind".to_owned(), kind.into());
        event_line("BOOKMARK", &object.into())
    }
}

/// The event of a change for a selector. Objects that begin or cease to match appear and disappear.
fn event_of(selector: &Selector, change: &Change) -> Option<Event> {
    let before = change.before.as_ref().is_some_and(|before| selector.matches(before));
    let after = !change.removed && selector.matches(&change.object);
    match (before, after) {
        (false, true) => Some(Event::Added),
        (true, true) => Some(Event::Modified),
        (true, false) if change.removed => Some(Event::Deleted),
        (true, false) => Some(Event::Left),
        (false, false) => None,
    }
}

fn error_line(status: &Status) -> Bytes {
    event_line("ERROR", &status.to_json())
}

fn event_line(event: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"))
}
