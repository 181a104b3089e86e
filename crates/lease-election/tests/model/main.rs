//! Model: every state that the shipped protocol reaches with one Lease, two or three electors, and
//! every fault.
//!
//! The protocol is private and pure, so this program includes its source files.
//! `ELECTION_MODEL=quick` (the default) stops each search early, after a whole depth. `full` covers
//! every state of the small worlds, `long` every state of the large ones too.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    unnameable_types,
    missing_docs,
    reason = "files of the library, of which a part is asked"
)]
#![expect(clippy::print_stdout, reason = "a program that reports")]

#[path = "../../src"]
mod shipped {
    pub(crate) mod announcement;
    pub(crate) mod candidate;
    pub(crate) mod clock;
    pub(crate) mod config;
    pub(crate) mod decide;
    pub(crate) mod draws;
    pub(crate) mod error;
    pub(crate) mod fnv;
    pub(crate) mod holder_pod;
    pub(crate) mod loss;
    pub(crate) mod observation;
    pub(crate) mod planted;
    pub(crate) mod record;
    pub(crate) mod store;
    pub(crate) mod version;
}

mod client_go;
mod explore;
mod ours;
mod pods;
mod scenarios;
mod world;

use shipped::candidate::outlook::names;
use shipped::{
    announcement, candidate, clock, config, decide, draws, error, fnv, loss, observation, planted,
    record, store, version,
};

use clock::{Clock, Moment, Sleep};
use config::Config;
use error::StoreError;
use record::{Record, StoredLease};
use scenarios::Effort;
use store::{LeaseEvent, LeaseEvents, LeaseStore};
use version::{FenceToken, Version};

/// The C library's allocator makes the search take half as long again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MILLION: usize = 1_000_000;

fn main() -> std::process::ExitCode {
    let effort = match std::env::var("ELECTION_MODEL").as_deref() {
        Ok("full") => Effort::Full,
        Ok("long") => Effort::Long(MILLION),
        Ok(millions) => Effort::Long(
            MILLION * millions.parse::<usize>().expect("full, long, or millions of states"),
        ),
        Err(_) => Effort::Quick,
    };
    let only = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    let pods = only.as_deref().is_none_or(|only| only == "pods");
    if pods && !pods::play() {
        return std::process::ExitCode::FAILURE;
    }
    scenarios::play_all(effort, only.as_deref())
}
