//! Leadership: the guard that the work of one term holds. It is valid until the term ends, and
//! never again.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::config::check_identity;
use crate::error::{ConfigError, StoreError};
use crate::loss::Loss;
use crate::term::Term;
use crate::version::FenceToken;

/// What the work must do now.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Ending {
    /// A stop or a hand-over was requested. The term goes on: wind up within the drain time-out.
    StopRequested,
    /// The term is over: have no more effects.
    Lost(Loss),
}

/// The term is over: the requested action did not happen, or its result may not be relied on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lost(pub Loss);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Loss::Expired => f.write_str("the term is over: no renewal succeeded in time"),
            Loss::TakenOver { by } => {
                write!(f, "the term is over: {} holds the lease", crate::error::shown(by))
            }
            Loss::Released => f.write_str("the term is over: somebody emptied the lease"),
            Loss::Deleted => f.write_str("the term is over: the lease was deleted"),
            Loss::Replaced => f.write_str("the term is over: the lease was deleted and made again"),
            Loss::ForeignWrite => f.write_str("the term is over: somebody else wrote the lease"),
            Loss::Rewound => {
                f.write_str("the term is over: the server went back to an older state")
            }
            Loss::Finished => f.write_str("the term is over: its work has ended"),
            Loss::Overran => f.write_str("the term is over: its work took too long to stop"),
            Loss::Broken => {
                f.write_str("the term is over: its elector panicked, or its runtime went away")
            }
        }
    }
}

impl std::error::Error for Lost {}

/// Why [`Leadership::verify_remote`] could not confirm the term.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// The term is over.
    Lost(Lost),
    /// The server did not answer. The term may go on, but this call does not confirm it.
    Unanswered(StoreError),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(lost) => lost.fmt(f),
            Self::Unanswered(error) => write!(f, "the term could not be verified: {error}"),
        }
    }
}

impl std::error::Error for VerifyError {}

/// Why a lease cannot be handed over.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HandOverError {
    /// The term is over: there is nothing left to hand over.
    Lost(Lost),
    /// No candidate can have this identity.
    Identity(ConfigError),
    /// The identity is this elector's own.
    OwnIdentity,
    /// The elector never releases
    /// ([`release_on_stop(false)`](crate::ConfigBuilder::release_on_stop)).
    NeverReleases,
    /// In a coordinated election the server's controller chooses the next leader. It does so too
    /// where its notes (a strategy) are on the Lease, although this elector sees no controller. Use
    /// [`step_down`](Leadership::step_down) or [maintenance](crate::LeaderElector::maintenance)
    /// there. Where candidates elect by themselves (no such API, or no running controller) this
    /// error does not occur.
    ServerElects,
}

impl fmt::Display for HandOverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(lost) => lost.fmt(f),
            Self::Identity(error) => write!(f, "nobody to hand over to: {error}"),
            Self::OwnIdentity => f.write_str("the successor named is the leader itself"),
            Self::ServerElects => f.write_str(
                "the server's controller chooses who is next: step down, or use maintenance",
            ),
            Self::NeverReleases => {
                f.write_str("the lease is not given back: release_on_stop is false")
            }
        }
    }
}

impl std::error::Error for HandOverError {}

/// One term, as its work sees it. Clones are the same term.
///
/// A term that is over stays over for every clone. If the same process leads again, that is another
/// term with another `Leadership`.
#[derive(Clone)]
pub struct Leadership {
    term: Arc<Term>,
}

impl Leadership {
    pub(crate) fn of(term: Arc<Term>) -> Self {
        Self { term }
    }

