//! Plays random histories of the pure parts beside their models. `MODEL_SEQUENCES` says how many.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fastrand::Rng;

/// How many histories a model plays.
pub(crate) fn sequences() -> u32 {
    let asked = std::env::var("MODEL_SEQUENCES");
    asked.map_or(20_000, |asked| asked.parse().expect("a number of sequences"))
}

/// Plays each seed, and names the seed that fails.
#[expect(clippy::print_stderr, reason = "beside the panic's own message")]
pub(crate) fn play(history: impl Fn(&mut Rng)) {
    for seed in 0..sequences() {
        let mut rng = Rng::with_seed(seed.into());
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| history(&mut rng))) {
            eprintln!("the history of seed {seed} failed");
            resume_unwind(panic);
        }
    }
}
