//! Planted: prints the bugs that can be planted in the election, one a line, for the stage
//! `planted-election`.
//!
//! With `--it` it names the integration tests that look for them: tests that need no server.
#![cfg_attr(wq_plant, expect(clippy::print_stdout, reason = "it is a program that lists"))]

#[cfg(not(wq_plant))]
fn main() {}

#[cfg(wq_plant)]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("--it") => {
            println!("violations:: work:: handover:: succession:: migration::")
        }
        _ => lease_election::PLANTED_BUGS
            .iter()
            .for_each(|(name, promise, bug)| println!("{name} {promise}: {bug}")),
    }
}
