//! Each layer as a scrape sees it.

mod core;
mod delay;
mod priority;
mod ratelimit;
mod upstream;
