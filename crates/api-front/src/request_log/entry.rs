//! One request in the log, and the counters of requests that are counted together.

use crate::request_info::{RequestInfo, Verb};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The resource of requests that are not counted apart.
pub(super) const OTHERS: &str = "(other)";

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Not answered yet.
    Pending,
    /// Answered with this HTTP status. A watch counts as answered when its stream starts.
    Answered(u16),
    /// A fault dropped the connection.
    Disconnected,
    /// The client went away first, or the server stopped.
    Abandoned,
}

/// One request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Position in the order of arrival; the first request is 0.
    pub seq: u64,
    /// When the request arrived, on tokio's clock (paused or not).
    pub at: Instant,
    /// When the request arrived, on the front's [`Clock`](crate::Clock).
    pub wall: SystemTime,
    /// The user.
    pub user: Arc<str>,
    /// What the request asks for.
    pub request: RequestInfo,
    /// How it ended.
    pub outcome: Outcome,
    /// From arrival to the head of the answer; `None` while pending.
    pub took: Option<Duration>,
    /// The word of the fault that was injected, if any (`conflict`, `drop_after` ...).
    pub fault: Option<&'static str>,
}

impl Entry {
    /// The HTTP status, if the request was answered.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self.outcome {
            Outcome::Answered(status) => Some(status),
            _ => None,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = &self.request;
        write!(f, "#{} {} {} {}", self.seq, self.user, request.verb, request.qualified_resource())?;
        if let Some(namespace) = &request.namespace {
            write!(f, " {namespace}/{}", request.name.as_deref().unwrap_or(""))?;
        } else if let Some(name) = &request.name {
            write!(f, " {name}")?;
        }
        match self.outcome {
            Outcome::Pending => f.write_str(" pending")?,
            Outcome::Answered(status) => write!(f, " {status}")?,
            Outcome::Disconnected => f.write_str(" disconnected")?,
            Outcome::Abandoned => f.write_str(" abandoned")?,
        }
        self.fault.map_or(Ok(()), |fault| write!(f, " fault={fault}"))
    }
}

/// Requests of one user, verb and resource; they have counters of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Series {
    /// The user.
    pub user: Arc<str>,
    /// The verb.
    pub verb: Verb,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural resource name; empty for paths that are no resource. `(other)`: of any, when 8,192
    /// series were counted apart already.
    pub resource: String,
    /// Subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
}

impl Series {
    pub(super) fn is_of_others(&self) -> bool {
        self.resource == OTHERS
    }
}

/// The counters of one [`Series`]; they never drop and never go back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Requests that arrived.
    pub requests: u64,
    /// Requests that a fault was injected into.
    pub faulted: u64,
    /// Requests that ended without an answer: dropped by a fault or abandoned by the client.
    pub unanswered: u64,
    /// Answers by HTTP status.
    pub answered: BTreeMap<u16, u64>,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.faulted += other.faulted;
        self.unanswered += other.unanswered;
        for (&status, &count) in &other.answered {
            *self.answered.entry(status).or_default() += count;
        }
    }
}
