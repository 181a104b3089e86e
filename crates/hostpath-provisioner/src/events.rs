//! Kubernetes Events: handed over without waiting, written by one task, a few at a time, and never
//! a reason for work to fail.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::json;
use tokio::sync::mpsc;

use crate::metrics::Metrics;
use crate::outcome::shown;

/// Lanes in which Events are written at the same time. All that are about one object go through one
/// lane, in order.
const LANES: usize = 4;
/// Events of a lane that may wait to be written; more are dropped and counted.
const WAITING_MAX: usize = 256;
/// Events of a lane that are remembered, so that a repetition becomes a count.
const REMEMBERED_MAX: usize = 1024;
/// The longest one attempt to write may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Before the second and last attempt.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest name of an object.
const NAME_MAX: usize = 253;

/// What is told, with upstream's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    /// Work on a claim begins.
    Provisioning,
    /// A claim has its volume.
    ProvisioningSucceeded,
    /// A claim could not be provisioned.
    ProvisioningFailed,
    /// What was begun for a claim that is gone could not be taken back.
    ProvisioningCleanupFailed,
    /// A volume could not be taken back.
    VolumeFailedDelete,
    /// Nothing is removed until an operator confirms it; told about the StorageClass.
    RemovalsPaused,
}

impl Told {
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Provisioning => ("Provisioning", "Provision", "Normal"),
            Self::ProvisioningSucceeded => ("ProvisioningSucceeded", "Provision", "Normal"),
            Self::ProvisioningFailed => ("ProvisioningFailed", "Provision", "Warning"),
            Self::ProvisioningCleanupFailed => ("ProvisioningCleanupFailed", "CleanUp", "Warning"),
            Self::VolumeFailedDelete => ("VolumeFailedDelete", "Delete", "Warning"),
            Self::RemovalsPaused => ("RemovalsPaused", "Delete", "Warning"),
        }
    }
}

#[derive(Debug)]
struct Occurrence {
    regarding: ObjectReference,
    told: Told,
    note: String,
    at: Timestamp,
}

/// Where work leaves its Events. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Events {
    /// None: Events are dropped.
    lanes: Arc<[mpsc::Sender<Occurrence>]>,
    metrics: Metrics,
}

impl Events {
    /// The place to leave Events, and the task that writes them until every clone of the place is
    /// gone.
    pub fn new(
        client: Client,
        provisioner: &str,
        identity: &str,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (lanes, receivers): (Vec<_>, Vec<_>) =
            (0..LANES).map(|_| mpsc::channel(WAITING_MAX)).unzip();
        let writers = receivers.into_iter().map(|receiver| {
            let writer = Writer {
                client: client.clone(),
                provisioner: provisioner.to_owned(),
                identity: identity.to_owned(),
                remembered: HashMap::new(),
            };
            writer.run(receiver, metrics.clone())
        });
        let all = futures::future::join_all(writers.collect::<Vec<_>>()).map(drop);
        (Self { lanes: lanes.into(), metrics }, all)
    }

    /// A place where Events are dropped.
    #[must_use]
    pub fn nowhere(metrics: Metrics) -> Self {
        Self { lanes: Arc::default(), metrics }
    }

    pub(crate) fn tell<R: Resource<DynamicType = ()>>(&self, about: &R, told: Told, note: &str) {
        let regarding = about.object_ref(&());
        let mut hasher = DefaultHasher::new();
        regarding.uid.hash(&mut hasher);
        let lane = usize::try_from(hasher.finish() % LANES as u64).unwrap_or_default();
        let Some(sender) = self.lanes.get(lane) else { return };
        let occurrence = Occurrence { regarding, told, note: shown(note), at: Timestamp::now() };
        if sender.try_send(occurrence).is_err() {
            self.metrics.event_dropped();
        }
    }
}

struct Writer {
    client: Client,
    provisioner: String,
    identity: String,
    /// The name of an Event that was written, and how often it came about.
    remembered: HashMap<Key, (String, i32)>,
}

/// What makes two occurrences one Event: the object's UID, what is told, and the words.
type Key = (String, Told, String);

