//! The watch of one cache: sends the requests that `protocol` decides on, and feeds the cache with
//! what `decode` makes of the answers. Each watch fails, pauses and heals alone.

mod decode;
mod protocol;

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Error;
use tokio::time::{Instant, sleep, timeout};

pub(crate) use decode::Reader;

use crate::cache::store::Relist;
use crate::{Cache, Kind, ObjectKey};
use decode::{Decoded, Steps, WatchStep};
use protocol::{Fault, Next, OnBackwards, Patience, Protocol};

/// Keeps one cache current. Does nothing until it runs.
#[derive(Debug)]
pub(crate) struct WatchLoop<K> {
    cache: Cache<K>,
    reader: Reader<K>,
    protocol: Protocol,
    patience: Patience,
    /// Decode object by object, since an answer did not decode as a whole.
    tolerant: bool,
    relist: Option<(Relist<K>, Undecoded)>,
}

/// Objects of the list in progress that did not decode.
type Undecoded = usize;

impl<K: Kind> WatchLoop<K> {
    pub(crate) fn new(cache: Cache<K>, reader: Reader<K>) -> Self {
        let patience = Patience::new(cache.config().answer_time);
        Self { cache, reader, protocol: Protocol::new(), patience, tolerant: false, relist: None }
    }

    /// Runs until dropped.
    pub(crate) async fn run(mut self) -> Infallible {
        let cache = self.cache.clone();
        let mut watching = pin!(async move {
            loop {
                let pause = self.step().await;
                if !pause.is_zero() {
                    self.pause(pause).await;
                }
            }
        });
        loop {
            // Newcomers are greeted in this task too, between two steps of the watch, so that they
            // miss nothing and hear nothing twice.
            tokio::select! {
                biased;
                () = cache.arrival() => cache.greet(),
                never = &mut watching => return never,
            }
        }
    }

    /// Waits, unless it is told that waiting has become useless.
    async fn pause(&mut self, pause: Duration) {
        tokio::select! {
            biased;
            () = self.cache.hurried() => self.protocol.hurried(),
            () = sleep(pause) => {}
        }
    }

    /// One request, and a watch to its end. Returns the pause before the next.
    async fn step(&mut self) -> Duration {
        match self.protocol.next().clone() {
            Next::List { token } => self.list(token).await,
            Next::Watch { version } => self.watch(&version).await,
        }
    }

    async fn list(&mut self, token: Option<String>) -> Duration {
        if token.is_none() {
            self.relist = None;
        }
        let params = self.cache.config().list_params(token);
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
        let (mut relist, mut undecoded) = self.relist.take().unwrap_or_else(|| (Relist::new(), 0));
        for object in page.objects {
            match self.entering(object) {
                Ok(entering) => self.cache.relist_object(&mut relist, entering),
                Err(key) => {
                    undecoded += 1;
                    if let Some(key) = key {
                        relist.undecodable(key);
                    }
                }
            }
        }
        if let Some(token) = page.token {
            self.relist = Some((relist, undecoded));
            self.protocol.page(token);
            return Duration::ZERO;
        }
        let Some(version) = page.version else {
            self.cache.failed("the list has no resourceVersion");
            return self.protocol.failed(Fault::Undecodable, fastrand::u64(..));
        };
        self.tolerant = undecoded > 0;
        self.complete(relist, version)
    }

    /// The last page is in.
    fn complete(&mut self, relist: Relist<K>, version: String) -> Duration {
        let refused = if self.protocol.is_backwards(&version) {
            Some(relist)
        } else {
            // The second line of defence: a list may call itself new and show what is old.
            self.cache.commit(relist, false).err().map(|(_, relist)| relist)
        };
        if let Some(relist) = refused {
            match self.protocol.listed_backwards(fastrand::u64(..)) {
                OnBackwards::ListAgain(pause) => {
                    self.cache.failed("the list is older than what was seen before");
                    return pause;
                }
                OnBackwards::Believe => {
                    tracing::warn!(watch = %self.cache.name(),
                        "the cluster went back in time (restored from a backup?): its older state is taken over");
                    // Believed lists are always taken over.
                    let _ = self.cache.commit(relist, true);
                }
            }
        }
        self.protocol.listed(version);
        Duration::ZERO
    }

