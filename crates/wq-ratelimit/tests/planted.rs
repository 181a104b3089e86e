//! Planted: the list of bugs that can be put into the limiters and the queue, for `cargo xtask planted`. Prints nothing unless
//! they are compiled in.
#![cfg_attr(wq_plant, expect(clippy::print_stdout, reason = "it is a program that prints a list"))]

#[cfg(not(wq_plant))]
fn main() {}

#[cfg(wq_plant)]
fn main() {
    // All tests of the public API are played: none of them needs the real clock.
    if std::env::args().nth(1).as_deref() != Some("--it") {
        wq_ratelimit::PLANTED_BUGS.iter().for_each(|(name, wrong)| println!("{name} {wrong}"));
    }
}
