//! planted: lists the bugs that can be planted in the election, a name and what is wrong to a line, for `cargo xtask planted`.
//!
//! With `--it` it prints which integration tests to ask: those that need no server.
#![cfg_attr(wq_plant, expect(clippy::print_stdout, reason = "it is a program that lists"))]

#[cfg(not(wq_plant))]
fn main() {}

#[cfg(wq_plant)]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("--it") => {
            println!(
                "violations:: work:: handover:: succession:: maintenance:: evidence:: cold_start:: migration:: kept_marks::"
            )
        }
        _ => lease_election::PLANTED_BUGS.iter().for_each(|(name, wrong)| println!("{name} {wrong}")),
    }
}
