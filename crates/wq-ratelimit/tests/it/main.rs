//! The public API of wq-ratelimit, one module a theme.

mod auto_traits;
mod backoff;
mod contract;
mod defects;
mod endless;
mod extremes;
mod finish;
mod forwards;
mod limiters;
mod panics;
mod amid_a_failure;
mod recorded;
mod remembering;
mod replaced;
mod upstream;
