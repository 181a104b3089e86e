//! wq-priority beside controller-runtime's priority queue, and beside `Fifo`: what its gates in
//! `gates.toml` are about. The twins are in `go/priority.go`.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use prometheus_client::registry::Registry;
use rivals::{Bench, alone, integers};
use wq_core::{Backlog, WorkQueue};
use wq_priority::{Order, Priority};
use wq_prometheus::QueueMetrics;

/// Items of a round.
const ITEMS: usize = 1_000_000;
const KEYS: usize = 1000;
const MILLION: usize = 1_000_000;
const MILLION_ROUNDS: usize = 3;
/// Keys in flight that were added again.
const READDED: u64 = 10_000;
const IN_FLIGHT: usize = 1000;
const PEER: &str = "controller-runtime";

fn main() -> Result<()> {
    let mut bench = Bench::start()?;
    beside_controller_runtime(&mut bench)?;
    beside_itself(&bench)?;
    // Last, and few: a round of theirs takes seconds.
    bench.at_most(MILLION_ROUNDS);
    with_a_million(&mut bench)?;
    bench.end();
    Ok(())
}

fn beside_controller_runtime(bench: &mut Bench) -> Result<()> {
    let few = integers(KEYS);
    bench.beside("burst_1k", PEER, &theirs("priority-int64", KEYS), || {
        burst(&priority()?, &few, ordered)
    })?;
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let theirs_measured = theirs("priority-int64-prometheus", KEYS);
    bench.beside("prometheus_1k", PEER, &theirs_measured, || {
        burst(&measured(&metrics)?, &few, ordered)
    })?;
    bench.beside("readded_beside", PEER, &format!("priority-readded {READDED} 1000"), || {
        beside_readded(READDED)
    })?;
    Ok(())
}

fn with_a_million(bench: &mut Bench) -> Result<()> {
    if !bench.wants("burst_1m") && !bench.wants("prometheus_1m") {
        return Ok(());
    }
    let million = integers(MILLION);
    let theirs_plain = theirs("priority-int64", MILLION);
    bench.beside("burst_1m", PEER, &theirs_plain, || burst(&priority()?, &million, ordered))?;
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let theirs_measured = theirs("priority-int64-prometheus", MILLION);
    bench.beside("prometheus_1m", PEER, &theirs_measured, || {
        burst(&measured(&metrics)?, &million, ordered)
    })?;
    Ok(())
}

/// Theirs take many times as long: fewer items.
fn theirs(workload: &str, keys: usize) -> String {
    format!("{workload} {keys} {}", keys.max(200_000))
}

fn beside_itself(bench: &Bench) -> Result<()> {
    let few = integers(KEYS);
    bench.beside_itself(
        "readded",
        "with none",
        || beside_readded(READDED),
        || beside_readded(0),
    )?;
    let fifo = || burst(&WorkQueue::new(), &few, |_| ());
    bench.beside_itself("fifo_1k", "Fifo", || burst(&priority()?, &few, ordered), fifo)?;
    if bench.wants("fifo_1m") {
        let million = integers(MILLION);
        bench.beside_itself(
            "fifo_1m",
            "Fifo",
            || steady(&priority()?, &million, ordered),
            || steady(&WorkQueue::new(), &million, |_| ()),
        )?;
    }
    Ok(())
}

fn priority() -> Result<WorkQueue<u64, Priority>> {
    Ok(WorkQueue::builder().backlog(Priority::new()).build()?)
}

fn measured(metrics: &QueueMetrics) -> Result<WorkQueue<u64, Priority>> {
    let builder = WorkQueue::builder().name("measured").backlog(Priority::new());
    let queue = builder.observer(metrics.observer("measured")).build()?;
    metrics.watch_by_priority(&queue);
    Ok(queue)
}

/// One of three priorities.
const fn ordered(key: u64) -> Order {
    const PRIORITIES: [i32; 3] = [-100, 0, 100];
    Order::priority(PRIORITIES[(key % 3) as usize])
}

/// Adds all keys, then takes them all, again and again; nanoseconds an item.
fn burst<B: Backlog>(
    queue: &WorkQueue<u64, B>,
    keys: &[u64],
    order: impl Fn(u64) -> B::Order,
) -> Result<f64> {
    let times = (ITEMS / keys.len()).max(1);
    alone(times * keys.len(), || {
        for _ in 0..times {
            for key in keys {
                queue.add_with(*key, order(*key));
            }
            for _ in keys {
                queue.get_blocking().context("the queue was empty")?.done();
            }
        }
        Ok(())
    })
}

/// All keys are queued but for those in flight; the one longest in flight is done and added again,
/// and the next is taken.
fn steady<B: Backlog>(
    queue: &WorkQueue<u64, B>,
    keys: &[u64],
    order: impl Fn(u64) -> B::Order,
) -> Result<f64> {
    for key in keys {
        queue.add_with(*key, order(*key));
    }
    let mut in_flight: VecDeque<_> = (0..IN_FLIGHT).map_while(|_| queue.get_blocking()).collect();
    alone(ITEMS, || {
        for _ in 0..ITEMS {
            let oldest = in_flight.pop_front().context("nothing is in flight")?;
            let key = *oldest.item();
            oldest.done();
            queue.add_with(key, order(key));
            in_flight.extend(queue.get_blocking());
        }
        Ok(())
    })
}

/// Adds a key, gets it and is done with it, one after the other, while so many others are in flight
/// and were added again.
fn beside_readded(readded: u64) -> Result<f64> {
    let queue = priority()?;
    for key in 0..readded {
        queue.add_with(key, ordered(key));
    }
    let _in_flight: Vec<_> = (0..readded).map_while(|_| queue.get_blocking()).collect();
    for key in 0..readded {
        queue.add_with(key, ordered(key));
    }
    alone(ITEMS, || {
        for at in 0..ITEMS as u64 {
            let key = readded + at % 1000;
            queue.add_with(key, ordered(key));
            queue.get_blocking().context("the queue was empty")?.done();
        }
        Ok(())
    })
}
