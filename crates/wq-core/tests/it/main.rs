//! Tests of the public API.

mod contract;
mod upstream;
mod borrowed;
mod cancel;
mod hostile;
mod bounds;
mod observe;
mod threads;
mod auto_traits;
mod backlog;
