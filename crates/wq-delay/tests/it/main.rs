//! The public API of wq-delay, one module a theme.

mod auto_traits;
mod building;
mod contract;
mod drain;
mod policies;
mod timekeeping;
#[cfg(feature = "tokio")]
mod tokio_time;
mod debounce;
mod truth_tables;
mod upstream;
