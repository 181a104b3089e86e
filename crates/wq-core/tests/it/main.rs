//! Tests of the public API.

mod contract;
mod upstream;
mod borrowed;
mod cancel;
mod current;
mod hostile;
mod panics;
mod reentrant;
mod faulty;
mod user_code;
mod bounds;
mod observe;
#[cfg(feature = "tracing")]
mod trace;
mod threads;
#[cfg(not(miri))] // smol waits in the system.
mod runtimes;
mod auto_traits;
mod backlog;
