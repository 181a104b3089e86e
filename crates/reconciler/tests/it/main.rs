//! The public API against an API server in the process, in paused time.

mod applies;
mod barrier;
mod bench;
mod caches;
#[cfg(feature = "election")]
mod coordinated;
#[cfg(feature = "admin")]
mod debug;
#[cfg(feature = "election")]
mod destructors;
mod edges;
mod fairness;
mod histories;
mod hostile;
mod object_histories;
mod objects;
mod own_writes;
#[cfg(feature = "election")]
mod pauses;
#[cfg(feature = "admin")]
mod progress;
mod replicas;
#[cfg(feature = "admin")]
mod requests;
mod resync;
mod retries;
mod runs;
mod scopes;
mod seen;
#[cfg(feature = "admin")]
mod serving;
#[cfg(unix)]
mod signals;
mod sources;
mod stopping;
mod streaming;
#[cfg(feature = "election")]
mod terms;
#[cfg(all(feature = "admin", feature = "election"))]
#[path = "../../examples/website/test.rs"]
mod website;
