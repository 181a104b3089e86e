//! Model: random sequences of all calls of a queue, against a naive oracle.

mod oracle;
mod world;
mod large;

use proptest::prelude::*;

use world::{ITEMS, Step, play};

fn step() -> impl Strategy<Value = Step> {
    let item = || 0..ITEMS;
    let which = || 0_usize..8;
    prop_oneof![
        20 => item().prop_map(Step::Add),
        3 => prop::collection::vec(item(), 0..5).prop_map(Step::AddAll),
        2 => prop::collection::vec(item(), 0..4).prop_map(Step::AddQuietly),
        5 => item().prop_map(Step::TryAdd),
        12 => Just(Step::TryGet),
        2 => Just(Step::GetBlocking),
        8 => Just(Step::Get),
        2 => Just(Step::GetOwned),
        12 => which().prop_map(Step::PollGetter),
        4 => which().prop_map(Step::DropGetter),
        15 => which().prop_map(Step::Done),
        2 => which().prop_map(Step::PanicAtWork),
        4 => which().prop_map(Step::DoneAndGet),
        2 => which().prop_map(Step::Abandon),
        2 => item().prop_map(Step::AbandonItem),
        1 => which().prop_map(Step::Forget),
        2 => which().prop_map(Step::EndStale),
        3 => item().prop_map(Step::Remove),
        1 => Just(Step::Pause),
        3 => Just(Step::Resume),
        3 => Just(Step::Drain),
        1 => which().prop_map(Step::DropDrainer),
        1 => Just(Step::Crowd),
        1 => Just(Step::Shutdown),
        1 => Just(Step::ShutdownNow),
    ]
}

/// The number of sequences: few in a plain run of the tests, more in the stage `model`.
fn sequences() -> u32 {
    std::env::var("MODEL_SEQUENCES")
        .map_or(500, |count| count.parse().expect("a number of sequences"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sequences(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_the_oracle_does(
        capacity in prop::option::of(1_usize..4),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        play(capacity, steps)?;
    }
}
