//! The state of a cache, and its errors.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The state of a cache and its watch.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CacheStatus {
    /// Whether a first list was complete. It stays true: if the watch fails later, the cache is
    /// stale, not empty.
    #[doc(alias = "HasSynced")]
    pub synced: bool,
    /// Why the watch does not run now; `None` while it runs.
    pub degraded: Option<Degraded>,
    /// The number of objects held.
    pub objects: usize,
    /// Complete lists that the cache has taken over.
    pub lists: u64,
    /// Failed requests and streams of the watch.
    pub failures: u64,
    /// Objects that did not decode, had no name, or made a transform or an index panic. Each
    /// occurrence counts. The cache keeps the last version that it could store.
    pub undecodable: u64,
    /// Changes whose predicate or mapping to keys panicked.
    pub panics: u64,
    /// The state in each of the [`CacheConfig::namespaces`](crate::CacheConfig::namespaces), and
    /// otherwise empty. The fields above are their sum: complete if all are, degraded if one is.
    pub namespaces: BTreeMap<Arc<str>, Self>,
}

impl CacheStatus {
    /// The state of a cache of several namespaces.
    pub(crate) fn sum(namespaces: BTreeMap<Arc<str>, Self>) -> Self {
        let mut sum = Self { synced: true, ..Self::default() };
        for (namespace, status) in &namespaces {
            sum.synced &= status.synced;
            sum.objects = sum.objects.saturating_add(status.objects);
            sum.lists = sum.lists.saturating_add(status.lists);
            sum.failures = sum.failures.saturating_add(status.failures);
            sum.undecodable = sum.undecodable.saturating_add(status.undecodable);
            sum.panics = sum.panics.saturating_add(status.panics);
            let Some(degraded) = &status.degraded else { continue };
            let error = format!("namespace {namespace}: {}", degraded.error);
            sum.degraded = Some(match sum.degraded {
                None => Degraded { error: error.into(), ..degraded.clone() },
                Some(other) => Degraded {
                    error: format!("{}; {error}", other.error).into(),
                    since: other.since.min(degraded.since),
                    failures: other.failures.max(degraded.failures),
                },
            });
        }
        Self { namespaces, ..sum }
    }
}

/// Why a watch does not run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Degraded {
    /// The last error.
    pub error: Arc<str>,
    /// When the failures began, by tokio's clock.
    pub since: Instant,
    /// Failures in a row.
    pub failures: u64,
}

/// A cache was not complete in time.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SyncTimeout {
    /// The cache's [name](crate::Cache::name).
    pub watch: Arc<str>,
    /// How long the wait lasted.
    pub after: Duration,
    /// The watch's last error; `None` if no request has failed.
    pub error: Option<Arc<str>>,
}

impl fmt::Display for SyncTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { watch, after, error } = self;
        write!(f, "the watch of {watch} was not complete after {after:?}: ")?;
        match error {
            Some(error) => write!(f, "{error}"),
            None => f.write_str("no answer came; check that the API server can be reached"),
        }
    }
}

impl std::error::Error for SyncTimeout {}