    async fn watch(&mut self, version: &str) -> Duration {
        let params = self.cache.config().watch_params();
        let mut steps: Steps<K> = match timeout(
            self.patience.for_watch(),
            self.reader.watch(self.tolerant, &params, version),
        )
        .await
        {
            Ok(Ok(steps)) => steps,
            Ok(Err(error)) => return self.failed(&error),
            Err(_) => return self.unanswered("watch", self.patience.for_watch()),
        };
        let began = Instant::now();
        let idle = self.cache.config().idle_time();
        let mut progressed = false;
        loop {
            // A watch that stands counts as healthy even when nothing happens.
            let next =
                timeout(if progressed { idle } else { SETTLE_TIME.min(idle) }, steps.next()).await;
            self.protocol.stood(began.elapsed());
            let step = match next {
                Ok(Some(Ok(step))) => step,
                Ok(Some(Err(error))) => return self.failed(&error),
                Ok(None) => {
                    let pause = self.protocol.ended(progressed, began.elapsed(), fastrand::u64(..));
                    if !progressed && !pause.is_zero() {
                        self.cache.failed("the server closes the watch at once");
                    }
                    return pause;
                }
                Err(_) if !progressed && began.elapsed() < idle => {
                    self.protocol.progressed(None);
                    self.cache.healthy();
                    progressed = true;
                    continue;
                }
                Err(_) => {
                    self.cache.failed("the watch is silent for longer than it should last");
                    return self.protocol.ended(true, began.elapsed(), 0);
                }
            };
            match step {
                WatchStep::Applied(object) => {
                    let version = self.version(&object);
                    // One that is there, but not to be read, leaves what is held of it.
                    if let Ok(entering) = self.entering(object) {
                        self.cache.apply(entering);
                    }
                    self.protocol.progressed(version.as_deref());
                }
                WatchStep::Deleted(object) => {
                    let version = self.version(&object);
                    match &object {
                        Ok(object) => self.cache.delete(object.meta()),
                        Err(undecodable) => self.cache.delete(&undecodable.meta),
                    }
                    self.protocol.progressed(version.as_deref());
                }
                WatchStep::Bookmark(version) => self.protocol.progressed(Some(&version)),
                WatchStep::Refused(status) => return self.failed(&Error::Api(status)),
            }
            progressed = true;
            self.cache.healthy();
        }
    }

    fn version(&self, object: &Decoded<K>) -> Option<String> {
        match object {
            Ok(object) => object.meta().resource_version.clone(),
            Err(undecodable) => undecodable.meta.resource_version.clone(),
        }
    }

    /// An object made ready for the store; or, counted and logged, the key of one that cannot be.
    fn entering(
        &self,
        object: Decoded<K>,
    ) -> Result<crate::cache::store::Entering<K>, Option<ObjectKey>> {
        match object {
            Ok(object) => self.cache.prepare(object).map_err(|(key, error)| {
                self.cache.skipped(key.as_ref(), error);
                key
            }),
            Err(undecodable) => {
                let key = ObjectKey::from_meta(&undecodable.meta);
                self.cache.skipped(key.as_ref(), &undecodable.error);
                Err(key)
            }
        }
    }

    fn failed(&mut self, error: &Error) -> Duration {
        let fault = fault(error);
        if fault == Fault::Undecodable && !self.tolerant {
            // Once more, object by object; a watch goes on from the last version seen.
            self.tolerant = true;
            if matches!(self.protocol.next(), Next::List { .. }) {
                self.protocol.restart();
            }
            return Duration::ZERO;
        }
        self.cache.failed(&error.to_string());
        self.protocol.failed(fault, fastrand::u64(..))
    }

    fn unanswered(&mut self, verb: &str, longest: Duration) -> Duration {
        self.cache.failed(&format!("no answer to {verb} within {longest:?}"));
        self.protocol.failed(Fault::Unreachable, fastrand::u64(..))
    }
}

/// A watch that stands this long is healthy, even if nothing happened in it.
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
                410 => Fault::Expired,
                504 if status.message.contains("Too large resource version") => Fault::Expired,
                429 | 500..=599 => {
                    Fault::Busy(asked.map(|seconds| Duration::from_secs(u64::from(seconds))))
                }
                _ => Fault::Refused,
            }
        }
        Error::SerdeError(_) | Error::FromUtf8(_) => Fault::Undecodable,
        _ => Fault::Unreachable,
    }
}
