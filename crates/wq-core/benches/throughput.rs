//! Throughput of one thread: add, get and done in the ways that there are, per item.

use std::hash::Hash;
use std::hint::black_box;
use std::sync::Arc;
use std::thread;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wq_core::WorkQueue;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("namespace-1/name-{at:07}")).collect()
}

fn burst<T: Clone + Hash + Eq>(queue: &WorkQueue<T>, keys: &[T]) {
    for key in keys {
        queue.add(key.clone());
    }
    while let Ok(guard) = queue.try_get() {
        black_box(guard.item());
        guard.done();
    }
}

fn bursts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("burst");
    for count in [1000_usize, 100_000] {
        let numbers: Vec<usize> = (0..count).collect();
        let strings = names(count);
        let shared: Vec<Arc<str>> = strings.iter().map(|name| Arc::from(name.as_str())).collect();
        group.throughput(Throughput::Elements(count as u64));
        let queue = WorkQueue::new();
        group.bench_function(BenchmarkId::new("usize", count), |b| b.iter(|| burst(&queue, &numbers)));
        let queue = WorkQueue::new();
        group.bench_function(BenchmarkId::new("String", count), |b| b.iter(|| burst(&queue, &strings)));
        let queue = WorkQueue::new();
        group.bench_function(BenchmarkId::new("Arc<str>", count), |b| b.iter(|| burst(&queue, &shared)));
    }
    group.finish();
}

fn ways(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ways");
    group.throughput(Throughput::Elements(1000));
    let queue = WorkQueue::new();
    group.bench_function("fused", |b| {
        b.iter(|| {
            for key in 0..1000 {
                queue.add(key);
            }
            let mut guard = queue.try_get();
            while let Ok(held) = guard {
                guard = held.done_and_get();
            }
        });
    });
    group.bench_function("batched", |b| {
        b.iter(|| {
            queue.add_all(0..1000);
            let mut guard = queue.try_get();
            while let Ok(held) = guard {
                guard = held.done_and_get();
            }
        });
    });
    let queue = WorkQueue::<String>::new();
    let keys = names(1000);
    queue.add_all(keys.iter().cloned());
    group.bench_function("duplicate", |b| {
        b.iter(|| {
            for key in &keys {
                black_box(queue.add_ref(key.as_str()));
            }
        });
    });
    group.finish();
}

fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("million");
    group.sample_size(10);
    group.throughput(Throughput::Elements(1_000_000));
    let keys: Vec<usize> = (0..1_000_000).collect();
    group.bench_function("fresh", |b| {
        b.iter_batched_ref(WorkQueue::new, |queue| burst(queue, &keys), BatchSize::PerIteration)
    });
    let queue = WorkQueue::new();
    group.bench_function("reused", |b| b.iter(|| burst(&queue, &keys)));
    group.finish();
}

/// Those of client-go, by their names.
fn upstream(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("upstream");
    let keys: Vec<String> = (0..100).map(|at| format!("key-{at}")).collect();
    group.bench_function("BenchmarkQueue", |b| {
        let each = |queue: &mut WorkQueue<String>| {
            for key in &keys {
                queue.add(key.clone());
                if let Ok(guard) = queue.try_get() {
                    guard.done();
                }
            }
        };
        b.iter_batched_ref(WorkQueue::new, each, BatchSize::PerIteration);
    });
    // Upstream's workers take chunks of several sizes; ours take one piece at a time.
    for pieces in [1000_u64, 999] {
        group.bench_function(BenchmarkId::new("BenchmarkParallelizeUntil", pieces), |b| {
            b.iter(|| {
                let queue = WorkQueue::new();
                queue.add_all(0..pieces);
                queue.shutdown();
                thread::scope(|scope| {
                    for _ in 0..10 {
                        scope.spawn(|| {
                            while let Some(piece) = queue.get_blocking() {
                                black_box(is_prime(*piece.item()));
                            }
                        });
                    }
                });
            });
        });
    }
    group.finish();
}

fn is_prime(number: u64) -> bool {
    number > 1 && (2..).take_while(|by| by * by <= number).all(|by| !number.is_multiple_of(by))
}

criterion_group!(benches, bursts, ways, growth, upstream);
criterion_main!(benches);
