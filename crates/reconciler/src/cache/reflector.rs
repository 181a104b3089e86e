//! The watch of one cache: sends the requests of `protocol`, and feeds the cache with the answers
//! that `decode` reads. `streaming` reads streaming lists. Each watch fails, pauses and recovers
//! alone.

mod streaming;

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use kube::Error;
use tokio::time::{Instant, sleep, timeout};

use super::Cache;
use super::scope::url_in;
use super::store::Relist;
use super::updates::Feed;
use crate::failure::Chain;
use crate::hostile::let_go;
use crate::watch::decode::{Decoded, Reader, Steps, WatchStep};
use crate::watch::patience::Patience;
use crate::watch::protocol::{Fault, Next, OnBackwards, Protocol};
use crate::{Kind, ObjectKey};

/// Keeps one cache current, in one task. Does nothing until it runs.
#[derive(Debug)]
pub(crate) struct Watches<K>(Vec<WatchLoop<K>>);

impl<K: Kind> Watches<K> {
    pub(crate) fn new(cache: &Cache<K>) -> Self {
        let shared = &cache.shared;
        let watches = shared.scopes.iter().map(|scope| {
            let url = match scope.label() {
                Some(namespace) => url_in(&shared.url, namespace),
                None => shared.url.clone(),
            };
            let keeps_managed_fields = shared.config.keeps_managed_fields;
            let reader = Reader::new(shared.client.clone(), url, keeps_managed_fields);
            WatchLoop::new(Feed::new(cache.clone(), Arc::clone(scope)), reader)
        });
        Self(watches.collect())
    }

    /// Runs until dropped.
    pub(crate) async fn run(self) {
        let Some(feed) = self.0.first().map(|watch| watch.feed.clone()) else { return };
        let mut watching: FuturesUnordered<_> = self.0.into_iter().map(WatchLoop::run).collect();
        loop {
            // New subscribers are greeted in this task, between two steps of the watches, so that
            // they get every change exactly once.
            tokio::select! {
                biased;
                () = feed.arrival() => feed.greet().await,
                Some(never) = watching.next() => match never {},
            }
        }
    }
}

/// Keeps one scope of a cache current.
#[derive(Debug)]
struct WatchLoop<K> {
    feed: Feed<K>,
    reader: Reader<K>,
    protocol: Protocol,
    patience: Patience,
    /// Decode object by object, because an answer did not decode as a whole.
    tolerant: bool,
    listing: Option<Listing<K>>,
}

/// A list in progress.
#[derive(Debug)]
struct Listing<K> {
    relist: Relist<K>,
    /// Objects that did not decode.
    undecoded: usize,
}

impl<K: Kind> WatchLoop<K> {
    fn new(feed: Feed<K>, reader: Reader<K>) -> Self {
        let patience = Patience::new(feed.config().answer_time);
        let protocol = Protocol::new(feed.config().is_streaming);
        Self { feed, reader, protocol, patience, tolerant: false, listing: None }
    }

    async fn run(mut self) -> Infallible {
        loop {
            // The kind's own code may panic.
            let pause = match AssertUnwindSafe(self.step()).catch_unwind().await {
                Ok(pause) => pause,
                Err(panic) => {
                    let_go(panic);
                    self.panicked()
                }
            };
            if !pause.is_zero() {
                self.pause(pause).await;
            }
        }
    }

    /// The kind's own code panicked: once more, object by object, so that the others get through.
    fn panicked(&mut self) -> Duration {
        self.feed.failed("the code of the kind panicked");
        self.listing = None;
        self.tolerant = true;
        let pause = self.protocol.failed(Fault::Undecodable, fastrand::u64(..));
        self.protocol.restart();
        pause
    }

    /// Waits, unless [`Cache::retry_now`](crate::Cache::retry_now) ends the pause.
    async fn pause(&mut self, pause: Duration) {
        tokio::select! {
            biased;
            () = self.feed.hurried() => self.protocol.repaired(),
            () = sleep(pause) => {}
        }
    }

    /// Sends one request, and reads a watch to its end. Returns the pause before the next request.
    async fn step(&mut self) -> Duration {
        match self.protocol.next().clone() {
            Next::List { token } => self.list(token).await,
            Next::StreamingList => self.streaming_list().await,
            Next::Watch { version } => self.watch(&version).await,
        }
    }

