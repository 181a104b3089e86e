//! shuttle: not yet.
fn main() {}
