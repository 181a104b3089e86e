//! Kubernetes Events in upstream's words, through the recorder of `reconciler`.

use std::future::Future;

use kube::{Client, Resource};
use reconciler::{EventRecorder, EventType};

use crate::metrics::Metrics;
use crate::outcome::shown;

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
    fn words(self) -> (&'static str, &'static str, EventType) {
        match self {
            Self::Provisioning => ("Provisioning", "Provision", EventType::Normal),
            Self::ProvisioningSucceeded => {
                ("ProvisioningSucceeded", "Provision", EventType::Normal)
            }
            Self::ProvisioningFailed => ("ProvisioningFailed", "Provision", EventType::Warning),
            Self::ProvisioningCleanupFailed => {
                ("ProvisioningCleanupFailed", "CleanUp", EventType::Warning)
            }
            Self::VolumeFailedDelete => ("VolumeFailedDelete", "Delete", EventType::Warning),
            Self::RemovalsPaused => ("RemovalsPaused", "Delete", EventType::Warning),
        }
    }
}

/// Where work leaves its Events. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Events(EventRecorder);

impl Events {
    /// The place to leave Events, and the task that writes them until every clone of the place is
    /// gone.
    pub fn new(
        client: Client,
        provisioner: &str,
        identity: &str,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let dropped = move || metrics.event_dropped();
        let (recorder, task) = EventRecorder::new(client, provisioner, identity, dropped);
        (Self(recorder), task)
    }

    pub(crate) fn tell<R: Resource<DynamicType = ()>>(&self, about: &R, told: Told, note: &str) {
        let (reason, action, kind) = told.words();
        self.0.record(about, kind, reason, action, &shown(note));
    }
}
