//! Planted: prints the bugs that can be planted in the queue, one a line, for the stage `planted`.
#![cfg_attr(
    wq_plant,
    expect(clippy::print_stdout, reason = "it is a program that says which bugs there are")
)]

fn main() {
    // With `--it` it names none: all integration tests look for them.
    #[cfg(wq_plant)]
    if std::env::args().nth(1).is_none() {
        wq_delay::PLANTED_BUGS
            .iter()
            .for_each(|(name, promise, bug)| println!("{name} {promise}: {bug}"));
    }
}
