//! The public API of wq-ratelimit, one module a theme.

mod auto_traits;
mod backoff;
mod contract;
mod defects;
mod endless;
mod extremes;
mod finish;
mod forwards;
mod handed_out;
mod limiters;
mod panics;
mod parking;
mod put_off;
mod recorded;
mod remembering;
mod taken_back;
mod unwinding;
mod upstream;
