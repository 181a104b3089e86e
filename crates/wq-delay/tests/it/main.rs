//! The public API of wq-delay, one module a theme.

mod auto_traits;
mod building;
mod contract;
mod drain;
mod policies;
#[cfg(feature = "tokio")]
mod timekeeping;
mod upstream;
