//! Picks at random: one of a few, and JSON that nobody expects.

use fastrand::Rng;
use serde_json::{Value, json};

/// One of a few.
pub(super) fn one<T: Clone>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())].clone()
}

/// A JSON value of an unexpected type. No empty list: the real server's answer to one is listed in
/// docs/embedded-apiserver.md under "Differences".
pub(super) fn odd(rng: &mut Rng) -> Value {
    one(
        rng,
        &[
            json!(null),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(true),
            json!(""),
            json!("x"),
            json!({}),
            json!(["x"]),
            json!({ "a": 1 }),
            json!([null]),
            json!(4_294_967_296_i64),
            json!("é\n"),
        ],
    )
}
