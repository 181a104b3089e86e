#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod metrics;
mod watched;
mod counting;
mod scrape;
mod sources;
mod reading;

pub use metrics::QueueMetrics;
pub use watched::{Delayed, Watched};
