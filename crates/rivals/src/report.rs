//! The lines that `cargo xtask gates` reads: `measured NAME VALUE`, one for each gate.

/// Prints what was measured for a gate of `gates.toml`.
#[expect(clippy::print_stdout, reason = "what a program for the command line found")]
pub fn measured(name: &str, value: f64) {
    println!("measured {name} {value:.4}");
}
