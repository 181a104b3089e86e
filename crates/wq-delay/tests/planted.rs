//! Names the bugs that can be planted: `cargo xtask planted` reads one a line, each with what is wrong.
#![cfg_attr(
    wq_plant,
    expect(clippy::print_stdout, reason = "it is a program that says which bugs there are")
)]

fn main() {
    // All of the tests of the public API are played: with `--it` there is nothing to say.
    #[cfg(wq_plant)]
    if std::env::args().nth(1).is_none() {
        wq_delay::PLANTED_BUGS.iter().for_each(|(name, wrong)| println!("{name} {wrong}"));
    }
}
