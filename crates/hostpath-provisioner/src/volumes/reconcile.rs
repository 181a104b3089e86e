//! Doing what was decided about a volume.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use reconciler::{Action, Failure, Finalizers as _, ObjectKey, Reconciler, Request};
use tokio::time::Instant;

use super::decide::{TakingBack, TakingBackStep, VolumeStep, decide};
use super::living;
use crate::context::{Context, term_of, within};
use crate::directory::{Authority, Removed, Root};
use crate::events::Told;
use crate::fence::Term;
use crate::location::Location;
use crate::names::FINALIZER;
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
        let Some(volume) = context.caches.volumes.get(&ObjectKey::cluster(request.key().as_str()))
        else {
            return Ok(Action::await_change());
        };
        let started = Instant::now();
        let step = self.decide(&volume);
        let deleting = matches!(step, VolumeStep::TakeBack(_) | VolumeStep::Refuse(_));
        let settling = self.settle(&request, &volume, step);
        match within(&request, "--delete-timeout", settling).await {
            Ok(Settled::Deleted) => {
                context.metrics.deleted(started.elapsed());
                tracing::info!(volume = %request.key(), "took the volume back");
                Ok(Action::await_change())
            }
            Ok(Settled::Done) => Ok(Action::await_change()),
            Ok(Settled::LookAgain) => Ok(Action::requeue(CACHE_LAG)),
            Err(problem) => {
                if deleting && problem.reason != Reason::LeaseLost {
                    context.metrics.delete_failed();
                    context.events.tell(&*volume, Told::VolumeFailedDelete, &problem.message);
                }
                Err(problem.into_failure())
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

/// How taking back ended without a failure.
enum Taken {
    Settled(Settled),
    /// The volume, as read, is not to be taken back, but this.
    Instead(Box<PersistentVolume>, VolumeStep),
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
        for _ in 0..CONFLICTS {
            term_of(request).check()?;
            let taken = match step {
                VolumeStep::TakeBack(_) => match self.take_back(request, &volume).await? {
                    Taken::Settled(settled) => return Ok(settled),
                    Taken::Instead(fresh, instead) => {
                        (volume, step) = (*fresh, instead);
                        continue;
                    }
                },
                other => self.take(request, &volume, other).await,
            };
            match taken {
                Err(problem) if problem.code() == 409 => {
                    let Some(fresh) = self.read(request.key()).await? else {
                        return Ok(Settled::Done);
                    };
                    step = self.decide(&fresh);
                    volume = fresh;
                }
                Err(problem) if problem.code() == 404 => return Ok(Settled::Done),
                other => return other,
            }
        }
        Err(Problem::passing(Reason::ApiFailed, "the volume changes faster than it can be written"))
    }

    /// Takes a volume back in the order of [`TakingBack`]. A crash between two steps leaves a
    /// volume that is still to be taken back.
    async fn take_back(
        &self,
        request: &Request<String>,
        cached: &PersistentVolume,
    ) -> Result<Taken, Problem> {
        let context = &self.context;
        let mut taking = TakingBack::default();
        let mut conflicts = 0;
        loop {
            term_of(request).check()?;
            let step = taking.next(&context.us);
            let done = match step {
                TakingBackStep::ReadVolume => match self.read(request.key()).await? {
                    // Somebody else took the finalizer off, after the directory went.
                    None if taking.is_removed() => return Ok(Taken::Settled(Settled::Deleted)),
                    None => return Ok(Taken::Settled(Settled::Done)),
                    Some(fresh) if fresh.metadata.uid != cached.metadata.uid => {
                        return Ok(Taken::Settled(Settled::LookAgain));
                    }
                    Some(fresh) => {
                        taking.volume_read(fresh);
                        Ok(())
                    }
                },
                TakingBackStep::ReadClaim(claim, location) => {
                    let uid = living::claim_uid(context, request, &claim, &location).await?;
                    taking.claim_read(uid.as_deref());
                    Ok(())
                }
                TakingBackStep::Inspect(location) => {
                    living::check_no_other_volume(context, &location)?;
                    context.compare(&term_of(request), request.tracker()).await?;
                    let uid = location.claim_uid().to_owned();
                    let inspect = move |root: &Root, term: &Term| {
                        root.inspect(&location, Authority::Volume, term)
                    };
                    context.on_disk(request, &uid, inspect).await?;
                    taking.inspected();
                    Ok(())
                }
                TakingBackStep::Protect => match taking.volume() {
                    Some(volume) => self.set_finalizer(volume, true).await.map(|written| {
                        if let Some(metadata) = written {
                            taking.protected(metadata);
                        }
                    }),
                    None => Ok(()),
                },
                TakingBackStep::DeclareDeletion => match taking.volume() {
                    Some(volume) => match self.declare_deletion(volume).await {
                        Ok(Some(written)) => {
                            taking.declared(written);
                            Ok(())
                        }
                        Ok(None) => return Ok(Taken::Settled(Settled::LookAgain)),
                        Err(problem) => Err(problem),
                    },
                    None => Ok(()),
                },
                TakingBackStep::Remove(location) => {
                    let uid = location.claim_uid().to_owned();
                    let remove = move |root: &Root, term: &Term| {
                        root.remove(&location, Authority::Volume, term)
                    };
                    if context.on_disk(request, &uid, remove).await? == Removed::Absent {
                        tracing::warn!(volume = %request.key(), "its directory was not there: removed by an earlier attempt, or by hand");
                    }
                    taking.removed();
                    Ok(())
                }
                TakingBackStep::Free => match taking.volume() {
                    Some(volume) => match self.set_finalizer(volume, false).await {
                        Ok(_) => return Ok(Taken::Settled(Settled::Deleted)),
                        Err(problem) => Err(problem),
                    },
                    None => Ok(()),
                },
                TakingBackStep::Done => return Ok(Taken::Settled(Settled::Deleted)),
                TakingBackStep::Instead(step) => {
                    let volume = taking.volume().cloned().unwrap_or_default();
                    return Ok(Taken::Instead(Box::new(volume), step));
                }
                TakingBackStep::LookAgain => return Ok(Taken::Settled(Settled::LookAgain)),
                TakingBackStep::Fail(problem) => return Err(problem),
            };
            match done {
                Ok(()) => {}
                // Gone, or another one since: the server is asked which.
                Err(problem) if matches!(problem.code(), 404 | 409) && conflicts < CONFLICTS => {
                    conflicts += 1;
                    taking.conflicted();
                }
                Err(problem) => return Err(problem),
            }
        }
    }

    /// Asks the server to delete just this version of the volume. Returns it as it waits for its
    /// finalizers; `None` if it is gone.
    async fn declare_deletion(
        &self,
        volume: &PersistentVolume,
    ) -> Result<Option<PersistentVolume>, Problem> {
        let preconditions = Preconditions {
            uid: volume.metadata.uid.clone(),
            resource_version: volume.metadata.resource_version.clone(),
        };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let volumes = self.context.volumes_api();
        let deleted =
            self.context.ask("delete the PersistentVolume", volumes.delete(name, &params)).await?;
        Ok(deleted.left())
    }

    async fn read(&self, name: &str) -> Result<Option<PersistentVolume>, Problem> {
        let volumes = self.context.volumes_api();
        self.context.ask("read the PersistentVolume", volumes.get_opt(name)).await
    }

    async fn take(
        &self,
        request: &Request<String>,
        volume: &PersistentVolume,
        step: VolumeStep,
    ) -> Result<Settled, Problem> {
        match step {
            VolumeStep::Idle => Ok(Settled::Done),
            VolumeStep::Refuse(problem) => Err(problem),
            VolumeStep::AddFinalizer(location) => {
                self.set_finalizer(volume, true).await?;
                self.set_retained(request, location, false).await?;
                Ok(Settled::Done)
            }
            VolumeStep::LetGo => {
                self.set_finalizer(volume, false).await?;
                Ok(Settled::Done)
            }
            VolumeStep::SetApart(location) => {
                self.set_retained(request, location, true).await?;
                term_of(request).check()?;
                self.set_finalizer(volume, false).await?;
                Ok(Settled::Done)
            }
            // In an order of its own.
            VolumeStep::TakeBack(_) => Ok(Settled::LookAgain),
        }
    }

    /// Returns the metadata as written; `None` if there was nothing to write.
    async fn set_finalizer(
        &self,
        volume: &PersistentVolume,
        wanted: bool,
    ) -> Result<Option<ObjectMeta>, Problem> {
        let Some(patch) = volume.finalizer_patch(FINALIZER, wanted) else { return Ok(None) };
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let volumes = self.context.volumes_api();
        let params = PatchParams::default();
        let what =
            if wanted { "protect the PersistentVolume" } else { "free the PersistentVolume" };
        let patch = Patch::Merge(patch);
        let written = self.context.ask(what, volumes.patch_metadata(name, &params, &patch)).await?;
        Ok(Some(written.metadata))
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