impl Writer {
    async fn run(mut self, mut receiver: mpsc::Receiver<Occurrence>, metrics: Metrics) {
        while let Some(occurrence) = receiver.recv().await {
            if !self.write(occurrence).await {
                metrics.event_dropped();
            }
        }
    }

    /// Returns whether it was written.
    async fn write(&mut self, occurrence: Occurrence) -> bool {
        let Occurrence { regarding, told, note, at } = occurrence;
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let key = (regarding.uid.clone().unwrap_or_default(), told, note.clone());
        if let Some((name, count)) = self.remembered.get_mut(&key) {
            *count = count.saturating_add(1);
            let series = EventSeries { count: *count, last_observed_time: MicroTime(at) };
            let (params, patch) = (PatchParams::default(), Patch::Merge(json!({"series": series})));
            match twice(|| api.patch(name, &params, &patch)).await {
                Written::Yes => return true,
                // The server forgets Events after an hour: write it anew.
                Written::Refused(404) => drop(self.remembered.remove(&key)),
                Written::Refused(_) | Written::No => return false,
            }
        }
        let (reason, action, kind) = told.words();
        let name = event_name(regarding.name.as_deref().unwrap_or("unknown"), at);
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(at)),
            reporting_controller: Some(self.provisioner.clone()),
            reporting_instance: Some(self.identity.chars().take(128).collect()),
            action: Some(action.to_owned()),
            reason: Some(reason.to_owned()),
            type_: Some(kind.to_owned()),
            note: Some(note),
            regarding: Some(regarding),
            ..Event::default()
        };
        let params = PostParams::default();
        // One of this name is the first attempt's, of which only the answer was lost.
        if !matches!(
            twice(|| api.create(&params, &event)).await,
            Written::Yes | Written::Refused(409)
        ) {
            return false;
        }
        if self.remembered.len() >= REMEMBERED_MAX {
            self.remembered.clear();
        }
        self.remembered.insert(key, (name, 1));
        true
    }
}

/// What became of a write.
enum Written {
    Yes,
    /// The server will not have it, with this status.
    Refused(u16),
    No,
}

/// Tries once more what may have failed by accident.
async fn twice<F>(mut write: impl FnMut() -> F) -> Written
where
    F: Future<Output = Result<Event, kube::Error>>,
{
    for pause in [Some(PAUSE), None] {
        match tokio::time::timeout(WRITE_TIMEOUT, write()).await {
            Ok(Ok(_)) => return Written::Yes,
            Ok(Err(kube::Error::Api(status))) if is_final(&status) => {
                tracing::debug!(error = %shown(&status.to_string()), "an Event was refused");
                return Written::Refused(status.code);
            }
            Ok(Err(error)) => {
                tracing::debug!(error = %shown(&error.to_string()), "an Event could not be written");
            }
            Err(_) => tracing::debug!("an Event was not answered"),
        }
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
    }
    Written::No
}

/// Whether the same request will be answered in the same way.
fn is_final(status: &kube::core::Status) -> bool {
    match status.code {
        408 | 429 | 500.. => false,
        409 => status.reason == "AlreadyExists",
        _ => true,
    }
}

/// The object's name, as much of it as fits, and the moment.
fn event_name(about: &str, at: Timestamp) -> String {
    let moment = format!(".{:x}", at.as_nanosecond());
    let room = NAME_MAX.saturating_sub(moment.len());
    let end =
        (0..=room.min(about.len())).rev().find(|end| about.is_char_boundary(*end)).unwrap_or(0);
    // A part that ends in one of these is no name.
    let about = about.get(..end).unwrap_or_default().trim_end_matches(['.', '-']);
    format!("{about}{moment}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_events_name_keeps_as_much_of_the_objects_as_fits() {
        let at = Timestamp::from_second(1_800_000_000).unwrap();
        assert_eq!(event_name("data", at), "data.18fae27693b40000");
        let longest = event_name(&"x".repeat(253), at);
        assert!(longest.len() == NAME_MAX && longest.ends_with("x.18fae27693b40000"), "{longest}");
        let cut_at_a_dash = event_name(&format!("{}-{}", "x".repeat(235), "y".repeat(17)), at);
        assert_eq!(cut_at_a_dash, format!("{}.18fae27693b40000", "x".repeat(235)));
    }
}
