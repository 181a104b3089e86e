#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod backlog;
mod order;
mod levels;
mod groups;

pub use backlog::Priority;
pub use order::{GroupId, OnMerge, Order};

// What a user of the backlog needs of the queue it is for.
pub use wq_core::{Backlog, SlotId};
