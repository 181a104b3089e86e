//! The server's request log, as fetched from it: who asked for what, when, with what result.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use kube::Client;
use serde::Deserialize;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// When it arrived.
    pub(crate) at: SystemTime,
    pub(crate) user: String,
    /// The user is one of the replicas.
    pub(crate) is_replica: bool,
    pub(crate) verb: String,
    /// Plural, without the group.
    pub(crate) resource: String,
    /// What was answered, if anything was.
    pub(crate) status: Option<u16>,
}

/// Requests by user and verb.
pub(crate) type Counts = BTreeMap<String, BTreeMap<String, u64>>;

impl Request {
    fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// Whether it took, kept or gave up the lease.
    pub(crate) fn is_lease_write(&self) -> bool {
        self.is_write() && self.resource == "leases"
    }

    /// Whether it served a claim: it changed one, or a volume.
    pub(crate) fn is_work(&self) -> bool {
        self.is_write()
            && matches!(self.resource.as_str(), "persistentvolumeclaims" | "persistentvolumes")
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// The whole log, and its counters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    /// Writes, in order of arrival.
    pub(crate) writes: Vec<Request>,
    /// All requests of the replicas.
    pub(crate) counts: Counts,
}

/// Fetches the log from the server; `replicas` are the users that count as such.
pub(crate) async fn fetch(client: &Client, replicas: &[String]) -> anyhow::Result<Log> {
    let writes: Page = client
        .request(http::Request::get("/embedded/requests?kind=writes&from=0").body(Vec::new())?)
        .await?;
    let all: Page =
        client.request(http::Request::get("/embedded/requests").body(Vec::new())?).await?;
    let mut log = Log::default();
    for entry in writes.entries {
        log.writes.push(Request {
            at: SystemTime::UNIX_EPOCH
                .checked_add(Duration::from_micros(entry.wall_unix_us))
                .unwrap_or(SystemTime::UNIX_EPOCH),
            is_replica: replicas.contains(&entry.user),
            user: entry.user,
            verb: entry.verb,
            resource: entry.resource,
            status: entry.status,
        });
    }
    for row in all.counts.into_iter().filter(|row| replicas.contains(&row.user)) {
        let count = log.counts.entry(row.user).or_default().entry(row.verb).or_default();
        *count = count.saturating_add(row.requests);
    }
    Ok(log)
}

/// What `GET /embedded/requests` answers, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    entries: Vec<Entry>,
    counts: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    wall_unix_us: u64,
    user: String,
    verb: String,
    resource: String,
    status: Option<u16>,
}

#[derive(Debug, Deserialize)]
struct Row {
    user: String,
    verb: String,
    requests: u64,
}
