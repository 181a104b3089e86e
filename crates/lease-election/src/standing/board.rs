//! Board: the facts that an elector and the publisher of its LeaseCandidate exchange.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{Notify, watch};

use crate::error::StoreError;

/// The state of a coordinated candidate on the server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Candidacy {
    /// Not published yet.
    Looking,
    /// Its LeaseCandidate is on the server, whose controller elects.
    Standing,
    /// As `Standing`, but the server refuses the watch of the LeaseCandidate, for this reason. The
    /// elector reads it each retry period and at least every 2 s, to answer the controller's pings
    /// in time. It tries the watch again at least every 30 s.
    Unwatched(StoreError),
    /// The LeaseCandidate is not published, or not kept up, for this reason; the elector goes on
    /// trying. A 403 or 404 means that the permission or the namespace is missing. It proves no
    /// absence of the API: the probe may be forbidden, or a proxy may answer it. For
    /// [`WithoutApi`](crate::WithoutApi) the API is absent only if the server says so.
    Refused(StoreError),
    /// Another elector keeps up a LeaseCandidate of this name for another Lease. The name of a
    /// LeaseCandidate is its elector's identity, and it stands for one Lease. This elector does not
    /// stand until the other LeaseCandidate is gone. Give each elector in a namespace its own
    /// identity (`pod-0-scheduler`, `pod-0-sweeper`), or keep the default one.
    NameTaken {
        /// The other Lease.
        lease: String,
    },
    /// The API server has no LeaseCandidates. [`WithoutApi`](crate::WithoutApi) decides.
    ApiAbsent,
    /// The LeaseCandidate stands, but the server's controller does not run (feature gate
    /// `CoordinatedLeaderElection`). It elected no leader for half a minute, or tolerated an
    /// unelected leader for ten seconds. [`WithoutApi`](crate::WithoutApi) decides.
    NobodyElects,
    /// The LeaseCandidate is withdrawn.
    Withdrawn,
    /// The LeaseCandidate could not be withdrawn, for this reason. The server forgets it after half
    /// an hour; until then the controller may elect it for some seconds. Or its publisher panicked,
    /// or ended with its runtime. If it is still wanted it starts again, at first after a second
    /// ([`Stats::publisher_failures`](crate::Stats::publisher_failures)).
    LeftBehind(StoreError),
}

/// The publisher: publishes until `wanted` is false, then withdraws, then ends.
pub(crate) type Publish =
    Arc<dyn Fn(Arc<Board>, watch::Receiver<bool>) -> BoxFuture<'static, ()> + Send + Sync>;

/// The facts that each part needs of the other.
pub(crate) struct Board {
    pub(super) candidacy: watch::Sender<Candidacy>,
    /// Whether the Lease was read since a campaign follows it. Nothing is published before, so that
    /// a known record precedes each grant.
    lease_known: watch::Sender<bool>,
    /// The elector's connection was found dead, which a watch may not notice.
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

    /// No campaign has followed the Lease for a while.
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
