//! Memory: what growing to a million items and giving it back take. How many bytes that is, `tests/memory` counts exactly.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use wq_core::WorkQueue;

fn drained(items: usize) -> WorkQueue<usize> {
    let queue = WorkQueue::new();
    queue.add_all(0..items);
    while let Ok(guard) = queue.try_get() {
        guard.done();
    }
    queue
}

fn memory(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memory");
    group.sample_size(10);
    group.bench_function("grow to a million", |b| {
        b.iter_batched_ref(
            WorkQueue::new,
            |queue| queue.add_all(0..1_000_000_usize),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("shrink after a million", |b| {
        b.iter_batched_ref(|| drained(1_000_000), |queue| queue.shrink(), BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, memory);
criterion_main!(benches);
