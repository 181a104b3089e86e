//! Doing what was decided about a volume.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolume;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use reconciler::{Action, Failure, ObjectKey, Reconciler, Request};
use tokio::time::Instant;

use super::decide::{VolumeStep, decide, finalizer_patch};
use crate::context::{Context, Refused, failure, term_of, within};
use crate::directory::Authority;
use crate::events::Told;
use crate::location::Location;
use crate::outcome::{Problem, Reason};

/// How often a conflict is answered with another look before back-off takes over.
const CONFLICTS: u32 = 4;
/// When to look again at a volume whose claim the server knows and our cache does not yet.
const CACHE_LAG: Duration = Duration::from_secs(1);

/// Takes volumes back.
#[derive(Clone, Debug)]
pub(crate) struct VolumeReconciler {
    context: Arc<Context>,
}

impl Reconciler for VolumeReconciler {
    type Key = String;

    async fn reconcile(&self, request: Request<String>) -> Result<Action, Failure> {
        let context = &self.context;
        let Some(volume) = context.caches.volumes.get(&ObjectKey::cluster(request.key().as_str())) else {
            return Ok(Action::await_change());
        };
        let started = Instant::now();
        let step = self.decide(&volume);
        let deleting = matches!(
            step,
            VolumeStep::TakeBack(_) | VolumeStep::TakeBackIfAbandoned(_) | VolumeStep::Refuse(_)
        );
        let limit = context.limits.delete_timeout;
        match within(limit, "taking the volume back", self.settle(&request, &volume, step)).await {
            Ok(Settled::Deleted) => {
                context.metrics.deleted(started.elapsed());
                tracing::info!(volume = %request.key(), "took the volume and its directory back");
                Ok(Action::await_change())
            }
            Ok(Settled::Done) => Ok(Action::await_change()),
            Ok(Settled::LookAgain) => Ok(Action::requeue(CACHE_LAG)),
            Err(problem) => {
                if deleting && problem.reason != Reason::LeaseLost {
                    context.metrics.delete_failed();
                    context.events.tell(&*volume, Told::VolumeFailedDelete, &problem.message);
                }
                Err(failure(problem))
            }
        }
    }
}

/// How a run ended well.
enum Settled {
    Done,
    Deleted,
    LookAgain,
}

impl VolumeReconciler {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context }
    }

    fn decide(&self, volume: &PersistentVolume) -> VolumeStep {
        let claim = volume
            .spec
            .as_ref()
            .and_then(|spec| spec.claim_ref.as_ref())
            .and_then(|claim| claim.uid.as_deref());
        let known = claim.is_some_and(|uid| self.context.claim_of(uid).is_some());
        decide(&self.context.us, volume, known)
    }

    /// Takes the step, and after a conflict the one that the newer state asks for.
    async fn settle(
        &self,
        request: &Request<String>,
        cached: &PersistentVolume,
        first: VolumeStep,
    ) -> Result<Settled, Problem> {
        let (mut volume, mut step) = (cached.clone(), first);
        if matches!(step, VolumeStep::TakeBack(_) | VolumeStep::TakeBackIfAbandoned(_)) {
            // Data is about to go: the server's present word counts, not the cache's.
            let Some(fresh) = self.read(request.key()).await? else { return Ok(Settled::Done) };
            if fresh.metadata.uid != volume.metadata.uid {
                return Ok(Settled::LookAgain);
            }
            step = self.decide(&fresh);
            volume = fresh;
        }
        for _ in 0..CONFLICTS {
            term_of(request).check()?;
            match self.take(request, &volume, step).await {
                Err(refused) if refused.code == 409 => {
                    let Some(fresh) = self.read(request.key()).await? else { return Ok(Settled::Done) };
                    step = self.decide(&fresh);
                    volume = fresh;
                }
                Err(refused) if refused.code == 404 => return Ok(Settled::Done),
                other => return other.map_err(Problem::from),
            }
        }
        Err(Problem::passing(Reason::ApiFailed, "the volume changes faster than it can be written"))
    }

    async fn read(&self, name: &str) -> Result<Option<PersistentVolume>, Problem> {
        self.context.look("read the PersistentVolume", self.context.volumes_api().get(name)).await
    }

    async fn take(
        &self,
        request: &Request<String>,
        volume: &PersistentVolume,
        step: VolumeStep,
    ) -> Result<Settled, Refused> {
        match step {
            VolumeStep::Idle => Ok(Settled::Done),
            VolumeStep::Refuse(problem) => Err(problem.into()),
            VolumeStep::AddFinalizer(location) => {
                self.set_finalizer(volume, true).await?;
                self.set_retained(request, location, false).await?;
                Ok(Settled::Done)
            }
            VolumeStep::SetApart(location) => {
                self.set_retained(request, location, true).await?;
                term_of(request).check().map_err(Problem::from)?;
                self.set_finalizer(volume, false).await?;
                Ok(Settled::Done)
            }
            VolumeStep::TakeBack(location) => self.take_back(request, volume, location).await,
            VolumeStep::TakeBackIfAbandoned(location) => {
                if self.claim_lives(volume).await? {
                    return Ok(Settled::LookAgain);
                }
                self.take_back(request, volume, location).await
            }
        }
    }

    /// The directory, then the finalizer, then the volume. A crash between two of them leaves a volume that is still to be taken back.
    async fn take_back(
        &self,
        request: &Request<String>,
        volume: &PersistentVolume,
        location: Location,
    ) -> Result<Settled, Refused> {
        let context = &self.context;
        let uid = location.claim_uid().to_owned();
        context
            .on_disk(request, &uid, move |root, term| root.remove(&location, Authority::Volume, term))
            .await?;
        term_of(request).check().map_err(Problem::from)?;
        self.set_finalizer(volume, false).await?;
        if volume.metadata.deletion_timestamp.is_some() {
            return Ok(Settled::Deleted);
        }
        term_of(request).check().map_err(Problem::from)?;
        let params = DeleteParams {
            preconditions: Some(Preconditions { uid: volume.metadata.uid.clone(), resource_version: None }),
            ..DeleteParams::default()
        };
        let volumes = context.volumes_api();
        match context.ask("delete the PersistentVolume", volumes.delete(request.key(), &params)).await {
            Err(refused) if refused.code != 404 => Err(refused),
            _ => Ok(Settled::Deleted),
        }
    }

    async fn claim_lives(&self, volume: &PersistentVolume) -> Result<bool, Problem> {
        let Some(claim) = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref()) else {
            return Ok(true);
        };
        let (Some(namespace), Some(name)) = (&claim.namespace, &claim.name) else { return Ok(true) };
        let claims = self.context.claims_api(namespace);
        let found = self.context.look("read the claim", claims.get(name)).await?;
        Ok(found.is_some_and(|found| found.metadata.uid == claim.uid))
    }

    async fn set_finalizer(&self, volume: &PersistentVolume, wanted: bool) -> Result<(), Refused> {
        let Some(patch) = finalizer_patch(volume, wanted) else { return Ok(()) };
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let volumes = self.context.volumes_api();
        let params = PatchParams::default();
        let what = if wanted { "protect the PersistentVolume" } else { "free the PersistentVolume" };
        self.context.ask(what, volumes.patch_metadata(name, &params, &Patch::Merge(patch))).await.map(drop)
    }

    async fn set_retained(
        &self,
        request: &Request<String>,
        location: Location,
        retained: bool,
    ) -> Result<(), Problem> {
        let uid = location.claim_uid().to_owned();
        self.context
            .on_disk(request, &uid, move |root, term| root.set_retained(&location, retained, term))
            .await
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self { code: 0, problem }
    }
}
