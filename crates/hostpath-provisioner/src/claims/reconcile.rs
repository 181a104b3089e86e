//! Doing what was decided about a claim. Keyed by UID, so that a claim that was made again under
//! its name is another one.

use std::sync::Arc;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{Patch, PatchParams, PostParams};
use reconciler::{Action, Failure, ObjectKey, Reconciler, Request};
use tokio::time::Instant;

use super::decide::{ClaimStep, Note, Plan, decide, note_of, note_patch, verify};
use crate::context::{Begun, Context, term_of, within};
use crate::directory::{Authority, Ensured, Trouble};
use crate::events::Told;
use crate::marker::Marker;
use crate::names::volume_name;
use crate::outcome::{Problem, Reason, shown};
use crate::volumes::living::check_no_other_volume;

/// The flag of the time of one attempt.
const PROVISION_TIMEOUT: &str = "--provision-timeout";

/// Gives claims their directory and volume.
#[derive(Clone, Debug)]
pub(crate) struct ClaimReconciler {
    context: Arc<Context>,
}

impl Reconciler for ClaimReconciler {
    type Key = String;

    async fn reconcile(&self, request: Request<String>) -> Result<Action, Failure> {
        let context = &self.context;
        let uid = request.key().as_str();
        let claim = context.claim_of(uid);
        let bound = claim.as_ref().and_then(|claim| claim.spec.as_ref()?.volume_name.clone());
        let name = bound.filter(|name| !name.is_empty()).unwrap_or_else(|| volume_name(uid));
        let volume = context.caches.volumes.get(&ObjectKey::cluster(name));
        let step =
            decide(&context.us, claim.as_deref(), context.class().as_deref(), volume.as_deref());
        match (step, &claim) {
            (ClaimStep::Idle(_), Some(claim)) => {
                context.end(uid);
                // Nothing else may ever bring this claim here again, and it would say that it waits
                // for good.
                self.note(claim, None).await.map_err(Problem::into_failure)?;
                Ok(Action::await_change())
            }
            (ClaimStep::Wait(problem), Some(claim)) => {
                // Without the note nobody would know what it waits for, so that is tried again, if
                // nothing else is.
                let told = self.tell_failure(&request, claim, &problem).await;
                told.map_err(Problem::into_failure)?;
                Err(problem.into_failure())
            }
            (ClaimStep::Provision(plan), Some(claim)) => {
                self.provision(&request, claim, *plan).await
            }
            (_, claim) => self.take_back(&request, claim.as_deref()).await,
        }
    }
}

