//! `EventRecorder`: Kubernetes Events, handed over without waiting, written by one task, a few at a
//! time, and never a reason for work to fail.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::failure::Chain;
use crate::hostile::loggable;

/// Lanes in which Events are written at the same time. All that are about one object go through one
/// lane, in order.
const LANES: usize = 4;
/// Events of a lane that may wait to be written. More are dropped and counted.
const WAITING_MAX: usize = 256;
/// Events, and objects, of a lane that are remembered.
const REMEMBERED_MAX: usize = 1024;
/// The Events of one object at once, and the time after which it gets another: client-go's spam
/// filter.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(300);
/// The longest one attempt to write may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Before the second and last attempt.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest name of an object.
const NAME_MAX: usize = 253;
/// The longest note of an Event, in bytes.
const NOTE_MAX: usize = 1024;

/// How an Event is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// What went well.
    Normal,
    /// What needs attention.
    Warning,
}

#[derive(Debug)]
struct Occurrence {
    regarding: ObjectReference,
    words: Words,
    at: Timestamp,
}

/// What makes occurrences about one object one Event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Words {
    kind: EventType,
    reason: String,
    action: String,
    note: String,
}

/// Takes Events from runs, and never blocks them. Clones share it.
///
/// Equal Events about an object become one with a count. An object gets 25 Events at once, and then
/// one in 5 min. More are dropped, and so is an Event that the server refuses, or that waits behind
/// 256 others.
#[derive(Clone)]
pub struct EventRecorder {
    lanes: Arc<[mpsc::Sender<Occurrence>]>,
    dropped: Arc<dyn Fn() + Send + Sync>,
}

impl EventRecorder {
    /// Makes a recorder, and the task that writes until every clone of the recorder is gone. The
    /// Events name `controller` and `instance` as their reporter. `dropped` is called for each
    /// Event that is dropped.
    pub fn new(
        client: Client,
        controller: &str,
        instance: &str,
        dropped: impl Fn() + Send + Sync + 'static,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (lanes, receivers): (Vec<_>, Vec<_>) =
            (0..LANES).map(|_| mpsc::channel(WAITING_MAX)).unzip();
        let dropped: Arc<dyn Fn() + Send + Sync> = Arc::new(dropped);
        let writers = receivers.into_iter().map(|receiver| {
            let lane = Lane {
                client: client.clone(),
                controller: controller.to_owned(),
                instance: instance.chars().take(128).collect(),
                written: HashMap::new(),
                budgets: HashMap::new(),
            };
            lane.run(receiver, Arc::clone(&dropped))
        });
        let all = futures::future::join_all(writers.collect::<Vec<_>>()).map(drop);
        (Self { lanes: lanes.into(), dropped }, all)
    }

    /// Records an Event about an object. `reason` and `action` are words in CamelCase. The note is
    /// cut to 1,024 bytes.
    pub fn record<R: Resource<DynamicType = ()>>(
        &self,
        about: &R,
        kind: EventType,
        reason: &str,
        action: &str,
        note: &str,
    ) {
        let regarding = about.object_ref(&());
        let mut hasher = DefaultHasher::new();
        regarding.uid.hash(&mut hasher);
        let lane = usize::try_from(hasher.finish() % LANES as u64).unwrap_or_default();
        let Some(sender) = self.lanes.get(lane) else { return };
        let note = note.get(..floor_boundary(note, NOTE_MAX)).unwrap_or_default().to_owned();
        let words = Words { kind, reason: reason.to_owned(), action: action.to_owned(), note };
        if sender.try_send(Occurrence { regarding, words, at: Timestamp::now() }).is_err() {
            (self.dropped)();
        }
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorder").finish_non_exhaustive()
    }
}

struct Lane {
    client: Client,
    controller: String,
    instance: String,
    /// The name of an Event that was written, and how often it occurred, by the object's uid.
    written: HashMap<(String, Words), (String, i32)>,
    /// By the object's uid.
    budgets: HashMap<String, Budget>,
}

