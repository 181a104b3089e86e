//! Three threads wait for reminders that become due after some milliseconds, and print them in
//! order.

#![expect(clippy::print_stdout, reason = "it is what the example does")]

use std::error::Error;
use std::thread;
use std::time::Duration;
use wq_delay::{DelayingQueue, ThreadTimer};

fn main() -> Result<(), Box<dyn Error>> {
    let queue = DelayingQueue::builder().timer(ThreadTimer).name("reminders").build_blocking()?;
    thread::scope(|scope| {
        for worker in 1..=3 {
            let queue = &queue;
            scope.spawn(move || {
                while let Some(item) = queue.get_blocking() {
                    println!("worker {worker}: {}", item.item());
                }
            });
        }
        for (text, delay) in [("stand up", 30), ("drink", 10), ("look out of the window", 20)] {
            queue.add_after(text, Duration::from_millis(delay));
        }
        queue.add("this one at once");
        // Nothing delayed, queued or in flight: then the workers may go home.
        let drained = queue.drained().wait_timeout(Duration::from_secs(10));
        let left = queue.shutdown(); // What a drain that gave up has left delayed.
        println!("not due yet: {left:?}");
        drained
    })?;
    Ok(())
}
