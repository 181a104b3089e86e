//! Applied: the writes that the server carries out, in order, from a watch without faults. The
//! record tells the writer, because no two records are equal.

use std::sync::{Arc, Mutex};

use embedded_apiserver::EmbeddedApiServer;
use futures::{StreamExt as _, pin_mut};
use http::Request;
use jiff::Timestamp;
use kube::Client;
use kube::core::WatchEvent;
use lease_election::{Record, SUCCESSOR_ANNOTATION, WRITE_ANNOTATION};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::judge::World;

const LEASES: &str =
    "/apis/coordination.k8s.io/v1/namespaces/default/leases?fieldSelector=metadata.name%3Dlease";

/// The record in a Lease. The sent and the stored object have the same.
pub(crate) fn record_of(lease: &Value) -> Record {
    let (spec, marks) = (&lease["spec"], &lease["metadata"]["annotations"]);
    let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    let number =
        |field: &Value| field.as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(0);
    let time = |field: &Value| field.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    Record {
        holder: text(&spec["holderIdentity"]),
        lease_duration_seconds: number(&spec["leaseDurationSeconds"]),
        acquire_time: time(&spec["acquireTime"]),
        renew_time: time(&spec["renewTime"]),
        leader_transitions: number(&spec["leaseTransitions"]),
        strategy: text(&spec["strategy"]),
        preferred_holder: text(&spec["preferredHolder"]),
        write_id: marks[WRITE_ANNOTATION].as_str().map(ToOwned::to_owned),
        successor: text(&marks[SUCCESSOR_ANNOTATION]),
    }
}

/// Reports each write to the judge when it is carried out; time stands still meanwhile. Returns the
/// last reported revision.
pub(crate) fn follow(
    server: &EmbeddedApiServer,
    seed: u64,
    start: Instant,
    world: &Arc<Mutex<World>>,
) -> watch::Receiver<u64> {
    let (told, up_to) = watch::channel(server.revision());
    let follower =
        Follower { client: server.client_as("judge"), seed, start, world: Arc::clone(world), told };
    tokio::spawn(async move {
        if let Err(wrong) = follower.follow().await {
            follower
                .world
                .lock()
                .unwrap()
                .rules(seed, Err(format!("the judge sees nothing: {wrong}")));
        }
    });
    up_to
}

struct Follower {
    client: Client,
    seed: u64,
    start: Instant,
    world: Arc<Mutex<World>>,
    told: watch::Sender<u64>,
}

fn revision_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Follower {
    async fn follow(&self) -> Result<(), kube::Error> {
        loop {
            match self.watch().await {
                Err(kube::Error::Api(status)) if status.code != 410 => {
                    return Err(kube::Error::Api(status));
                }
                Err(kube::Error::Api(_)) | Ok(()) => {}
                Err(error) => return Err(error),
            }
            // A restore ended all watches. No other write is carried out then: the servers were
            // away for longer than any request is in flight.
            let list: Value = self.client.request(get(LEASES)?).await?;
            self.tell(list["items"].get(0), revision_of(&list));
        }
    }

    /// Reports events until the watch ends.
    async fn watch(&self) -> Result<(), kube::Error> {
        let from = *self.told.borrow();
        let url = format!("{LEASES}&watch=1&timeoutSeconds=10000000&resourceVersion={from}");
        let events = self.client.request_events::<Value>(get(&url)?).await?;
        pin_mut!(events);
        while let Some(event) = events.next().await {
            match event? {
                WatchEvent::Added(lease) | WatchEvent::Modified(lease) => {
                    self.tell(Some(&lease), revision_of(&lease));
                }
                WatchEvent::Deleted(lease) => self.tell(None, revision_of(&lease)),
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
            }
        }
        Ok(())
    }

    fn tell(&self, lease: Option<&Value>, revision: u64) {
        let mut world = self.world.lock().unwrap();
        let record = lease.map(record_of);
        let writer =
            record.as_ref().and_then(|record| world.ledger.sender(record)).unwrap_or_default();
        let holder = record.as_ref().map_or("", |record| &record.holder);
        world.trace.note(self.start, format_args!("{writer} wrote {revision} {holder}"));
        world.carried_out(self.seed, &writer, record.as_ref());
        drop(world);
        self.told.send_replace(revision);
    }
}

fn get(url: &str) -> Result<Request<Vec<u8>>, kube::Error> {
    Request::get(url).body(Vec::new()).map_err(kube::Error::HttpError)
}