    /// Whether the term goes on, by a clock that counts suspend. `false` is final.
    ///
    /// Ask right before each effect. It is true until the hold has expired, also after a stop was
    /// requested.
    #[doc(alias = "IsLeader")]
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.term.is_valid()
    }

    /// [`is_valid`](Self::is_valid) for use with `?`.
    ///
    /// # Errors
    /// [`Lost`] if the term is over.
    pub fn ensure(&self) -> Result<(), Lost> {
        if self.is_valid() { Ok(()) } else { Err(Lost(self.term.loss())) }
    }

    /// How long the term stays valid if no renewal succeeds; zero if it is over.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.term.remaining()
    }

    /// Why the term is over, if it is.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        (!self.is_valid()).then(|| self.term.loss())
    }

    /// Waits until the term is over. A requested stop alone does not end it: see
    /// [`ending`](Self::ending).
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn lost(&self) -> Loss {
        self.term.lost().await
    }

    /// Waits until the work must wind up: after a requested stop (the term goes on, the lease is
    /// renewed) or because the term is over.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    #[doc(alias = "ctx.Done")]
    pub async fn ending(&self) -> Ending {
        tokio::select! {
            biased;
            loss = self.term.lost() => Ending::Lost(loss),
            () = self.term.stop_requested() => Ending::StopRequested,
        }
    }

    /// Ends this term in order and leaves the lease to the next candidate: [`ending`](Self::ending)
    /// fires, and the work winds up. The lease is renewed meanwhile, for at most the drain
    /// time-out, and released after the work. Returns at once; further calls have no effect.
    ///
    /// The elector is not stopped: [`run_forever`](crate::LeaderElector::run_forever) (or
    /// [`Campaigns`](crate::Campaigns)) campaigns again a retry period later. It leads again if the
    /// lease is still free. After work that was dropped at its drain time-out it leads one stop
    /// margin later at the soonest (A4). In a coordinated election the server's controller then
    /// elects its best candidate, which may be this one:
    /// [maintenance](crate::LeaderElector::maintenance) excludes it.
    ///
    /// # Errors
    /// [`HandOverError::Lost`] if the term is over, [`HandOverError::NeverReleases`] if the lease
    /// would not be given back.
    pub fn step_down(&self) -> Result<(), HandOverError> {
        if !self.term.releases() {
            return Err(HandOverError::NeverReleases);
        }
        self.ensure().map_err(HandOverError::Lost)?;
        self.term.request_stop();
        Ok(())
    }

    /// [`step_down`](Self::step_down) in favour of the candidate with this `identity`, which takes
    /// the lease at once. All others, this elector included, leave the lease alone for a
    /// [`hand_over_wait`](crate::ConfigBuilder::hand_over_wait). If the successor has not taken it
    /// by then they do, candidates with a [`rank`](crate::ConfigBuilder::rank) first. (The
    /// successor may be dead, or not exist.) The last call before the release counts.
    ///
    /// The released Lease keeps the identity in
    /// [`SUCCESSOR_ANNOTATION`](crate::SUCCESSOR_ANNOTATION). It is a hint and only makes
    /// candidates wait: one conditional write still decides the election. Candidates of client-go
    /// ignore it, see an ordinary release, and may come first.
    ///
    /// # Errors
    /// As [`step_down`](Self::step_down); [`HandOverError::Identity`] and
    /// [`HandOverError::OwnIdentity`] if `identity` is no other candidate's,
    /// [`HandOverError::ServerElects`] in a coordinated election, and on a Lease with a
    /// controller's strategy: all candidates leave such a Lease to the controller first. If the
    /// strategy appears after this call, the lease is released without the hint.
    pub fn hand_over_to(&self, identity: impl Into<String>) -> Result<(), HandOverError> {
        let identity = identity.into();
        check_identity(&identity).map_err(HandOverError::Identity)?;
        if identity == self.term.identity() {
            return Err(HandOverError::OwnIdentity);
        }
        if self.term.server_elects() {
            return Err(HandOverError::ServerElects);
        }
        if !self.term.releases() {
            return Err(HandOverError::NeverReleases);
        }
        self.ensure().map_err(HandOverError::Lost)?;
        self.term.name_successor(identity);
        self.step_down()
    }

    /// Whether a stop or a hand-over was requested.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.term.is_stopping()
    }

    /// The fence token of this term, for receivers that refuse older ones.
    #[must_use]
    pub fn fence(&self) -> FenceToken {
        self.term.fence().clone()
    }

    /// Asks the server whether the term goes on, right before a dangerous effect. Costs one
    /// linearizable read.
    ///
    /// Definitive news ends the term.
    ///
    /// # Errors
    /// [`VerifyError::Lost`] if the term is over, [`VerifyError::Unanswered`] if the server could
    /// not be asked within the request time-out.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn verify_remote(&self) -> Result<(), VerifyError> {
        let term = &self.term;
        self.ensure().map_err(VerifyError::Lost)?;
        match term.read().await {
            Err(error) => {
                self.ensure().map_err(VerifyError::Lost)?;
                Err(VerifyError::Unanswered(error))
            }
            Ok(None) => {
                term.end(Loss::Deleted);
                Err(VerifyError::Lost(Lost(term.loss())))
            }
            Ok(Some(lease)) => {
                let loss = term.contradiction(&lease);
                if let Some(loss) = loss {
                    term.end(loss);
                }
                self.ensure().map_err(VerifyError::Lost)
            }
        }
    }

    /// Runs `future` while the term goes on, and drops it when the term is over.
    ///
    /// Requests already sent may still land: give the receiver the [`fence`](Self::fence).
    ///
    /// # Errors
    /// [`Lost`] if the term ended first, or was over before; the future is then not polled again.
    ///
    /// # Cancel safety
    /// As cancel safe as `future`.
    pub async fn guard<F: Future>(&self, future: F) -> Result<F::Output, Lost> {
        let mut lost = pin!(self.term.lost());
        let mut future = pin!(future);
        poll_fn(|context| {
            // Reads the clock before each poll: after a suspend, timers fire later than other
            // wakers.
            let valid = self.is_valid();
            if let Poll::Ready(loss) = lost.as_mut().poll(context) {
                return Poll::Ready(Err(Lost(loss)));
            }
            if valid { future.as_mut().poll(context).map(Ok) } else { Poll::Pending }
        })
        .await
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("fence", self.term.fence())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