impl ClaimReconciler {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context }
    }

    async fn provision(
        &self,
        request: &Request<String>,
        claim: &PersistentVolumeClaim,
        plan: Plan,
    ) -> Result<Action, Failure> {
        let context = &self.context;
        let started = Instant::now();
        if request.attempt() == 0 {
            context.events.tell(
                claim,
                Told::Provisioning,
                &format!(
                    "External provisioner is provisioning volume for claim \"{}/{}\"",
                    plan.claim_namespace, plan.claim_name
                ),
            );
        }
        match within(request, PROVISION_TIMEOUT, self.make(request, &plan)).await {
            Ok(created) => {
                // A run whose caches do not show the volume yet finds it: that is not another one.
                if created {
                    context.metrics.provisioned(started.elapsed());
                }
                let name = plan.location.name();
                context.events.tell(
                    claim,
                    Told::ProvisioningSucceeded,
                    &format!("Successfully provisioned volume {name}"),
                );
                tracing::info!(claim = %request.key(), namespace = %plan.claim_namespace, name = %plan.claim_name, volume = %name, "provisioned");
                Ok(Action::await_change())
            }
            Err(problem) => {
                context.metrics.provision_failed();
                match self.tell_failure(request, claim, &problem).await {
                    Err(untold) if problem.is_lasting => Err(untold.into_failure()),
                    _ => Err(problem.into_failure()),
                }
            }
        }
    }

    /// The directory first, then the volume; tells whether it was this run that made the volume.
    /// Each step may find that an earlier attempt, or an earlier leader, has taken it.
    async fn make(&self, request: &Request<String>, plan: &Plan) -> Result<bool, Problem> {
        let context = &self.context;
        let term = term_of(request);
        term.check()?;
        let uid = plan.location.claim_uid();
        context.begin(Begun {
            location: plan.location.clone(),
            claim_namespace: plan.claim_namespace.clone(),
            claim_name: plan.claim_name.clone(),
        });
        let marker = Marker {
            claim_uid: uid.to_owned(),
            claim_namespace: plan.claim_namespace.clone(),
            claim_name: plan.claim_name.clone(),
            volume: plan.location.name().to_owned(),
            identity: context.identity.clone(),
            fence: term.fence().clone(),
        };
        let (location, mode) = (plan.location.clone(), plan.mode);
        let ensured = context
            .on_disk(request, uid, move |root, term| root.ensure(&location, mode, &marker, term))
            .await?;
        if let Ensured::Adopted(marker) = ensured {
            tracing::info!(claim = %uid, made_by = %shown(&marker.identity), "adopted the directory of an earlier attempt");
        }
        term.check()?;
        let volumes = context.volumes_api();
        let params = PostParams::default();
        let created = match context
            .ask("create the PersistentVolume", volumes.create(&params, &plan.volume))
            .await
        {
            Ok(_) => true,
            Err(problem) if problem.code() == 409 => {
                let name = plan.location.name();
                match context.ask("read the PersistentVolume", volumes.get_opt(name)).await? {
                    Some(volume) => {
                        verify(&context.us, plan, &volume)?;
                        false
                    }
                    None => {
                        let message = "the PersistentVolume existed a moment ago and is gone now";
                        return Err(Problem::passing(Reason::ApiFailed, message));
                    }
                }
            }
            Err(problem) => return Err(problem),
        };
        context.end(uid);
        Ok(created)
    }

    /// Takes back the directory of a claim that is gone, if it never became a volume. The server
    /// has the last word on both.
    async fn take_back(
        &self,
        request: &Request<String>,
        claim: Option<&PersistentVolumeClaim>,
    ) -> Result<Action, Failure> {
        let context = &self.context;
        let Some(begun) = context.begun(request.key()) else { return Ok(Action::await_change()) };
        if claim.is_some() {
            // It is going, and is looked at again when it has gone.
            return Ok(Action::await_change());
        }
        match within(request, PROVISION_TIMEOUT, self.take_back_begun(request, &begun)).await {
            Ok(()) => {
                context.end(request.key());
                Ok(Action::await_change())
            }
            Err(problem) => {
                if problem.reason != Reason::LeaseLost {
                    let claim = begun.claim();
                    context.events.tell(&claim, Told::ProvisioningCleanupFailed, &problem.message);
                }
                Err(problem.into_failure())
            }
        }
    }

    async fn take_back_begun(
        &self,
        request: &Request<String>,
        begun: &Begun,
    ) -> Result<(), Problem> {
        let context = &self.context;
        let uid = request.key();
        term_of(request).check()?;
        let (volumes, name) = (context.volumes_api(), begun.location.name());
        if context.ask("read the PersistentVolume", volumes.get_opt(name)).await?.is_some() {
            // From here on it is the volume's story.
            return Ok(());
        }
        let claims = context.claims_api(&begun.claim_namespace);
        let claim = context.ask("read the claim", claims.get_opt(&begun.claim_name)).await?;
        if claim.is_some_and(|claim| claim.metadata.uid.as_ref() == Some(uid)) {
            return Err(Problem::passing(
                Reason::ApiFailed,
                "the claim is gone in the cache and there on the server",
            ));
        }
        check_no_other_volume(context, &begun.location)?;
        context.compare(&term_of(request), request.tracker()).await?;
        let location = begun.location.clone();
        let removed = context
            .on_disk(request, uid, move |root, term| {
                match root.remove(&location, Authority::Marker, term) {
                    // Whatever stands there, it is not what we made. The sweep counts it.
                    Err(error)
                        if matches!(error.trouble(), Trouble::Foreign | Trouble::InTheWay) =>
                    {
                        Ok(Err(error))
                    }
                    other => other.map(Ok),
                }
            })
            .await?;
        match removed {
            Ok(removed) => {
                tracing::info!(claim = %uid, directory = %begun.location, ?removed, "took back what was begun for a claim that is gone");
            }
            Err(error) => {
                tracing::warn!(claim = %uid, %error, "left alone, though its claim is gone")
            }
        }
        Ok(())
    }

    /// Says why a claim waits: on the claim itself, as an Event, in the log.
    async fn tell_failure(
        &self,
        request: &Request<String>,
        claim: &PersistentVolumeClaim,
        problem: &Problem,
    ) -> Result<(), Problem> {
        // A lost lease is no property of the claim; the next leader goes on.
        if problem.reason == Reason::LeaseLost {
            return Ok(());
        }
        let mut note = Note::from(problem);
        if problem.is_lasting {
            note.message = shown(&format!("{}; tried again when it changes", problem.message));
        } else if request.is_last_attempt() {
            note.message = shown(&format!(
                "given up after {} attempts, until the claim changes: {}",
                request.attempt().saturating_add(1),
                problem.message
            ));
        }
        self.context.events.tell(claim, Told::ProvisioningFailed, &note.message);
        self.note(claim, Some(&note)).await
    }

    /// Makes the claim carry this note. It is no property of the work: that goes on whether it can
    /// be written or not.
    async fn note(
        &self,
        claim: &PersistentVolumeClaim,
        note: Option<&Note>,
    ) -> Result<(), Problem> {
        let Some(patch) = note_patch(claim, note) else { return Ok(()) };
        let (Some(namespace), Some(name)) = (&claim.metadata.namespace, &claim.metadata.name)
        else {
            return Ok(());
        };
        let claims = self.context.claims_api(namespace);
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let annotate = claims.patch_metadata(name, &params, &patch);
        match self.context.ask("annotate the claim", annotate).await {
            Ok(_) => Ok(()),
            // The claim is gone: there is nobody to tell.
            Err(problem) if problem.code() == 404 => Ok(()),
            Err(problem) => {
                tracing::debug!(error = %problem, had = ?note_of(claim), "the claim's note could not be written");
                Err(problem)
            }
        }
    }
}
