//! Limiters against closed formulas, and `RateLimitingQueue` against a naive one.

mod buckets;
mod queue;
