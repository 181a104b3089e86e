//! Two tenants of different size and an urgent item: prints the order in which they are served.

#![expect(clippy::print_stdout, reason = "it is what the example does")]

use std::error::Error;
use wq_core::WorkQueue;
use wq_priority::{GroupId, Order, Priority};

fn main() -> Result<(), Box<dyn Error>> {
    let (large, small) = (GroupId::new(1), GroupId::new(2));
    let queue = WorkQueue::builder().name("tenants").backlog(Priority::new()).build()?;
    for n in 0..6 {
        queue.add_with(format!("large-{n}"), Order::default().in_group(large));
    }
    for n in 0..2 {
        queue.add_with(format!("small-{n}"), Order::default().in_group(small));
    }
    queue.add_with("urgent".to_string(), Order::priority(10));
    queue.shutdown();
    while let Some(item) = queue.get_blocking() {
        println!("{} (priority {})", item.item(), item.order().priority);
    }
    Ok(())
}
