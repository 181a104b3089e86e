//! Hand-over: two candidates on a lease in memory, of which the first stops and the second takes
//! over.

use std::time::Duration;

use futures::StreamExt;
use lease_election::{Config, LeaderElector, Leadership, MemoryLeaseStore};
use tokio::time::Instant;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = MemoryLeaseStore::new();
    let start = Instant::now();
    let candidate = |name: &str| -> Result<LeaderElector, Box<dyn std::error::Error>> {
        let config = Config::builder("default", "example").fast().identity(name).build()?;
        Ok(LeaderElector::new(store.client(name), config))
    };
    let (first, second) = (candidate("first")?, candidate("second")?);

    let mut leaders = second.observe();
    let watching = tokio::spawn(async move {
        while let Some(leader) = leaders.next().await {
            say(start, &format!("leader: {}", leader.as_deref().unwrap_or("nobody")));
        }
    });

    let (one, two) = (first.clone(), second.clone());
    let one =
        tokio::spawn(
            async move { one.run(move |leadership| work("first", leadership, start)).await },
        );
    tokio::time::sleep(Duration::from_millis(50)).await;
    let two =
        tokio::spawn(
            async move { two.run(move |leadership| work("second", leadership, start)).await },
        );

    tokio::time::sleep(Duration::from_millis(500)).await;
    say(start, "stopping the first");
    first.stop_handle().stop();
    say(start, &format!("the first ended: {:?}", one.await?));

    tokio::time::sleep(Duration::from_millis(300)).await;
    second.stop_handle().stop();
    say(start, &format!("the second ended: {:?}", two.await?));
    watching.abort();
    Ok(())
}

/// Works in small steps, and winds up when told to. Returns the number of steps.
async fn work(name: &str, leadership: Leadership, start: Instant) -> u32 {
    say(start, &format!("{name} works, fence {}", leadership.fence()));
    let mut steps = 0;
    loop {
        tokio::select! {
            biased;
            ending = leadership.ending() => {
                say(start, &format!("{name} winds up: {ending:?}"));
                return steps;
            }
            () = tokio::time::sleep(Duration::from_millis(40)) => {}
        }
        // The check comes right before each effect.
        if leadership.is_valid() {
            steps += 1;
        }
    }
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn say(start: Instant, what: &str) {
    println!("{:>5} ms  {what}", start.elapsed().as_millis());
}
