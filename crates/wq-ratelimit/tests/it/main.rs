//! The public API of wq-ratelimit, one module a theme.

mod auto_traits;
mod contract;
mod defects;
mod finish;
mod limiters;
mod upstream;
