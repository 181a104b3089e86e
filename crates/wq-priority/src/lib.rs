#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod backlog;
mod builder;
mod order;
mod depths;
mod levels;
mod groups;
mod pool;
mod list;
mod planted;

pub use backlog::Priority;
pub use builder::{Builder, InvalidPriority};
pub use depths::Depths;
pub use order::{GroupId, OnMerge, Order};
#[cfg(wq_plant)]
pub use planted::PLANTED_BUGS;

// Backlogs are used and tested through these.
pub use wq_core::{Backlog, SlotId, Survey};
