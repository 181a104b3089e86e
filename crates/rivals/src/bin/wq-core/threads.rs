//! Workloads of several threads. The twins of those beside client-go are in `go/together.go`.

use std::sync::Barrier;
use std::thread;

use anyhow::{Context, Result};
use rivals::{Bench, Pinned, each, measured, now};
use wq_core::WorkQueue;

const ITEMS: usize = 500_000;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    for count in [1, 2, 4] {
        let gate = format!("contended_{count}");
        bench.beside_client_go(
            &gate,
            &format!("contended-int64 {count} {count} {ITEMS}"),
            || contended(count, true).map(|round| round.each),
        )?;
    }
    latency(bench, "add_p99", 2, true, 0.99, 1000.0)?;
    latency(bench, "add_p999_of_16", 16, false, 0.999, 1_000_000.0)
}

/// Measures the slowest adds of so many producers: the median of the rounds, in a unit of so many
/// nanoseconds.
fn latency(
    bench: &Bench,
    gate: &str,
    count: usize,
    pinned: bool,
    share: f64,
    unit: f64,
) -> Result<()> {
    if !bench.wants(gate) {
        return Ok(());
    }
    let mut rounds = Vec::new();
    for _ in 0..bench.rounds() {
        let mut spans = bench.quiet().measure(|| contended(count, pinned))?.spans;
        spans.sort_unstable();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index"
        )]
        let at = (share * (spans.len() - 1) as f64) as usize;
        rounds.push(f64::from(spans.get(at).copied().context("nothing was added")?) / unit);
    }
    measured(gate, rivals::median(&mut rounds));
    Ok(())
}

struct Round {
    /// Nanoseconds an item.
    each: f64,
    /// Of single adds, in nanoseconds.
    spans: Vec<u32>,
}

/// As many producers as consumers, each on a thread of its own; all items are distinct. Pinned,
/// each processor has as many of both.
fn contended(count: usize, pinned: bool) -> Result<Round> {
    // Few enough that the clock is not what is measured. A prime, so that it divides no producer's
    // share: first adds, in whose middle every second thread is interrupted, are not among them
    // more often than others.
    const SAMPLE: usize = 101;
    let queue = WorkQueue::new();
    let processors = thread::available_parallelism()?.get();
    let begin = Barrier::new(2 * count + 1);
    let share = ITEMS / count;
    let pin = |at: usize| pinned.then(|| Pinned::to(at % processors)).transpose();
    thread::scope(|scope| {
        let producers: Vec<_> = (0..count)
            .map(|producer| {
                let (queue, begin, pin) = (&queue, &begin, &pin);
                scope.spawn(move || -> Result<Vec<u32>> {
                    let pinned = pin(producer);
                    let mut spans = Vec::with_capacity(share / SAMPLE + 1);
                    begin.wait(); // Whatever happened: others wait for this.
                    let _pinned = pinned?;
                    for item in producer * share..(producer + 1) * share {
                        if item % SAMPLE == SAMPLE / 2 {
                            let before = now();
                            queue.add(item);
                            spans.push(
                                u32::try_from(now().duration_since(before).as_nanos())
                                    .unwrap_or(u32::MAX),
                            );
                        } else {
                            queue.add(item);
                        }
                    }
                    Ok(spans)
                })
            })
            .collect();
        let consumers: Vec<_> = (0..count)
            .map(|consumer| {
                let (queue, begin, pin) = (&queue, &begin, &pin);
                scope.spawn(move || -> Result<()> {
                    let pinned = pin(consumer + 1);
                    begin.wait();
                    let _pinned = pinned?;
                    while let Some(guard) = queue.get_blocking() {
                        guard.done();
                    }
                    Ok(())
                })
            })
            .collect();
        let began = now();
        begin.wait();
        let mut spans = Vec::new();
        for producer in producers {
            spans.extend(producer.join().map_err(|_| anyhow::anyhow!("a producer panicked"))??);
        }
        queue.shutdown();
        for consumer in consumers {
            consumer.join().map_err(|_| anyhow::anyhow!("a consumer panicked"))??;
        }
        Ok(Round { each: each(began, share * count), spans })
    })
}
