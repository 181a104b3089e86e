//! Streaming lists: a watch begins with the objects of the list, and goes on after their end.

use std::time::Duration;

use futures::StreamExt as _;
use kube::Error;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout};

use super::WatchLoop;
use crate::hostile::loggable;
use crate::watch::decode::{Decoded, WatchStep};
use crate::watch::protocol::{Fault, Next};
use crate::{Kind, ObjectKey};

/// A streaming list that takes longer comes in pages instead. A server without streaming lists
/// sends the events of a watch for ever.
const LONGEST_STREAM: Duration = Duration::from_secs(60);

impl<K: Kind> WatchLoop<K> {
    /// Collects a list from the start of a watch, then reads the watch to its end. Returns the
    /// pause before the next request.
    pub(super) async fn streaming_list(&mut self) -> Duration {
        let params = self.feed.config().watch_params(self.namespace(), true);
        let (asked, longest) = (Instant::now(), self.patience.for_page());
        // No version: as consistent as a list.
        let watch = self.reader.watch(self.tolerant, &params, "");
        let mut steps = match timeout(longest, watch).await {
            Ok(Ok(steps)) => steps,
            Ok(Err(error)) => return self.failed(&error),
            Err(_) => {
                self.patience.unanswered();
                return self.unanswered("watch", longest);
            }
        };
        self.patience.answered(asked.elapsed());
        let longest = self.patience.for_page();
        let mut listing = self.empty_listing();
        let version = loop {
            // A long list comes without a pause.
            consume_budget().await;
            let step = match timeout(longest, steps.next()).await {
                Ok(Some(Ok(step))) => step,
                Ok(Some(Err(error))) => return self.failed(&error),
                Ok(None) => {
                    self.feed.failed("the server closed the streaming list before its end");
                    return self.protocol.failed(Fault::Unreachable, fastrand::u64(..));
                }
                Err(_) => {
                    self.patience.unanswered();
                    return self.unended(&format!("nothing came for {longest:?}"));
                }
            };
            if asked.elapsed() > LONGEST_STREAM {
                return self.unended("events come instead");
            }
            match step {
                WatchStep::Applied(object) => self.listed(&mut listing, object),
                WatchStep::Deleted(object) => {
                    key_of(&object).into_iter().for_each(|key| listing.relist.delete(&key));
                }
                WatchStep::ListEnd(version) => break version,
                // A server that has streaming lists sends no other bookmark before.
                WatchStep::Bookmark(_) => return self.unended("a bookmark without it came"),
                WatchStep::Refused(status) => return self.failed(&Error::Api(status)),
            }
        };
        let pause = self.complete(listing, version).await;
        match self.protocol.next() {
            Next::Watch { .. } => self.follow(steps).await,
            _ => pause,
        }
    }

    /// The end of the list does not come.
    fn unended(&mut self, why: &str) -> Duration {
        let error = format!("the streaming list has no end mark: {why}");
        if self.protocol.unended() {
            self.feed.failed(&error);
        } else {
            self.pages_come(&error);
        }
        Duration::ZERO
    }

    /// Logs that the server has no streaming lists, which is no failure.
    pub(super) fn pages_come(&self, error: &str) {
        let (watch, error) = (self.feed.name(), loggable(error));
        tracing::info!(watch = %watch, namespace = self.feed.scope().label(), error, "no streaming list: the list comes in pages");
    }
}

fn key_of<K: Kind>(object: &Decoded<K>) -> Option<ObjectKey> {
    match object {
        Ok(object) => ObjectKey::of(object),
        Err(undecodable) => ObjectKey::from_meta(&undecodable.meta),
    }
}
