//! The provisioner from outside: on an embedded API server and a real file system, in this process
//! and as one of its own.

mod world;
mod fate;
mod doorman;
mod life;
mod trouble;
mod crash;
mod phases;
mod mounts;
mod kept;
mod leaders;
mod living;
mod permissions;
mod manifest;
mod program;
