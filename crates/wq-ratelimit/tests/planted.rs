//! Planted: prints the bugs that can be planted in the limiters and the queue, one a line, for the
//! stage `planted`.
#![cfg_attr(wq_plant, expect(clippy::print_stdout, reason = "it is a program that prints a list"))]

#[cfg(not(wq_plant))]
fn main() {}

#[cfg(wq_plant)]
fn main() {
    // With `--it` it names none: all integration tests look for them.
    if std::env::args().nth(1).as_deref() != Some("--it") {
        wq_ratelimit::PLANTED_BUGS
            .iter()
            .for_each(|(name, promise, bug)| println!("{name} {promise}: {bug}"));
    }
}
