//! How long an actor waits before it watches again: kube's own default, but for the jitter, which
//! would make every run another one. Each actor is alone with its server, so there is no herd to
//! disperse.

use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(800);
const MOST: Duration = Duration::from_secs(30);
/// So long after its last failure a watch counts as well.
const WELL: Duration = Duration::from_secs(120);

/// The back-off of one watch (`DefaultBackoff` of kube's watcher, without jitter).
pub(crate) fn backoff() -> ResetTimerBackoff<Doubling> {
    ResetTimerBackoff::new(Doubling { next: FIRST }, WELL)
}

/// Each time twice as long, up to a limit.
#[derive(Debug)]
pub(crate) struct Doubling {
    next: Duration,
}

impl Iterator for Doubling {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = self.next;
        self.next = now.saturating_mul(2).min(MOST);
        Some(now)
    }
}

impl Backoff for Doubling {
    fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::backoff;

    #[tokio::test(start_paused = true)]
    async fn each_wait_is_twice_the_last_one_up_to_half_a_minute() {
        let waits: Vec<_> = backoff().take(8).map(|wait| wait.as_millis()).collect();
        assert_eq!(waits, [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
    }
}
