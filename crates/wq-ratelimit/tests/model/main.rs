//! Limiters against closed formulas, their stores against what they promise, and `RateLimitingQueue` against a naive one.

mod buckets;
mod formulas;
mod naive;
mod orders;
mod queue;
mod store;

use proptest::test_runner::Config;

/// How many sequences of each are played: a few in a plain run of the tests, more in the stage `model`.
fn config() -> Config {
    let sequences = std::env::var("MODEL_SEQUENCES");
    let cases = sequences.map_or(500, |count| count.parse().expect("a number of sequences"));
    Config { cases, failure_persistence: None, ..Config::default() }
}