    async fn list(&mut self, token: Option<String>) -> Duration {
        if token.is_none() {
            self.listing = None;
        }
        let params = self.feed.config().list_params(self.namespace(), token);
        let (asked, longest) = (Instant::now(), self.patience.for_page());
        let page = match timeout(longest, self.reader.list(self.tolerant, &params)).await {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => return self.failed(&error),
            Err(_) => {
                self.patience.unanswered();
                return self.unanswered("list", longest);
            }
        };
        self.patience.answered(asked.elapsed());
        let mut listing = self.listing.take().unwrap_or_else(|| self.empty_listing());
        for object in page.objects {
            self.listed(&mut listing, object);
        }
        if let Some(token) = page.token {
            self.listing = Some(listing);
            self.protocol.page(token);
            return Duration::ZERO;
        }
        let Some(version) = page.version else {
            self.feed.failed("the list has no resourceVersion");
            return self.protocol.failed(Fault::Undecodable, fastrand::u64(..));
        };
        self.complete(listing, version).await
    }

    fn empty_listing(&self) -> Listing<K> {
        Listing { relist: Relist::new(self.feed.scope().namespace.clone()), undecoded: 0 }
    }

    /// Adds an object to a list.
    fn listed(&self, listing: &mut Listing<K>, object: Decoded<K>) {
        match self.entering(object) {
            Ok(entering) => self.feed.relist_object(&mut listing.relist, entering),
            Err(key) => {
                listing.undecoded += 1;
                if let Some(key) = key {
                    listing.relist.undecodable(key);
                }
            }
        }
    }

    /// Handles a complete list.
    async fn complete(&mut self, listing: Listing<K>, version: String) -> Duration {
        let Listing { relist, undecoded } = listing;
        self.tolerant = undecoded > 0;
        // A list may have a new version and still show older objects.
        let stored = match self.protocol.is_backwards(&version) {
            true => Err(relist),
            false => self.feed.commit(relist, false).map_err(|(_, relist)| relist),
        };
        let changes = match stored {
            Ok(changes) => changes,
            Err(relist) => match self.protocol.listed_backwards(fastrand::u64(..)) {
                OnBackwards::ListAgain(pause) => {
                    self.feed.failed("the list is older than what was seen before");
                    return pause;
                }
                OnBackwards::TakeOver => {
                    tracing::warn!(watch = %self.feed.name(), namespace = self.namespace(),
                        "the cluster went back in time (restored from a backup?): its older state is taken over");
                    // An authoritative commit cannot fail.
                    self.feed.commit(relist, true).unwrap_or_default()
                }
            },
        };
        self.feed.listed(changes).await;
        self.feed.scope().has_listed(&version);
        self.protocol.listed(version);
        Duration::ZERO
    }

    async fn watch(&mut self, version: &str) -> Duration {
        let params = self.feed.config().watch_params(self.namespace(), false);
        let longest = self.patience.for_watch();
        let watch = self.reader.watch(self.tolerant, &params, version);
        match timeout(longest, watch).await {
            Ok(Ok(steps)) => self.follow(steps).await,
            Ok(Err(error)) => self.failed(&error),
            Err(_) => self.unanswered("watch", longest),
        }
    }

    /// Reads a watch to its end.
    async fn follow(&mut self, mut steps: Steps<K>) -> Duration {
        let began = Instant::now();
        let idle = self.feed.config().idle_time();
        let mut progressed = false;
        loop {
            // An open watch counts as healthy even without events.
            let next =
                timeout(if progressed { idle } else { SETTLE_TIME.min(idle) }, steps.next()).await;
            self.protocol.lasted(began.elapsed());
            let step = match next {
                Ok(Some(Ok(step))) => step,
                Ok(Some(Err(error))) => return self.failed(&error),
                Ok(None) => {
                    let pause = self.protocol.ended(progressed, began.elapsed(), fastrand::u64(..));
                    if !progressed && !pause.is_zero() {
                        self.feed.failed("the server closes the watch at once");
                    }
                    return pause;
                }
                Err(_) if !progressed && began.elapsed() < idle => {
                    self.protocol.progressed(None);
                    self.feed.healthy();
                    progressed = true;
                    continue;
                }
                Err(_) => {
                    self.feed.failed("the watch is silent for longer than it should last");
                    return self.protocol.ended(true, began.elapsed(), 0);
                }
            };
            match step {
                WatchStep::Applied(object) => {
                    let version = self.version(&object);
                    // An object that cannot be read leaves its stored version.
                    if let Ok(entering) = self.entering(object) {
                        self.feed.apply(entering);
                    }
                    self.progressed(version.as_deref());
                }
                WatchStep::Deleted(object) => {
                    let version = self.version(&object);
                    match &object {
                        Ok(object) => self.feed.delete(object.meta()),
                        Err(undecodable) => self.feed.delete(&undecodable.meta),
                    }
                    self.progressed(version.as_deref());
                }
                WatchStep::Bookmark(version) | WatchStep::ListEnd(version) => {
                    self.progressed(Some(&version));
                }
                WatchStep::Refused(status) => return self.failed(&Error::Api(status)),
            }
            progressed = true;
            self.feed.healthy();
        }
    }

