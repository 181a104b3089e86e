//! The program put together: two controllers, three caches and a sweep under one manager.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::{Api, Client, Resource};
use lease_election::LeaderElector;
use reconciler::{
    AdminServer, BoxError, CacheConfig, Change, Controller, Finalizers as _, Handle, Index,
    Manager, Reconciler,
};

use crate::claims::{ClaimReconciler, changed};
use crate::config::Settings;
use crate::context::{Caches, Context, Limits, Parts};
use crate::directory::Root;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::names::{FINALIZER, claim_uid_of, volume_name};
use crate::pause::Pause;
use crate::permissions::{Mended, Permissions};
use crate::sweep::Sweep;
use crate::us::Us;
use crate::volumes::VolumeReconciler;

/// What the program is put together from.
pub struct Assembly<'a> {
    /// Checked flags.
    pub settings: &'a Settings,
    /// For everything but the election.
    pub client: Client,
    /// Without one it works at once: for tests, and for nobody else.
    pub elector: Option<LeaderElector>,
    /// Where directories go.
    pub root: Root,
    /// Where Events go.
    pub events: Events,
    /// What is counted.
    pub metrics: Metrics,
    /// What is known of the account's permissions; the clients' requests pass through its layer.
    pub permissions: Permissions,
    /// Serves metrics and health, if given.
    pub admin: Option<AdminServer>,
}

impl fmt::Debug for Assembly<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly")
            .field("settings", self.settings)
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

/// Puts the program together. Nothing runs yet.
///
/// # Errors
/// When numbers do not fit together that the flags' checks let pass.
pub fn assemble(assembly: Assembly<'_>) -> Result<Manager, BoxError> {
    let Assembly { settings, client, elector, root, events, metrics, permissions, admin } =
        assembly;
    let pause = Pause::new(metrics.clone());
    let mut builder =
        Manager::builder().grace(settings.drain_grace).loss_grace(settings.stop_margin / 2);
    if let Some(elector) = elector {
        builder = builder.election(elector);
    }
    if let Some(admin) = admin {
        let (permissions, pause) = (permissions.clone(), pause.clone());
        let admin = admin.readiness("permissions", move || permissions.readiness());
        builder = builder.admin(admin.readiness("removals", move || pause.readiness()));
    }
    let mut manager = builder.build()?;
    let claims_by_uid = Index::new(|claim: &PersistentVolumeClaim| claim.metadata.uid.clone());
    let caches = Caches {
        claims: manager
            .cache_with(Api::all(client.clone()), CacheConfig::new().index(&claims_by_uid)),
        claims_by_uid,
        volumes: manager.cache(Api::<PersistentVolume>::all(client.clone())),
        classes: manager.cache(Api::<StorageClass>::all(client.clone())),
    };
    let us = Us {
        provisioner: settings.provisioner.clone(),
        storage_class: settings.storage_class.clone(),
        root: root.path().to_path_buf(),
        node_label: settings.node_label.clone(),
    };
    let context = Arc::new(Context::new(Parts {
        us,
        owner: settings.owner(),
        identity: settings.election.identity().to_owned(),
        root,
        client,
        caches: caches.clone(),
        api_timeout: settings.limits.api_timeout,
        events,
        metrics,
        pause,
    }));
    let limiter = settings.retries.limiter()?;

    let class = settings.storage_class.clone();
    let pending = caches.claims.clone();
    // By UID: a claim that was made again under its name is another one, and what was begun for a
    // claim that is gone still needs a run.
    let claims = Controller::keyed("claims", ClaimReconciler::new(Arc::clone(&context)))
        .source(caches.claims.trigger(claims_to_look_at))
        // A claim that waits for its class looks again when the class comes or changes.
        .source(caches.classes.trigger(move |change: &Change<StorageClass>| {
            let ours =
                change.object().is_some_and(|object| object.metadata.name.as_ref() == Some(&class));
            let all = if ours { pending.list() } else { Vec::new() };
            all.iter()
                .filter(|claim| is_unbound(claim))
                .filter_map(|claim| claim.metadata.uid.clone())
                .collect::<Vec<_>>()
        }))
        // So does one whose volume went before they were bound, or whose volume's name was
        // another's until now.
        .source(caches.volumes.trigger(claim_without_volume))
        .workers(settings.workers)
        .limiter(limiter.clone());
    let Limits { provision_threshold, provision_timeout, .. } = settings.limits;
    let claims = limited(claims, provision_threshold, provision_timeout);
    // By name, and with the finalizer by hand: it is only on volumes of ours with the policy
    // Delete, and comes off living ones too.
    let volumes = Controller::keyed("volumes", VolumeReconciler::new(Arc::clone(&context)))
        .source(caches.volumes.trigger(|change: &Change<PersistentVolume>| name_of(change)))
        // A volume whose claim vanished before they were bound is nobody else's.
        .source(caches.claims.trigger(|change: &Change<PersistentVolumeClaim>| {
            let gone = change.old.as_deref().filter(|_| change.new.is_none());
            gone.and_then(|claim| claim.metadata.uid.as_deref()).map(volume_name)
        }))
        .reads(&caches.classes)
        .workers(settings.workers)
        .limiter(limiter);
    let Limits { delete_threshold, delete_timeout, .. } = settings.limits;
    let volumes = limited(volumes, delete_threshold, delete_timeout);
    let handle = claims.handle();
    let waiting = Arc::new(Waiting {
        // The context's client notices refusals for these permissions: it must not be held by them.
        context: Arc::downgrade(&context),
        claims: handle.clone(),
        volumes: volumes.handle(),
    });
    let resumed = Arc::clone(&waiting);
    permissions.on_mended(move |mended| waiting.try_again(mended));
    let sweep = Arc::new(Sweep {
        context,
        claims: handle,
        interval: settings.sweep_interval,
        resume: Box::new(move || resumed.try_again(Mended::Everything)),
    });
    manager.leader_task("sweep", move |task| {
        let sweep = Arc::clone(&sweep);
        async move { sweep.run(task).await }
    });
    manager.add(claims);
    manager.add(volumes);
    Ok(manager)
}

