//! Takes away all that a run made on a cluster of the user's, and nothing else: what bears its
//! mark, or is for what does.

use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::answer::doing;
use super::client::why;
use crate::clock;
use crate::plan::{CLASS, is_our_volume};
use crate::venue::{RUN_LABEL, prefix};

/// The provisioner's hold on a volume. The provisioner is gone, and the directory will be with the
/// run's folder.
const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
/// When nothing more goes away for so long, the rest is left. Kubernetes itself takes ten seconds
/// for a namespace.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same while a namespace is being deleted, which other controllers may hold up.
const LONG_PATIENCE: Duration = Duration::from_secs(90);
/// How often it is said that it still waits; the demo takes a longer silence for a hang.
const TELL: Duration = Duration::from_secs(10);
/// How often it looks what is left.
const LOOK: Duration = Duration::from_millis(300);
/// Requests under way at once.
const SWEEPING: usize = 8;

/// What there still is of a run.
#[derive(Default)]
struct Rest {
    classes: Vec<StorageClass>,
    volumes: Vec<PersistentVolume>,
    namespaces: Vec<Namespace>,
}

impl Rest {
    fn count(&self) -> usize {
        self.classes.len().saturating_add(self.volumes.len()).saturating_add(self.namespaces.len())
    }

    fn patience(&self) -> Duration {
        if self.namespaces.iter().any(is_going) { LONG_PATIENCE } else { PATIENCE }
    }

    /// What is left, and why.
    fn sentences(&self) -> Vec<String> {
        let of = |going: bool| {
            let namespaces =
                self.namespaces.iter().filter(move |namespace| is_going(namespace) == going);
            namespaces.map(|namespace| format!("Namespace {}", namespace.name_any()))
        };
        let classes = self.classes.iter().map(|class| format!("StorageClass {}", class.name_any()));
        let volumes =
            self.volumes.iter().map(|volume| format!("PersistentVolume {}", volume.name_any()));
        let stuck: Vec<_> = classes.chain(volumes).chain(of(false)).collect();
        let mut all = Vec::new();
        if !stuck.is_empty() {
            all.push(format!("cannot remove {}", stuck.join(", ")));
        }
        all.extend(
            of(true).map(|namespace| format!("{namespace} is still being deleted by the cluster")),
        );
        all
    }
}

fn is_going(namespace: &Namespace) -> bool {
    namespace.metadata.deletion_timestamp.is_some()
}

/// Sweeps until all is gone, or nothing more goes. Says what is left.
pub(super) async fn sweep(client: &Client, mark: &str) -> Vec<String> {
    let mut least = usize::MAX;
    let mut since: Instant = clock::now();
    let mut told = since;
    let mut patience = PATIENCE;
    loop {
        let looked = tokio::time::timeout(PATIENCE, rest(client, mark)).await;
        let failed = match looked.unwrap_or_else(|_| Err(no_answer())) {
            Ok(rest) if rest.count() == 0 => return Vec::new(),
            Ok(rest) => {
                if rest.count() < least {
                    (least, since) = (rest.count(), clock::now());
                }
                if since > told || told.elapsed() >= TELL {
                    told = clock::now();
                    doing(format!("removing what the demo made on the cluster: {least} to go"));
                }
                let _ = tokio::time::timeout(PATIENCE, push(client, &rest)).await;
                patience = rest.patience();
                rest.sentences()
            }
            Err(error) => vec![format!(
                "cannot remove whatever has the label {RUN_LABEL}={mark}, and volumes of the class {CLASS}: {}",
                why(error)
            )],
        };
        if since.elapsed() >= patience {
            return failed;
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn rest(client: &Client, mark: &str) -> Result<Rest, kube::Error> {
    let marked = ListParams::default().labels(&format!("{RUN_LABEL}={mark}"));
    let prefix = prefix(mark);
    let ours = |volume: &PersistentVolume| {
        let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
        let namespace = claim.and_then(|claim| claim.namespace.as_deref());
        is_our_volume(volume) && namespace.is_some_and(|name| name.starts_with(&prefix))
    };
    let mut volumes =
        Api::<PersistentVolume>::all(client.clone()).list(&ListParams::default()).await?.items;
    volumes.retain(ours);
    Ok(Rest {
        classes: Api::all(client.clone()).list(&marked).await?.items,
        volumes,
        namespaces: Api::<Namespace>::all(client.clone()).list(&marked).await?.items,
    })
}

fn no_answer() -> kube::Error {
    kube::Error::Service("the server does not answer".into())
}

/// One round. What is refused shows in the next look.
async fn push(client: &Client, rest: &Rest) {
    let (delete, all) = (DeleteParams::default(), ListParams::default());
    for class in &rest.classes {
        let _ = Api::<StorageClass>::all(client.clone()).delete(&class.name_any(), &delete).await;
    }
    let namespaces = rest.namespaces.iter().filter(|namespace| !is_going(namespace));
    stream::iter(namespaces)
        .for_each_concurrent(SWEEPING, async |namespace| {
            let name = namespace.name_any();
            let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), &name);
            let _ = claims.delete_collection(&delete, &all).await;
            let _ = Api::<Lease>::namespaced(client.clone(), &name)
                .delete_collection(&delete, &all)
                .await;
            let _ = Api::<Namespace>::all(client.clone()).delete(&name, &delete).await;
        })
        .await;
    let volumes = Api::<PersistentVolume>::all(client.clone());
    stream::iter(&rest.volumes)
        .for_each_concurrent(SWEEPING, async |volume| {
            let name = volume.name_any();
            if volume.metadata.deletion_timestamp.is_none() {
                let _ = volumes.delete(&name, &delete).await;
            }
            if volume.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
                let kept: Vec<_> = volume
                    .finalizers()
                    .iter()
                    .filter(|finalizer| *finalizer != FINALIZER)
                    .collect();
                // With the version: kube-controller-manager takes its own finalizer off at the same
                // time.
                let patch = json!({"metadata": {
                    "finalizers": kept, "resourceVersion": volume.metadata.resource_version,
                }});
                let _ = volumes.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await;
            }
        })
        .await;
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::{LONG_PATIENCE, PATIENCE, Rest};

    #[test]
    fn a_namespace_that_is_going_is_waited_for_longer_and_not_called_stuck() {
        let mut rest = Rest {
            namespaces: vec![from_value(json!({"metadata": {"name": "a"}})).unwrap()],
            classes: vec![
                from_value(json!({"metadata": {"name": "k"}, "provisioner": "p"})).unwrap(),
            ],
            ..Rest::default()
        };
        assert_eq!(rest.patience(), PATIENCE);
        assert_eq!(rest.sentences(), ["cannot remove StorageClass k, Namespace a"]);
        let going = json!({"metadata": {"name": "b", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        rest.namespaces.push(from_value(going).unwrap());
        assert_eq!(rest.patience(), LONG_PATIENCE);
        assert_eq!(rest.sentences()[1..], ["Namespace b is still being deleted by the cluster"]);
    }
}
