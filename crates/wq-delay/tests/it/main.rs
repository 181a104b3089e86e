//! The public API of wq-delay, one module a theme.

mod auto_traits;
mod building;
mod contract;
mod debounce;
mod drain;
mod idle;
mod many;
mod one_clock;
mod one_line;
mod panics;
mod policies;
mod retries;
mod timekeeping;
#[cfg(feature = "tokio")]
mod tokio_time;
mod truth_tables;
mod upstream;
