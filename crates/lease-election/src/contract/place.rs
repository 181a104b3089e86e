//! Place: where one rule of the suite is checked, the records that it writes there, and the answers
//! that it must get.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::error::StoreError;
use crate::record::Record;
use crate::store::LeaseStore;
use crate::version::{Version, compare_resource_versions};

/// An empty place for one Lease, which a factory makes for each rule of the suite.
pub struct Place {
    pub(super) one: Arc<dyn LeaseStore>,
    pub(super) other: Arc<dyn LeaseStore>,
    pub(super) delete: Delete,
}

type Delete = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

impl Place {
    /// Two stores of one Lease, as two processes have them, and an operator's deletion of that
    /// Lease.
    pub fn new(
        one: impl LeaseStore + 'static,
        other: impl LeaseStore + 'static,
        delete: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        Self { one: Arc::new(one), other: Arc::new(other), delete: Box::new(delete) }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

/// How long a watch may take to report a change.
pub(super) const TIMELY: Duration = Duration::from_secs(10);

pub(super) fn record(holder: &str, write: u32) -> Record {
    Record {
        holder: holder.to_owned(),
        lease_duration_seconds: 15,
        acquire_time: "2026-01-02T03:04:05.000006Z".parse().ok(),
        renew_time: "2026-01-02T03:04:06.123456Z".parse().ok(),
        leader_transitions: 3,
        write_id: Some(format!("{holder}.{write}.0123456789abcdef")),
        ..Record::default()
    }
}

#[track_caller]
pub(super) fn must<T>(rule: &str, answer: Result<T, StoreError>) -> T {
    answer.unwrap_or_else(|error| panic!("{rule}: {error}"))
}

pub(super) fn is_later(next: &Version, before: &Version) -> bool {
    let order = compare_resource_versions(&next.resource_version, &before.resource_version);
    order.is_none_or(|order| order.is_gt())
}
