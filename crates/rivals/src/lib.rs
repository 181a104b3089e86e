//! What the programs of this crate share: a bare HTTP client, interleaved rounds and their medians, the state of the
//! machine, and the lines that `cargo xtask gates` reads.
//!
//! Each program in `src/bin` measures one of our crates beside its peers in one run, so that a ratio compares what
//! happened on the same machine in the same minute.

mod machine;
mod report;
mod rounds;
mod wire;

pub use crate::machine::Machine;
pub use crate::report::measured;
pub use crate::rounds::{Compared, interleaved, median};
pub use crate::wire::{Connection, Endpoint, Events};
