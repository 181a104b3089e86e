//! Every request that a front has seen: exact counters that never drop, and a bounded ring of the
//! newest entries.

mod entry;
mod filter;
mod log;
mod recording;
mod ring;
mod select;
#[cfg(test)]
mod tests;
mod trace;

pub use entry::{Counts, Entry, Outcome, Series};
pub use log::RequestLog;
pub use ring::Forgotten;
pub use select::Selection;

pub(crate) use log::DEFAULT_CAPACITY;
pub(crate) use recording::{Recording, Tracer};
pub(crate) use trace::of_request;
