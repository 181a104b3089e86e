//! The one place that reads the clocks of the machine: what is measured here is real processes.
#![expect(clippy::disallowed_methods, reason = "the demo measures real processes in real time")]

use std::time::{Instant, SystemTime};

/// The clock that does not jump.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The wall clock, which the server's request log uses too.
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}
