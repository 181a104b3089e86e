//! Fuzz: programs written as bytes, played on the queue and on the oracle of the model. Random bytes in plain tests, a few
//! fixed ones under miri; they are targets of bolero, whose fuzzers can drive them, too.

mod programs;

#[path = "../model/oracle.rs"]
mod oracle;
#[path = "../model/world.rs"]
mod world;

use proptest::test_runner::TestCaseError;

/// Programs of a plain run of the tests: a second or so for each target.
#[cfg(not(miri))]
const PROGRAMS: usize = 2000;

/// Bytes of the longest.
#[cfg(not(miri))]
const LENGTH: usize = 240;

/// Fails with what the oracle did not expect.
fn judge(verdict: Result<(), TestCaseError>) {
    if let Err(error) = verdict {
        panic!("{error}");
    }
}

macro_rules! target {
    ($name:ident, $play:path) => {
        #[cfg(not(miri))]
        #[test]
        fn $name() {
            bolero::check!()
                .with_iterations(PROGRAMS)
                .with_max_len(LENGTH)
                .for_each(|bytes: &[u8]| judge($play(bytes)));
        }

        #[cfg(miri)]
        #[test]
        fn $name() {
            // Numbers that look random, the same in each run.
            let mut dice = 0x5eed_u64;
            for length in [8, 32] {
                let bytes: Vec<u8> = std::iter::repeat_with(|| {
                    dice =
                        dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    dice.to_be_bytes()[0]
                })
                .take(length)
                .collect();
                judge($play(&bytes));
            }
        }
    };
}

target!(any_program, programs::any);
target!(batches, programs::batches);
target!(a_bounded_queue, programs::bounded);
target!(a_backlog, programs::backlog);
