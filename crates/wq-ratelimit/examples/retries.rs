//! Two threads work on items that fail at first; each is retried with its own back-off until it
//! succeeds. What is not done by the end is printed.

#![expect(clippy::print_stdout, reason = "it is what the example does")]

use std::error::Error;
use std::sync::Mutex;
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
    let refused = Mutex::new(Vec::new());
    let mut left = thread::scope(|scope| {
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
                    let outcome = if went_well { Outcome::Success } else { Outcome::Retry };
                    // Only after the shutdown: nobody retries the item any more.
                    if let (Err(item), Ok(mut refused)) = (item.finish(outcome), refused.lock()) {
                        refused.push(item.into_item());
                    }
                }
            });
        }
        // All retries, if they come in time; then the workers go home.
        if let Err(error) = queue.drained().wait_timeout(Duration::from_secs(10)) {
            println!("{error}");
        }
        queue.shutdown()
    });
    left.append(&mut refused.into_inner()?);
    println!("not done: {left:?}");
    Ok(())
}
