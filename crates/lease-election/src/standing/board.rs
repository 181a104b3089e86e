//! Board: where an elector and the publisher of its LeaseCandidate note what the other needs: how
//! the candidate stands, and what is known of the Lease.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{Notify, watch};

use crate::error::StoreError;

/// How a candidate of a coordinated election stands with the server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Candidacy {
    /// Not published yet.
    Looking,
    /// Its LeaseCandidate is on the server, whose controller elects.
    Standing,
    /// The same, but the LeaseCandidate may not be watched, for this reason. It is read instead,
    /// each retry period and at least every 2 s, so that the controller's questions are
    /// answered in time; the watch is tried again, at least every 30 s.
    Unwatched(StoreError),
    /// It is not published, or not kept up, for this reason; it goes on trying. (A 403 or 404: the
    /// permission or the namespace is missing. The API is there, or it may not be asked whether
    /// it is, or somebody in between says 404 of it: that counts for nothing, and for
    /// [`WithoutApi`](crate::WithoutApi) only a server that says so has none.)
    Refused(StoreError),
    /// Another elector keeps up a LeaseCandidate of this name for another Lease: a LeaseCandidate
    /// is named as its elector's identity, and stands for one Lease. This one does not stand
    /// until that one is gone. Give each elector in a namespace an identity of its own
    /// (`pod-0-scheduler`, `pod-0-sweeper`), or leave it out.
    NameTaken {
        /// For which Lease.
        lease: String,
    },
    /// The API server has no LeaseCandidates. The policy says what is done.
    ApiAbsent,
    /// The LeaseCandidate stands, and for half a minute nobody elected anybody, or for ten seconds
    /// nobody minded a leader whom nobody elected: the server's controller does not run (feature
    /// gate `CoordinatedLeaderElection`). The policy says what is done.
    NobodyElects,
    /// The LeaseCandidate was taken back.
    Withdrawn,
    /// It could not be taken back, for this reason: the server forgets it after half an hour; until
    /// then it may elect it for some seconds. Or whoever keeps it up panicked, or its runtime
    /// went away: while it is wanted that is begun again, at first after a second
    /// ([`Stats::publisher_failures`](crate::Stats::publisher_failures)).
    LeftBehind(StoreError),
}

/// The publisher's part: publishes until `wanted` is false, then takes back, then ends.
pub(crate) type Publish =
    Arc<dyn Fn(Arc<Board>, watch::Receiver<bool>) -> BoxFuture<'static, ()> + Send + Sync>;

/// Where each part notes what the other needs.
pub(crate) struct Board {
    pub(super) candidacy: watch::Sender<Candidacy>,
    /// Whether the Lease was read since somebody follows it. Nothing is published before: a grant
    /// is always seen to follow something.
    lease_known: watch::Sender<bool>,
    /// The elector's own connection was found to be of no use. Whoever watches may not hear of
    /// that.
    doubt: Notify,
}

impl Board {
    pub(super) fn new() -> Self {
        Self {
            candidacy: watch::Sender::new(Candidacy::Looking),
            lease_known: watch::Sender::new(false),
            doubt: Notify::new(),
        }
    }

    pub(crate) fn note(&self, candidacy: Candidacy) {
        self.candidacy.send_if_modified(|known| {
            let differs = *known != candidacy;
            if differs {
                tracing::debug!(?candidacy, "coordinated election");
                *known = candidacy;
            }
            differs
        });
    }

    pub(crate) fn candidacy(&self) -> Candidacy {
        self.candidacy.borrow().clone()
    }

    pub(crate) fn is_lease_known(&self) -> bool {
        *self.lease_known.borrow()
    }

    pub(crate) fn lease_known(&self) {
        self.lease_known.send_if_modified(|known| !std::mem::replace(known, true));
    }

    /// Nobody has followed the Lease for a while.
    pub(super) fn lease_forgotten(&self) {
        self.lease_known.send_replace(false);
    }

    pub(crate) fn doubt_connection(&self) {
        self.doubt.notify_one();
    }

    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn connection_is_doubted(&self) {
        self.doubt.notified().await;
    }

    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn until_lease_is_known(&self) {
        let _ = self.lease_known.subscribe().wait_for(|known| *known).await;
    }
}
