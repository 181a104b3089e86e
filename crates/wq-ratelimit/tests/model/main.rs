//! Limiters against closed formulas, their stores against their promises, and `RateLimitingQueue`
//! against a naive queue.

mod buckets;
mod formulas;
mod naive;
mod orders;
mod queue;
mod store;

use proptest::test_runner::Config;

/// The number of sequences of each: few in a plain run of the tests, more in the stage `model`.
fn config() -> Config {
    let sequences = std::env::var("MODEL_SEQUENCES");
    let cases = sequences.map_or(500, |count| count.parse().expect("a number of sequences"));
    Config { cases, failure_persistence: None, ..Config::default() }
}
