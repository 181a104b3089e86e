//! The public API against an API server in the process, in paused time.

mod applies;
mod bench;
mod caches;
#[cfg(feature = "election")]
mod coordinated;
#[cfg(feature = "election")]
mod destructors;
mod fairness;
mod histories;
mod hostile;
#[cfg(feature = "election")]
mod pauses;
mod objects;
mod own_writes;
mod resync;
mod retries;
mod runs;
mod scopes;
mod seen;
mod sources;
mod stopping;
mod edges;
mod streaming;
#[cfg(feature = "election")]
mod terms;
#[cfg(unix)]
mod signals;
#[cfg(feature = "admin")]
mod debug;
mod replicas;
#[cfg(feature = "admin")]
mod requests;
#[cfg(feature = "admin")]
mod progress;
#[cfg(feature = "admin")]
mod serving;
#[cfg(all(feature = "admin", feature = "election"))]
#[path = "../../examples/website/test.rs"]
mod website;
