//! What the programs of this crate share: interleaved rounds and their medians, a watch over what
//! else the machine does, pinned threads, the peer that is written in Go, a bare HTTP client, and
//! the lines that `cargo xtask gates` reads.
//!
//! Each program in `src/bin` measures one of our crates beside its peers in one run, so that a
//! ratio compares what happened on the same machine in the same minute.

mod bench;
mod heap;
mod machine;
mod peer;
mod pinned;
mod quiet;
mod real;
mod report;
mod rounds;
mod wire;

pub use crate::bench::{Bench, alone, each, integers, names, now};
pub use crate::machine::Machine;
pub use crate::peer::Peer;
pub use crate::pinned::Pinned;
pub use crate::quiet::Quiet;
pub use crate::real::{cluster, real};
pub use crate::report::measured;
pub use crate::rounds::{Compared, interleaved, median};
pub use crate::wire::{Connection, Endpoint, Events};
