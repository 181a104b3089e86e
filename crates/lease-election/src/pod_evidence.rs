//! PodEvidence: whether the Pod of a holder's identity has ended, as far as Kubernetes knows.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodSpec, PodStatus};
use kube::core::Status;
use kube::{Api, Client};

use crate::config::random;
use crate::evidence::HolderEvidence;
use crate::holder_pod::{Found, HolderPod, Word, identity_of};
use crate::record::Record;

/// The annotation on the mirror of a static Pod, which a kubelet runs from a file.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Evidence from the holder's Pod: a candidate takes over one stop margin after Kubernetes reports
/// its end, and not a lease later.
///
/// Holders need an identity made by [`identity`](Self::identity). Any other names no Pod, and
/// nothing is known about it; client-go's `<host name>_<uuid>` is no exception, although it looks
/// like one. Needs `get` on pods in their namespace.
///
/// # What counts
/// - The API server says that this very Pod does not exist, or its name belongs to another uid:
///   Kubernetes removes a Pod once its kubelet has said that nothing of it runs.
/// - Its phase is `Succeeded` or `Failed`, and no container is reported as running. (Not if the
///   garbage collector of Pods set it for a node that is gone: no kubelet was asked.)
/// - All its containers have terminated, later than the holder's last renewal by their node's
///   clock, and none restarts: the Pod is being deleted, or its `restartPolicy` is `Never`.
///
/// Nothing else counts: no deletion under way, no Pod that is not ready, no unreachable node.
/// Static Pods give no evidence, because the API server shows only their mirror.
///
/// # What it assumes
/// **No Pod is deleted while its processes run** (A8): no `kubectl delete --force`, no grace period
/// of zero, no deleted Node object or `out-of-service` taint of a running machine. Otherwise two
/// leaders work at once until the first notices: if it is cut off, at the end of its hold. Only the
/// [fence](crate::Leadership::fence) helps there. Do not use this where such deletions are routine.
///
/// - No node's clock is set back between the end of one container and the start of the next.
/// - All candidates are Pods of one namespace, with identities made of `metadata.name` and
///   `metadata.uid`. A host name does not do: it is the node's on the host's network, and cut to 63
///   letters elsewhere.
///
/// In a wrong namespace or cluster each Pod is absent. So no absence counts until this process's
/// own Pod was found there.
#[derive(Clone)]
pub struct PodEvidence {
    pods: Api<Pod>,
    identity: Arc<str>,
    /// This process's own Pod was found.
    is_home: Arc<AtomicBool>,
}

impl PodEvidence {
    /// Asks for Pods in this namespace, which must be that of all candidates. `identity` is this
    /// process's own, made by [`identity`](Self::identity); with any other no absence ever counts.
    #[must_use]
    pub fn new(client: Client, namespace: &str, identity: &str) -> Self {
        Self {
            pods: Api::namespaced(client, namespace),
            identity: identity.into(),
            is_home: Arc::default(),
        }
    }

    /// `<pod name>_<pod uid>_<64 random bits>`: the identity of this process, for
    /// [`ConfigBuilder::identity`](crate::ConfigBuilder::identity). Name and uid come from the
    /// downward API (`metadata.name`, `metadata.uid`).
    #[must_use]
    pub fn identity(pod_name: &str, pod_uid: &str) -> String {
        identity_of(pod_name, pod_uid, random())
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
        let Some(pod) = HolderPod::of(holder) else { return false };
        let Ok(there) = self.look(pod).await else { return false };
        match seen(there.as_ref(), record).map(|found| pod.judge(found)) {
            Some(Word::Ended) => true,
            Some(Word::NotHere) => self.is_home(record).await,
            Some(Word::Nothing) | None => false,
        }
    }
}

impl PodEvidence {
    /// The Pod of this name, if the API server answers. A 404 of a proxy, or of a server that does
    /// not serve Pods, is an error.
    async fn look(&self, pod: HolderPod<'_>) -> Result<Option<Pod>, kube::Error> {
        match self.pods.get(pod.name).await {
            Err(kube::Error::Api(status)) if is_about(&status, pod.name) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Whether the Pods of this election are in this namespace.
    async fn is_home(&self, record: &Record) -> bool {
        if self.is_home.load(Ordering::Relaxed) {
            return true;
        }
        let Some(own) = HolderPod::of(&self.identity) else { return false };
        let Ok(there) = self.look(own).await else { return false };
        let is_home = seen(there.as_ref(), record).is_some_and(|found| own.is_here(found));
        if is_home {
            self.is_home.store(true, Ordering::Relaxed);
        } else {
            tracing::warn!(
                pod = own.name,
                "this process's own Pod is not in the namespace of the evidence: nothing is believed"
            );
        }
        is_home
    }
}

/// Whether an API server says that it has no Pod of this name.
fn is_about(status: &Status, name: &str) -> bool {
    let details = status.details.as_ref();
    status.code == 404
        && status.reason == "NotFound"
        && details.is_some_and(|details| details.kind == "pods" && details.name == name)
}

/// The Pod to be judged; `None` if it can give no evidence.
fn seen<'p>(there: Option<&'p Pod>, record: &Record) -> Option<Found<'p>> {
    let Some(pod) = there else { return Some(Found::Nothing) };
    if pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR))
    {
        return None;
    }
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    let has_ended = match (&pod.spec, &pod.status) {
        (Some(spec), Some(status)) => has_ended(spec, status, is_deleted, record),
        _ => false,
    };
    Some(Found::Pod { uid: pod.metadata.uid.as_deref()?, has_ended })
}

fn has_ended(spec: &PodSpec, status: &PodStatus, is_deleted: bool, record: &Record) -> bool {
    let unasked = status.conditions.iter().flatten().any(|condition| {
        condition.type_ == "DisruptionTarget"
            && condition.reason.as_deref() == Some("DeletionByPodGC")
    });
    if unasked
        || all(status)
            .any(|container| state(container).is_some_and(|state| state.running.is_some()))
    {
        return false;
    }
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        return true;
    }
    let is_final = is_deleted || spec.restart_policy.as_deref() == Some("Never");
    // A container that is waiting, or has no status, may still start the holder.
    is_final
        && is_told_in_full(spec, status)
        && all(status).all(|container| has_terminated(container, spec, record))
}

/// Whether each of its containers has a status.
fn is_told_in_full(spec: &PodSpec, status: &PodStatus) -> bool {
    let told = |name: &String| all(status).any(|container| container.name == *name);
    let ephemeral = spec.ephemeral_containers.iter().flatten().map(|container| &container.name);
    let others = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    !spec.containers.is_empty()
        && others.map(|container| &container.name).chain(ephemeral).all(told)
}

fn all(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    [
        &status.container_statuses,
        &status.init_container_statuses,
        &status.ephemeral_container_statuses,
    ]
    .into_iter()
    .flatten()
    .flatten()
}

fn state(container: &ContainerStatus) -> Option<&k8s_openapi::api::core::v1::ContainerState> {
    container.state.as_ref()
}

/// Whether the container ended after the holder's last renewal, or runs only once. An earlier end
/// may be that of the process before.
fn has_terminated(container: &ContainerStatus, spec: &PodSpec, record: &Record) -> bool {
    let Some(terminated) = state(container).and_then(|state| state.terminated.as_ref()) else {
        return false;
    };
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
