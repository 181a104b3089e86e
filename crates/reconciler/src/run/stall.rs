//! The rule of `/livez`: when a controller counts as stalled. Pure.
//!
//! `limit` is the progress deadline, and before it the time-out and its notice if there are any.
//!
//! | active runs | keys are ready | the controller is |
//! | --- | --- | --- |
//! | fewer than workers | | live: a free worker takes a ready key at once |
//! | one for each worker, the newest younger than `limit` | | live, but slow |
//! | one for each worker, the newest older than `limit` | no | live: nothing waits |
//! | one for each worker, the newest older than `limit` | yes | stalled |
//! | the oldest older than `limit`, and there is a time-out | | stalled: it blocks its thread |

use std::time::Duration;

use tokio::time::Instant;

use crate::run::active::Starts;

/// How long runs of a controller may last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The time-out and its notice.
    pub(crate) longest_run: Option<Duration>,
    /// How much longer the workers may go without progress.
    pub(crate) progress_deadline: Duration,
}

/// Why a controller makes no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stall {
    /// The oldest run has this age, but its time-out should have ended it.
    Overrun(Duration),
    /// No run has started or ended for this long, and keys wait.
    Blocked(Duration),
}

/// Returns why the controller is stalled. `ready` counts the keys that no worker has.
pub(crate) fn stall(
    starts: Starts,
    workers: usize,
    ready: usize,
    limits: Limits,
    now: Instant,
) -> Option<Stall> {
    let limit = limits.longest_run.unwrap_or_default().saturating_add(limits.progress_deadline);
    let age = |start: Instant| now.saturating_duration_since(start);
    let (oldest, newest) = (age(starts.oldest), age(starts.newest));
    if limits.longest_run.is_some() && oldest > limit {
        return Some(Stall::Overrun(oldest));
    }
    (ready > 0 && starts.runs >= workers && newest > limit).then_some(Stall::Blocked(newest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_table() {
        let start = Instant::now();
        let seconds = Duration::from_secs;
        let free = Limits { longest_run: None, progress_deadline: seconds(600) };
        let timed = Limits { longest_run: Some(seconds(66)), ..free };
        let endless = Limits { progress_deadline: Duration::MAX, ..timed };
        let overrun = |age| Some(Stall::Overrun(seconds(age)));
        let blocked = |age| Some(Stall::Blocked(seconds(age)));
        // Runs, the start of the newest, ready keys, limits, now, the verdict.
        let table = [
            (3, 0, 9, free, 9999, None),
            (4, 9990, 9, free, 9999, None),
            (4, 0, 0, free, 9999, None),
            (4, 0, 1, free, 600, None),
            (4, 0, 1, free, 601, blocked(601)),
            (4, 5, 1, free, 605, None),
            (4, 5, 1, free, 606, blocked(601)),
            (1, 0, 0, timed, 666, None),
            (1, 0, 0, timed, 667, overrun(667)),
            (4, 660, 9, timed, 667, overrun(667)),
            (4, 0, 9, endless, 9999, None),
        ];
        for (runs, newest, ready, limits, now, verdict) in table {
            let starts = Starts { runs, oldest: start, newest: start + seconds(newest) };
            let now = start + seconds(now);
            assert_eq!(stall(starts, 4, ready, limits, now), verdict, "{starts:?} {ready} {now:?}");
        }
    }
}
