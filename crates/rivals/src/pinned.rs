//! Pinned: where a thread may run.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the calling thread on one processor until it is dropped, which must be on the same thread.
#[derive(Debug)]
#[must_use = "the thread is free again once this is dropped"]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Moves the calling thread to the processor of this number.
    ///
    /// # Errors
    ///
    /// The system's, if there is no such processor or this process may not use it.
    pub fn to(cpu: usize) -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A thread that cannot be set free stays where it is: slower, no worse.
        let _ = sched_setaffinity(None, &self.before);
    }
}
