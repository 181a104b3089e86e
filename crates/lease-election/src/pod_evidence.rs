//! PodEvidence: whether the Pod that a holder's identity names has ended, as far as Kubernetes knows.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodSpec, PodStatus};
use kube::{Api, Client};

use crate::config::random;
use crate::evidence::HolderEvidence;
use crate::record::Record;

/// Evidence from the holder's Pod: take over as soon as Kubernetes says that it has ended, and not a lease later.
///
/// Holders must be named by [`identity`](Self::identity): `<pod name>_<pod uid>_<anything>`. Any other identity is no Pod's, and nothing is known about it. Needs `get` on
/// pods in their namespace.
///
/// # What counts
/// - There is no Pod of this name, or one with another uid: Kubernetes lets a Pod go when its kubelet has said that nothing of it runs.
/// - Its phase is `Succeeded` or `Failed`, and no container is said to run. (Not if the garbage collector of pods said so, for a node that is gone: nobody has
///   asked that node.)
/// - All its containers have terminated, later than the holder's last renewal by the clock of their node, and none will be restarted: the Pod is being deleted, or its
///   `restartPolicy` is `Never`.
///
/// Nothing else does: not a Pod that is being deleted, nor one that is not ready, nor a node that cannot be reached.
///
/// # What it assumes
/// **That nobody deletes a Pod whose processes still run**: `kubectl delete --force`, a grace period of zero, a Node object that is deleted while its machine runs, a taint
/// `out-of-service` on a machine that was not switched off. Then the Pod is gone and its process may lead; two work at once until it notices, which, cut
/// off, is at the end of its hold. Only the [fence](crate::Leadership::fence) helps there. Do not use this where such things are done by habit. And that a node's clock is not set back
/// between the end of one container and the start of the next.
///
/// That a Pod is not there says nothing in the wrong namespace, so nothing is believed of it until this process's own Pod was found there.
#[derive(Clone)]
pub struct PodEvidence {
    pods: Api<Pod>,
    identity: Arc<str>,
    /// Our own Pod was found.
    is_home: Arc<AtomicBool>,
}

impl PodEvidence {
    /// Asks for Pods in this namespace, which must be that of all candidates. `identity` is that of this process, as
    /// [`identity`](Self::identity) makes it; with another nothing is ever known.
    #[must_use]
    pub fn new(client: Client, namespace: &str, identity: &str) -> Self {
        Self { pods: Api::namespaced(client, namespace), identity: identity.into(), is_home: Arc::default() }
    }

    /// `<pod name>_<pod uid>_<64 random bits>`: the identity of this process, for [`ConfigBuilder::identity`](crate::ConfigBuilder::identity).
    /// Name and uid come from the downward API (`metadata.name`, `metadata.uid`).
    #[must_use]
    pub fn identity(pod_name: &str, pod_uid: &str) -> String {
        format!("{pod_name}_{pod_uid}_{:016x}", random())
    }
}

impl fmt::Debug for PodEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodEvidence").finish_non_exhaustive()
    }
}

#[async_trait]
impl HolderEvidence for PodEvidence {
    async fn is_gone(&self, holder: &str, record: &Record) -> bool {
        let Some((name, uid)) = pod_of(holder) else { return false };
        let Ok(pod) = self.pods.get_opt(name).await else { return false };
        is_gone(pod.as_ref(), uid, record) && (is_pod(pod.as_ref(), uid) || self.is_home().await)
    }
}

impl PodEvidence {
    /// Whether it looks where the Pods of this election are.
    async fn is_home(&self) -> bool {
        if self.is_home.load(Ordering::Relaxed) {
            return true;
        }
        let Some((name, uid)) = pod_of(&self.identity) else { return false };
        let is_home = matches!(self.pods.get_opt(name).await, Ok(pod) if is_pod(pod.as_ref(), uid));
        if is_home {
            self.is_home.store(true, Ordering::Relaxed);
        } else {
            tracing::warn!(
                pod = name,
                "this process's own Pod is not in the namespace of the evidence: nothing is believed"
            );
        }
        is_home
    }
}

fn is_pod(pod: Option<&Pod>, uid: &str) -> bool {
    pod.is_some_and(|pod| pod.metadata.uid.as_deref() == Some(uid))
}

/// The name and the uid of the Pod that an identity names. Anybody may have written it, and the name goes into a URL.
fn pod_of(holder: &str) -> Option<(&str, &str)> {
    let (name, rest) = holder.split_once('_')?;
    let uid = rest.split('_').next()?;
    let is_name = (1..=253).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
        && !name.starts_with('.')
        && !name.contains("..");
    let groups = uid.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let is_uid = groups && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    (is_name && is_uid).then_some((name, uid))
}

fn is_gone(pod: Option<&Pod>, uid: &str, record: &Record) -> bool {
    let Some(pod) = pod else { return true };
    match &pod.metadata.uid {
        Some(other) if other != uid => true,
        Some(_) => match (&pod.spec, &pod.status) {
            (Some(spec), Some(status)) => {
                let is_deleted = pod.metadata.deletion_timestamp.is_some();
                has_ended(spec, status, is_deleted, record)
            }
            _ => false,
        },
        None => false,
    }
}

fn has_ended(spec: &PodSpec, status: &PodStatus, is_deleted: bool, record: &Record) -> bool {
    let unasked = status.conditions.iter().flatten().any(|condition| {
        condition.type_ == "DisruptionTarget" && condition.reason.as_deref() == Some("DeletionByPodGC")
    });
    if unasked || all(status).any(|container| state(container).is_some_and(|state| state.running.is_some())) {
        return false;
    }
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        return true;
    }
    let is_final = is_deleted || spec.restart_policy.as_deref() == Some("Never");
    // All that may run the holder: what is still waiting, or is not told of, may start.
    let told = status.container_statuses.as_ref().map_or(0, Vec::len);
    let all_told = told > 0 && told >= spec.containers.len();
    is_final && all_told && all(status).all(|container| has_terminated(container, spec, record))
}

fn all(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    [&status.container_statuses, &status.init_container_statuses, &status.ephemeral_container_statuses]
        .into_iter()
        .flatten()
        .flatten()
}

fn state(container: &ContainerStatus) -> Option<&k8s_openapi::api::core::v1::ContainerState> {
    container.state.as_ref()
}

/// After the holder's last renewal, or once and for all: what is told may be about the process before.
fn has_terminated(container: &ContainerStatus, spec: &PodSpec, record: &Record) -> bool {
    let Some(terminated) = state(container).and_then(|state| state.terminated.as_ref()) else { return false };
    let runs_once = spec
        .init_containers
        .iter()
        .flatten()
        .any(|init| init.name == container.name && init.restart_policy.is_none());
    // Both in whole seconds of the node's clock, rounded down.
    let later = match (&terminated.finished_at, record.renew_time) {
        (Some(finished), Some(renewed)) => finished.0.as_second() > renewed.as_second(),
        _ => false,
    };
    runs_once || later
}

#[cfg(test)]
mod tests;
