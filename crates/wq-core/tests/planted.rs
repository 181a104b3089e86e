//! planted: lists the bugs that can be planted in the queue, a name and what is wrong to a line, for `cargo xtask planted`.
//!
//! With `--it` it prints which integration tests to ask: those that poll by hand. A lost wake-up of threads takes them long
//! to tell.
#![cfg_attr(wq_plant, expect(clippy::print_stdout, reason = "it is a program that lists"))]

#[cfg(not(wq_plant))]
fn main() {}

#[cfg(wq_plant)]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("--it") => println!("cancel:: process::"),
        _ => wq_core::PLANTED_BUGS.iter().for_each(|(name, wrong)| println!("{name} {wrong}")),
    }
}
