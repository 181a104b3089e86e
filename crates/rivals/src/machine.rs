//! How busy the machine is with other things: a measurement on a disturbed one is said to be so.

use std::fs;

/// The load of the machine when a run began.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    before: Option<f64>,
}

impl Machine {
    /// Looks at the machine before anything is started.
    #[must_use]
    pub fn before() -> Self {
        Self { before: load() }
    }

    /// One line on how busy it was with other things, and how busy it is now.
    #[must_use]
    pub fn line(self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let shown = |load: Option<f64>| {
            load.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2}"))
        };
        // A run of its own keeps about all cores busy at its end; before it began, nobody should
        // have been.
        let disturbed = self.before.is_some_and(|before| before > 0.5);
        format!(
            "load of one minute before {} and after {} on {cores} cores{}",
            shown(self.before),
            shown(load()),
            if disturbed { ": DISTURBED, the machine was not quiet when this began" } else { "" },
        )
    }
}

/// The load average of the last minute; nothing where the system does not tell.
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
