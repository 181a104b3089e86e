//! The waits of an actor before it watches again: kube's default without jitter, which would
//! make every run another one.

use std::time::Duration;

use backon::ExponentialBuilder;
use kube::runtime::utils::ResetTimerBackoff;
use kube::runtime::watcher::ExponentialBackoff;

const FIRST: Duration = Duration::from_millis(800);
const MOST: Duration = Duration::from_secs(30);
/// A watch that lasted so long begins with the first wait again.
const WELL: Duration = Duration::from_secs(120);

/// The back-off of one watch.
#[doc(alias = "DefaultBackoff")]
pub(crate) fn backoff() -> ResetTimerBackoff<ExponentialBackoff> {
    let doubling = ExponentialBuilder::new()
        .with_min_delay(FIRST)
        .with_max_delay(MOST)
        .with_factor(2.0)
        .without_max_times();
    ResetTimerBackoff::new(doubling.into(), WELL)
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