    fn namespace(&self) -> Option<&str> {
        self.feed.scope().namespace.as_deref()
    }

    fn progressed(&mut self, version: Option<&str>) {
        self.protocol.progressed(version);
        version.into_iter().for_each(|version| self.feed.scope().has_read(version));
    }

    fn version(&self, object: &Decoded<K>) -> Option<String> {
        match object {
            Ok(object) => object.meta().resource_version.clone(),
            Err(undecodable) => undecodable.meta.resource_version.clone(),
        }
    }

    /// Prepares an object for the store. If that fails, counts and logs it, and returns its key.
    fn entering(&self, object: Decoded<K>) -> Result<super::store::Entering<K>, Option<ObjectKey>> {
        match object {
            Ok(object) => self.feed.cache().prepare(object).map_err(|(key, error)| {
                self.feed.skipped(key.as_ref(), error);
                key
            }),
            Err(undecodable) => {
                let key = ObjectKey::from_meta(&undecodable.meta);
                self.feed.skipped(key.as_ref(), &undecodable.error);
                Err(key)
            }
        }
    }

    fn failed(&mut self, error: &Error) -> Duration {
        let fault = fault(error);
        if fault == Fault::Undecodable && !self.tolerant {
            // Once more, object by object. A watch continues from the last version seen.
            self.tolerant = true;
            if !matches!(self.protocol.next(), Next::Watch { .. }) {
                self.protocol.restart();
            }
            return Duration::ZERO;
        }
        if self.protocol.fall_back(fault) {
            if fault == Fault::Invalid {
                self.pages_come(&Chain(error).to_string());
            } else {
                self.feed.failed(&explain(error, self.feed.name()));
            }
            return Duration::ZERO;
        }
        self.feed.failed(&explain(error, self.feed.name()));
        self.protocol.failed(fault, fastrand::u64(..))
    }

    fn unanswered(&mut self, verb: &str, longest: Duration) -> Duration {
        self.feed.failed(&format!("no answer to {verb} within {longest:?}"));
        self.protocol.failed(Fault::Unreachable, fastrand::u64(..))
    }
}

/// The error with its cause, and what to do about it.
fn explain(error: &Error, cache: &str) -> String {
    let said = Chain(error);
    match error {
        Error::Api(status) if status.code == 404 => {
            format!("the server does not have {cache}: install its definition ({said})")
        }
        Error::Api(status) if status.code == 403 => {
            format!("{said}: grant the verbs list and watch")
        }
        _ => said.to_string(),
    }
}

/// A watch that is open this long is healthy, even without events.
const SETTLE_TIME: Duration = Duration::from_secs(1);

fn fault(error: &Error) -> Fault {
    match error {
        Error::Api(status) => {
            let asked = status
                .details
                .as_ref()
                .map(|details| details.retry_after_seconds)
                .filter(|asked| *asked > 0);
            match status.code {
                // kube reads an event that does not decode as an empty status.
                0 => Fault::Undecodable,
                410 => Fault::Expired,
                504 if status.message.contains("Too large resource version") => Fault::Expired,
                429 | 500..=599 => {
                    Fault::Busy(asked.map(|seconds| Duration::from_secs(u64::from(seconds))))
                }
                400 | 405 | 422 => Fault::Invalid,
                _ => Fault::Refused,
            }
        }
        Error::SerdeError(_) | Error::FromUtf8(_) => Fault::Undecodable,
        _ => Fault::Unreachable,
    }
}
