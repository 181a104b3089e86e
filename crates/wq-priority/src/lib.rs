#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod backlog;
mod builder;
mod order;
mod depths;
mod levels;
mod lines;
mod pool;
mod chain;
mod steps;
mod planted;

pub use backlog::Priority;
pub use builder::{Builder, InvalidPriority};
pub use depths::Depths;
pub use order::{GroupId, OnMerge, Order};
#[cfg(wq_plant)]
pub use planted::PLANTED_BUGS;

// What a user of the backlog needs of the queue it is for.
pub use wq_core::{Backlog, SlotId, Survey};
