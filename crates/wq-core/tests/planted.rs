//! Planted: prints the bugs that can be planted in the queue, one a line, for the stage `planted`.
//!
//! With `--it` it names the integration tests that look for them, which poll by hand. Threads would
//! need long to show a lost wake-up.
#![cfg_attr(wq_plant, expect(clippy::print_stdout, reason = "it is a program that lists"))]

#[cfg(not(wq_plant))]
fn main() {}

#[cfg(wq_plant)]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("--it") => println!("cancel::"),
        _ => wq_core::PLANTED_BUGS
            .iter()
            .for_each(|(name, promise, bug)| println!("{name} {promise}: {bug}")),
    }
}
