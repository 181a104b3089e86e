//! Two threads work on items that fail at first; each is retried with its own back-off until it succeeds.

#![expect(clippy::print_stdout, reason = "it is what the example does")]

use std::error::Error;
use std::thread;
use std::time::Duration;
use wq_ratelimit::{ExponentialBackoff, Jittered, Outcome, RateLimitingQueue, ThreadTimer};

fn main() -> Result<(), Box<dyn Error>> {
    let backoff = ExponentialBackoff::new(Duration::from_millis(5), Duration::from_secs(1))?;
    let queue = RateLimitingQueue::builder()
        .limiter(Jittered::new(backoff, 10)?)
        .timer(ThreadTimer)
        .name("retries")
        .build_blocking()?;
    queue.add_all(1..=4_u32);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(item) = queue.get_blocking() {
                    // Item n succeeds at its n-th attempt.
                    let attempt = item.num_requeues() + 1;
                    let went_well = attempt >= *item.item();
                    println!(
                        "item {} attempt {attempt}: {}",
                        item.item(),
                        if went_well { "done" } else { "failed" }
                    );
                    item.finish(if went_well { Outcome::Success } else { Outcome::Retry });
                }
            });
        }
        let drained = queue.drained_timeout(Duration::from_secs(10));
        queue.shutdown();
        drained
    })?;
    Ok(())
}
