//! The public API of wq-priority, one module a theme.

mod backlog;
mod contract;
mod depths;
mod hostile;
#[cfg(feature = "prometheus")]
mod prometheus;
mod steps;
mod upstream;
#[cfg(feature = "prometheus")]
mod upstream_metrics;
