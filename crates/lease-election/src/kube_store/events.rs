//! Events: announcements as core/v1 Events, as client-go's recorder writes them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::announcement::Announcement;

/// How many Events may be in flight: a server that answers none must not pile them up.
const UNDER_WAY: usize = 8;

/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// The object of an Event.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Clone)]
pub(super) struct Recorder {
    api: Api<Event>,
    component: String,
    timeout: Duration,
    places: Arc<Semaphore>,
}

impl Recorder {
    pub(super) fn new(client: Client, namespace: &str, component: &str, timeout: Duration) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            component: component.to_owned(),
            timeout,
            places: Arc::new(Semaphore::new(UNDER_WAY)),
        }
    }

    /// Sends an Event in the background. Drops it outside a runtime, and with too many in flight.
    pub(super) fn record(&self, about: &About, announcement: &Announcement) {
        let (Ok(runtime), Ok(place)) =
            (Handle::try_current(), Arc::clone(&self.places).try_acquire_owned())
        else {
            tracing::debug!(%announcement, "an event is dropped");
            return;
        };
        let event = event(about, &self.component, announcement);
        let (api, timeout) = (self.api.clone(), self.timeout);
        runtime.spawn(async move {
            let _place = place;
            match tokio::time::timeout(timeout, api.create(&PostParams::default(), &event)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::debug!(%error, "an event was not recorded"),
                Err(_) => tracing::debug!("an event was not recorded within the request time-out"),
            }
        });
    }
}

fn event(about: &About, component: &str, announcement: &Announcement) -> Event {
    let at = Some(Time(announcement.at));
    Event {
        metadata: ObjectMeta {
            name: Some(name(&about.name, announcement)),
            namespace: Some(about.namespace.clone()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(about.api_version.clone()),
            kind: Some(about.kind.clone()),
            namespace: Some(about.namespace.clone()),
            name: Some(about.name.clone()),
            uid: Some(announcement.fence.uid.clone()),
            resource_version: Some(announcement.fence.resource_version.clone()),
            field_path: None,
        },
        reason: Some("LeaderElection".to_owned()),
        message: Some(announcement.to_string()),
        type_: Some("Normal".to_owned()),
        source: Some(EventSource { component: Some(component.to_owned()), host: None }),
        reporting_component: Some(component.to_owned()),
        first_timestamp: at.clone(),
        last_timestamp: at,
        count: Some(1),
        ..Event::default()
    }
}

/// `<lease>.<16 hex digits>`, as client-go's, but with a hash of the whole announcement: two
/// processes may announce at one instant.
pub(super) fn name(lease: &str, announcement: &Announcement) -> String {
    let mut hasher = DefaultHasher::new();
    announcement.hash(&mut hasher);
    let room = LONGEST_NAME - 17;
    let lease = lease.get(..room).unwrap_or(lease);
    format!("{}.{:016x}", lease.trim_end_matches(['.', '-']), hasher.finish())
}
