//! Kubernetes Events: handed over without waiting, written by one task, and never a reason for work to fail.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt as _};
use serde_json::json;
use tokio::sync::mpsc;

use crate::metrics::Metrics;
use crate::outcome::shown;

/// Events that may wait to be written; more are dropped and counted.
const WAITING_MAX: usize = 1024;
/// Events that are remembered, so that a repetition becomes a count.
const REMEMBERED_MAX: usize = 4096;
/// The longest one write may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

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
}

impl Told {
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Provisioning => ("Provisioning", "Provision", "Normal"),
            Self::ProvisioningSucceeded => ("ProvisioningSucceeded", "Provision", "Normal"),
            Self::ProvisioningFailed => ("ProvisioningFailed", "Provision", "Warning"),
            Self::ProvisioningCleanupFailed => ("ProvisioningCleanupFailed", "CleanUp", "Warning"),
            Self::VolumeFailedDelete => ("VolumeFailedDelete", "Delete", "Warning"),
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
    sender: Option<mpsc::Sender<Occurrence>>,
    metrics: Metrics,
}

impl Events {
    /// The place to leave Events, and the task that writes them until every clone of the place is gone.
    pub fn new(
        client: Client,
        provisioner: &str,
        identity: &str,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let writer = Writer {
            client,
            provisioner: provisioner.to_owned(),
            identity: identity.to_owned(),
            remembered: HashMap::new(),
        };
        (Self { sender: Some(sender), metrics: metrics.clone() }, writer.run(receiver, metrics))
    }

    /// A place where Events are dropped.
    #[must_use]
    pub fn nowhere(metrics: Metrics) -> Self {
        Self { sender: None, metrics }
    }

    pub(crate) fn tell<R: Resource<DynamicType = ()>>(&self, about: &R, told: Told, note: &str) {
        let Some(sender) = &self.sender else { return };
        let occurrence =
            Occurrence { regarding: about.object_ref(&()), told, note: shown(note), at: Timestamp::now() };
        if sender.try_send(occurrence).is_err() {
            self.metrics.event_dropped();
        }
    }
}

struct Writer {
    client: Client,
    provisioner: String,
    identity: String,
    remembered: HashMap<(String, Told, String), (String, i32)>,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::Receiver<Occurrence>, metrics: Metrics) {
        while let Some(occurrence) = receiver.recv().await {
            match tokio::time::timeout(WRITE_TIMEOUT, self.write(occurrence)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    metrics.event_dropped();
                    tracing::debug!(error = %shown(&error.to_string()), "an Event could not be written");
                }
                Err(_) => metrics.event_dropped(),
            }
        }
    }

    async fn write(&mut self, occurrence: Occurrence) -> Result<(), kube::Error> {
        let Occurrence { regarding, told, note, at } = occurrence;
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let key = (regarding.uid.clone().unwrap_or_default(), told, note.clone());
        if let Some((name, count)) = self.remembered.get_mut(&key) {
            *count = count.saturating_add(1);
            let series = EventSeries { count: *count, last_observed_time: MicroTime(at) };
            let patch = Patch::Merge(json!({"series": series}));
            match api.patch(name, &PatchParams::default(), &patch).await {
                // The server forgets Events after an hour: write it anew.
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    self.remembered.remove(&key);
                }
                other => return other.map(drop),
            }
        }
        let (reason, action, kind) = told.words();
        let name = format!("{}.{:x}", regarding.name.as_deref().unwrap_or("unknown"), at.as_nanosecond());
        let event = Event {
            metadata: ObjectMeta { name: Some(name), namespace: Some(namespace), ..ObjectMeta::default() },
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
        let written = api.create(&PostParams::default(), &event).await?;
        if self.remembered.len() >= REMEMBERED_MAX {
            self.remembered.clear();
        }
        self.remembered.insert(key, (written.name_any(), 1));
        Ok(())
    }
}
