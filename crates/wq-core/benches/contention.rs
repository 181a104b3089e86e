//! Contention: as many producers as consumers, all items distinct; the time of an item from the first add to the last done.

use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wq_core::WorkQueue;

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn now() -> Instant {
    Instant::now()
}

fn round(count: u64, items: u64) -> Duration {
    let queue = WorkQueue::new();
    let begin = now();
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while let Some(guard) = queue.get_blocking() {
                    guard.done();
                }
            });
        }
        thread::scope(|producers| {
            for producer in 0..count {
                let queue = &queue;
                producers.spawn(move || {
                    for item in (producer..items).step_by(usize::try_from(count).unwrap_or(1)) {
                        queue.add(item);
                    }
                });
            }
        });
        queue.shutdown();
    });
    now() - begin
}

fn contended(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("contended");
    group.sample_size(20);
    for count in [1, 2, 4, 16] {
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter_custom(|items| round(count, items.max(count)));
        });
    }
    group.finish();
}

criterion_group!(benches, contended);
criterion_main!(benches);
