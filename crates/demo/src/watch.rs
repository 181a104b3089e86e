//! The judge's own watches of claims, volumes and the lease, written into the record. What is not
//! of this run is passed over.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};

use crate::clock;
use crate::plan::{Plan, is_our_volume};
use crate::record::Record;

/// Watches claims until the task is dropped.
pub(crate) async fn claims(
    client: Client,
    plan: Arc<Plan>,
    record: Arc<Record>,
) -> anyhow::Result<()> {
    let seen = Arc::clone(&record);
    follow(Api::<PersistentVolumeClaim>::all(client), "claims", &record, move |claim, gone| {
        if !plan.has_namespace(claim.metadata.namespace.as_deref().unwrap_or_default()) {
            return;
        }
        let Some(uid) = claim.metadata.uid.as_deref() else { return };
        let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref());
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        seen.history(|history| {
            history.claim(uid, phase, volume, clock::now());
            if gone {
                history.claim_gone(uid);
            }
        });
    })
    .await
}

/// Watches volumes until the task is dropped.
pub(crate) async fn volumes(client: Client, record: Arc<Record>) -> anyhow::Result<()> {
    let seen = Arc::clone(&record);
    follow(Api::<PersistentVolume>::all(client), "volumes", &record, move |volume, gone| {
        if !is_our_volume(volume) {
            return;
        }
        let (Some(name), Some(uid)) =
            (volume.metadata.name.as_deref(), volume.metadata.uid.as_deref())
        else {
            return;
        };
        let claim = volume
            .spec
            .as_ref()
            .and_then(|spec| spec.claim_ref.as_ref())
            .and_then(|claim| claim.uid.as_deref());
        seen.history(|history| {
            if gone { history.volume_gone(uid) } else { history.volume(name, uid, claim) }
        });
    })
    .await
}

/// Watches who leads until the task is dropped.
pub(crate) async fn leader(
    client: Client,
    namespace: String,
    name: &'static str,
    record: Arc<Record>,
) -> anyhow::Result<()> {
    let seen = Arc::clone(&record);
    follow(Api::<Lease>::namespaced(client, &namespace), "leases", &record, move |lease, gone| {
        if lease.metadata.name.as_deref() != Some(name) {
            return;
        }
        let holder =
            lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).filter(|_| !gone);
        seen.history(|history| history.leader(holder));
    })
    .await
}

/// Hands every change to `seen`, and notes it when the watch had to start anew: then something may
/// have come and gone unseen.
async fn follow<K>(
    api: Api<K>,
    what: &str,
    record: &Record,
    mut seen: impl FnMut(&K, bool),
) -> anyhow::Result<()>
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let mut started = false;
    let mut stream = watcher(api, watcher::Config::default()).boxed();
    loop {
        match stream.try_next().await {
            Ok(Some(Event::Init)) if started => {
                record.history(|history| {
                    history.gap(format!(
                        "the watch of {what} had to start anew: changes may be unseen"
                    ))
                });
            }
            Ok(Some(Event::Init)) => started = true,
            Ok(Some(Event::InitDone)) => {}
            Ok(Some(Event::InitApply(object) | Event::Apply(object))) => seen(&object, false),
            Ok(Some(Event::Delete(object))) => seen(&object, true),
            Ok(None) => anyhow::bail!("the watch of {what} ended"),
            // The watcher resumes where it was, or starts anew, which is noted above. No faults are
            // injected here: errors are rare.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(200)).await,
        }
    }
}
