//! What a scrape sees of each layer.

mod core;
mod delay;
mod priority;
mod ratelimit;
mod upstream;