/// The Events that an object has left.
struct Budget {
    left: u32,
    /// When the last one was added.
    since: Instant,
}

impl Budget {
    const fn new(now: Instant) -> Self {
        Self { left: BURST, since: now }
    }

    /// Takes one Event. Returns false if none is left.
    fn spend(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.since).as_secs() / REFILL.as_secs();
        let passed = u32::try_from(passed).unwrap_or(u32::MAX);
        self.since += REFILL.saturating_mul(passed);
        self.left = self.left.saturating_add(passed).min(BURST);
        let has_one = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_one
    }
}

impl Lane {
    async fn run(
        mut self,
        mut receiver: mpsc::Receiver<Occurrence>,
        dropped: Arc<dyn Fn() + Send + Sync>,
    ) {
        while let Some(occurrence) = receiver.recv().await {
            let uid = occurrence.regarding.uid.clone().unwrap_or_default();
            if self.budgets.len() >= REMEMBERED_MAX {
                self.budgets.clear();
            }
            let now = Instant::now();
            let budget = self.budgets.entry(uid.clone()).or_insert_with(|| Budget::new(now));
            if !budget.spend(now) || !self.write(uid, occurrence).await {
                dropped();
            }
        }
    }

    /// Returns whether it was written.
    async fn write(&mut self, uid: String, occurrence: Occurrence) -> bool {
        let Occurrence { regarding, words, at } = occurrence;
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let key = (uid, words);
        if let Some((name, count)) = self.written.get_mut(&key) {
            *count = count.saturating_add(1);
            let series = EventSeries { count: *count, last_observed_time: MicroTime(at) };
            let (params, patch) = (PatchParams::default(), Patch::Merge(json!({"series": series})));
            match twice(|| api.patch(name, &params, &patch)).await {
                Written::Yes => return true,
                // The server forgets Events after an hour: write it anew.
                Written::Refused(404) => drop(self.written.remove(&key)),
                Written::Refused(_) | Written::No => return false,
            }
        }
        let (name, words) =
            (event_name(regarding.name.as_deref().unwrap_or("unknown"), at), &key.1);
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(at)),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            action: Some(words.action.clone()),
            reason: Some(words.reason.clone()),
            type_: Some(format!("{:?}", words.kind)),
            note: Some(words.note.clone()),
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
        if self.written.len() >= REMEMBERED_MAX {
            self.written.clear();
        }
        self.written.insert(key, (name, 1));
        true
    }
}

/// What became of a write.
enum Written {
    Yes,
    /// The server refuses it with this status.
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
                tracing::debug!(error = loggable(&status.message), "an Event was refused");
                return Written::Refused(status.code);
            }
            Ok(Err(error)) => {
                let error = loggable(&Chain(&error).to_string());
                tracing::debug!(error, "an Event could not be written");
            }
            Err(_) => tracing::debug!("an Event was not answered"),
        }
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
    }
    Written::No
}

/// Whether the same request gets the same answer again.
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
    let end = floor_boundary(about, NAME_MAX.saturating_sub(moment.len()));
    // A part that ends in one of these is no name.
    let about = about.get(..end).unwrap_or_default().trim_end_matches(['.', '-']);
    format!("{about}{moment}")
}

/// The end of the longest part of a text that has at most `longest` bytes.
fn floor_boundary(text: &str, longest: usize) -> usize {
    (0..=longest.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_object_has_a_burst_of_events_and_then_one_in_five_minutes() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        let mut spent = |after| budget.spend(start + Duration::from_secs(after));
        assert_eq!((0..30).filter(|_| spent(0)).count(), 25);
        assert_eq!((spent(299), spent(300), spent(301), spent(599)), (false, true, false, false));
        assert_eq!((0..30).filter(|_| spent(1_000_000)).count(), 25);
    }

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
