//! The demo at length: runs to their end of every kind, and runs interrupted at any moment, here
//! and on a cluster.

#[path = "../it/stage.rs"]
mod stage;
#[path = "../it/theirs.rs"]
mod theirs;

mod cluster;
mod interrupted;
mod kept;
mod whole_run;
