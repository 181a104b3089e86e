//! `ManagerError`: why a manager could not be built or run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::SyncTimeout;
#[cfg(feature = "election")]
use crate::failure::Chain;

/// Why a manager could not be built, or ended by itself.
///
/// `Debug` shows the message, too: a `main` that returns the error prints it so.
#[non_exhaustive]
pub enum ManagerError {
    /// Two controllers or tasks have the same name, which labels their metrics.
    DuplicateName {
        /// The name.
        name: Arc<str>,
    },
    /// A name is not a metric label: it is empty, longer than 63 bytes, or has characters other
    /// than letters, digits, `-`, `_` and `.`.
    BadName {
        /// The name, made safe for a log line.
        name: String,
    },
    /// Two caches have the same name, which labels their metrics. All but one cache of a kind need
    /// a name.
    DuplicateCache {
        /// The name.
        name: Arc<str>,
    },
    /// A cache cannot be watched in these namespaces.
    BadNamespaces {
        /// The cache.
        cache: Arc<str>,
        /// Why, and what to do.
        why: Arc<str>,
    },
    /// A controller has no source and no handle.
    NoSource {
        /// The controller.
        controller: Arc<str>,
    },
    /// A source comes from a cache that this manager does not run.
    ForeignCache {
        /// The controller.
        controller: Arc<str>,
        /// The source.
        source: Arc<str>,
    },
    /// A limit of a controller is out of range.
    BadLimit {
        /// The controller.
        controller: Arc<str>,
        /// The limit's method.
        limit: &'static str,
        /// The value.
        value: String,
        /// The values that fit.
        range: String,
    },
    /// The grace is not shorter than the election's drain time-out.
    GraceTooLong {
        /// The manager's grace.
        grace: Duration,
        /// The election's drain time-out.
        drain_timeout: Duration,
    },
    /// There is no cluster to connect to, or no Lease of this name.
    #[cfg(feature = "election")]
    Connect(crate::BoxError),
    /// Flags that cannot be used together, with their values and a remedy.
    #[cfg(feature = "cli")]
    Flags(String),
    /// These caches were not complete in time.
    CacheSync(Vec<SyncTimeout>),
    /// The admin server could not be started.
    #[cfg(feature = "admin")]
    Admin(crate::admin::error::AdminError),
}

impl fmt::Debug for ManagerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ManagerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName { name } => {
                write!(f, "two controllers or tasks are called {name:?}: give each its own name")
            }
            Self::BadName { name } => write!(
                f,
                "{name:?} cannot name a controller or task: use 1 to 63 letters, digits, '-', '_' or '.'"
            ),
            Self::DuplicateCache { name } => write!(
                f,
                "two caches are called {name:?}: share one by its clones, or give the second a name with \
                 CacheConfig::named"
            ),
            Self::BadNamespaces { cache, why } => write!(f, "the cache of {cache}: {why}"),
            Self::NoSource { controller } => write!(
                f,
                "nothing names keys to the controller {controller:?}: add a source with Controller::source, or \
                 take a Controller::handle"
            ),
            Self::ForeignCache { controller, source } => write!(
                f,
                "the source {source:?} of the controller {controller:?} reads a cache of another manager, which \
                 never fills here: make the cache with this manager"
            ),
            Self::BadLimit { controller, limit, value, range } => write!(
                f,
                "Controller::{limit} of {controller:?} is {value}: set it to {range}, or leave it \
                 out"
            ),
            Self::GraceTooLong { grace, drain_timeout } => write!(
                f,
                "the drain grace of {grace:?} must be shorter than the election's drain time-out of \
                 {drain_timeout:?}: lower the first or raise the second"
            ),
            #[cfg(feature = "election")]
            Self::Connect(error) => write!(f, "cannot connect to a cluster: {}", Chain(&**error)),
            #[cfg(feature = "cli")]
            Self::Flags(problem) => f.write_str(problem),
            Self::CacheSync(late) => {
                let late: Vec<String> = late.iter().map(SyncTimeout::to_string).collect();
                f.write_str(&late.join("; "))
            }
            #[cfg(feature = "admin")]
            Self::Admin(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ManagerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            #[cfg(feature = "election")]
            Self::Connect(error) => Some(&**error),
            Self::CacheSync(late) => late.first().map(|late| late as _),
            #[cfg(feature = "admin")]
            Self::Admin(error) => Some(error),
            _ => None,
        }
    }
}
