//! Planted: names the bugs that can be planted here, for `cargo xtask planted`.

#![cfg_attr(wq_plant, expect(clippy::print_stdout, reason = "it is what this program is for"))]

fn main() {
    #[cfg(wq_plant)]
    if std::env::args().nth(1).is_none() {
        wq_priority::PLANTED_BUGS.iter().for_each(|(name, what)| println!("{name} {what}"));
    }
}
