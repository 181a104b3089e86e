//! Evidence: what an application knows about the holder of a Lease, and when it is asked.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::clock::Moment;
use crate::config::Config;
use crate::observation::Observation;
use crate::record::Record;
use crate::version::Version;

/// Says whether the holder of a Lease is gone, so that a candidate may take over before the lease
/// expires: for [`LeaderElector::with_evidence`](crate::LeaderElector::with_evidence).
/// `PodEvidence` (feature `pod-evidence`) asks Kubernetes for the holder's Pod.
#[async_trait]
pub trait HolderEvidence: Send + Sync {
    /// Whether the process that wrote `record` as `holder` has certainly ended: it runs nowhere,
    /// and will not run again.
    ///
    /// **The safety of the election rests on a `true`** (A8): if that process does run, two may
    /// work until it notices. A process that does not answer, a node that is not ready, a Pod that
    /// is to be deleted: none of these is evidence. In doubt, and after an error, the answer is
    /// `false`.
    ///
    /// The elector asks when it first sees a holder, and again while the holder is silent. It asks
    /// after two of its retry periods, then once in each. An answer after the request time-out
    /// counts as `false`, and so does a panic. `holder` and `record` are untrusted input.
    async fn is_gone(&self, holder: &str, record: &Record) -> bool;
}

/// The questions of one run, one at a time in flight.
pub(crate) struct Inquiry {
    evidence: Option<Arc<dyn HolderEvidence>>,
    timeout: Duration,
    interval: Duration,
    /// The holder asked about last, and when it may be asked about next.
    asked: Option<(String, Moment)>,
    under_way: Option<BoxFuture<'static, Option<Version>>>,
}

impl Inquiry {
    pub(crate) fn new(evidence: Option<&Arc<dyn HolderEvidence>>, config: &Config) -> Self {
        Self {
            evidence: evidence.cloned(),
            timeout: config.request_timeout(),
            interval: config.retry_period(),
            asked: None,
            under_way: None,
        }
    }

    /// Asks about the holder if that is due. Otherwise returns when it will be, if nothing changes.
    pub(crate) fn plan(&mut self, observation: &Observation, now: Moment) -> Option<Moment> {
        let evidence = self.evidence.as_ref().filter(|_| self.under_way.is_none())?;
        let Observation::Present { lease, since, mine: false, .. } = observation else {
            return None;
        };
        let holder = &lease.record.holder;
        if lease.record.is_free() {
            return None;
        }
        let due = match &self.asked {
            Some((asked, next)) if asked == holder => {
                since.after(self.interval.saturating_mul(2)).max(*next)
            }
            _ => now,
        };
        if now < due {
            return Some(due);
        }
        self.asked = Some((holder.clone(), now.after(self.interval)));
        let (evidence, lease, timeout) = (Arc::clone(evidence), lease.clone(), self.timeout);
        self.under_way = Some(Box::pin(async move {
            let asked = async { evidence.is_gone(&lease.record.holder, &lease.record).await };
            let answer =
                tokio::time::timeout(timeout, AssertUnwindSafe(asked).catch_unwind()).await;
            if let Ok(Err(_)) = &answer {
                tracing::warn!("the evidence about the holder panicked, which says nothing of it");
            }
            matches!(answer, Ok(Ok(true))).then_some(lease.version)
        }));
        None
    }

    /// The next answer: the version whose holder is gone, if it is. Pending for ever without a
    /// question.
    ///
    /// # Cancel safety
    /// The question stays under way.
    pub(crate) async fn answer(&mut self) -> Option<Version> {
        match &mut self.under_way {
            Some(question) => {
                let answer = question.await;
                self.under_way = None;
                answer
            }
            None => std::future::pending().await,
        }
    }
}

impl fmt::Debug for Inquiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inquiry").field("asked", &self.asked).finish_non_exhaustive()
    }
}