/// Sets the most attempts, and the longest time of one. Zero is without end.
fn limited<R: Reconciler>(
    mut controller: Controller<R>,
    attempts: u32,
    timeout: Duration,
) -> Controller<R> {
    if attempts > 0 {
        controller = controller.max_attempts(attempts);
    }
    if !timeout.is_zero() {
        controller = controller.timeout(timeout);
    }
    controller
}

/// All that may wait for a permission, but for the election, which tries again by itself within
/// three retry periods.
struct Waiting {
    context: Weak<Context>,
    claims: Handle<String>,
    volumes: Handle<String>,
}

impl Waiting {
    /// Keys that stand in back-off or were given up run at once; each finds out by itself whether
    /// there is anything to do.
    fn try_again(&self, mended: Mended) {
        let Some(context) = self.context.upgrade() else { return };
        let Caches { claims, volumes, classes, .. } = &context.caches;
        claims.retry_now();
        volumes.retry_now();
        classes.retry_now();
        if mended == Mended::Watches {
            return;
        }
        let unbound = claims.list();
        let unbound = unbound.iter().filter(|claim| is_unbound(claim));
        unbound.filter_map(|claim| claim.metadata.uid.clone()).for_each(|uid| self.claims.add(uid));
        context.all_begun().into_iter().for_each(|uid| self.claims.add(uid));
        let unsettled = volumes.list();
        let unsettled = unsettled.iter().filter(|volume| is_unsettled(volume));
        unsettled
            .filter_map(|volume| volume.metadata.name.clone())
            .for_each(|name| self.volumes.add(name));
    }
}

fn name_of<K: Resource>(change: &Change<K>) -> Option<String> {
    change.object().and_then(|object| object.meta().name.clone())
}

fn is_unbound(claim: &PersistentVolumeClaim) -> bool {
    claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).is_none_or(str::is_empty)
}

/// Whether something may be to be done about a volume.
fn is_unsettled(volume: &PersistentVolume) -> bool {
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    volume.metadata.deletion_timestamp.is_some()
        || phase != Some("Bound")
        || !volume.has_finalizer(FINALIZER)
}

/// The UIDs that a change of a claim names. Our own note is no change, or a failing claim would be
/// tried again at once.
fn claims_to_look_at(change: &Change<PersistentVolumeClaim>) -> Option<String> {
    if let (Some(old), Some(new)) = (&change.old, &change.new)
        && !changed(old, new)
    {
        return None;
    }
    change.object().and_then(|claim| claim.metadata.uid.clone())
}

/// The claim that may want a volume now that this one is gone. One that was bound to it does not:
/// it had its volume, and what our cache still shows of it may be from before.
fn claim_without_volume(change: &Change<PersistentVolume>) -> Option<String> {
    let gone = change.old.as_deref().filter(|_| change.new.is_none())?;
    let uid = claim_uid_of(gone.metadata.name.as_deref()?)?;
    let phase = gone.status.as_ref().and_then(|status| status.phase.as_deref());
    let claim = gone.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    let had_it = matches!(phase, Some("Bound" | "Released" | "Failed"))
        && claim.and_then(|claim| claim.uid.as_deref()) == Some(uid);
    (!had_it).then(|| uid.to_owned())
}
