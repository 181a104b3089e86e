//! Throughput: `cargo bench -p wq-core -- --quick` takes less than a minute.
//!
//! Each name says the workload, and each figure is in items a second. An item is one add, one
//! hand-out and one done, unless the name says less. "Burst of 1000" adds 1000 distinct items and
//! then works on all.
//!
//! A figure holds for this machine and this moment. To compare two commits, run both after each
//! other, with `--save-baseline` and `--baseline`. `cargo xtask gates wq-core` runs client-go's own
//! program beside ours and compares ratios.

use std::hash::Hash;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use wq_core::WorkQueue;

const BURST: usize = 1000;
const MILLION: usize = 1_000_000;

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

fn one_thread(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one thread");
    group.throughput(Throughput::Elements(BURST as u64));
    let numbers: Vec<usize> = (0..BURST).collect();
    let strings = names(BURST);
    let shared: Vec<Arc<str>> = strings.iter().map(|name| Arc::from(name.as_str())).collect();
    let queue = WorkQueue::new();
    group.bench_function("burst of 1000 usize", |b| b.iter(|| burst(&queue, &numbers)));
    let queue = WorkQueue::new();
    group.bench_function("burst of 1000 String", |b| b.iter(|| burst(&queue, &strings)));
    let queue = WorkQueue::new();
    group.bench_function("burst of 1000 Arc<str>", |b| b.iter(|| burst(&queue, &shared)));
    let queue = WorkQueue::new();
    group.bench_function("burst of 1000 usize, add_all and done_and_get", |b| {
        b.iter(|| {
            queue.add_all(0..BURST);
            let mut guard = queue.try_get();
            while let Ok(held) = guard {
                guard = held.done_and_get();
            }
        });
    });
    let queue = WorkQueue::<String>::new();
    queue.add_all(strings.iter().cloned());
    group.bench_function("add_ref of a queued String", |b| {
        b.iter(|| {
            for key in &strings {
                black_box(queue.add_ref(key.as_str()));
            }
        });
    });
    group.throughput(Throughput::Elements(1));
    let queue = WorkQueue::<usize>::new();
    group.bench_function("cancelled get", |b| {
        b.iter(|| pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    });
    group.finish();
}

fn million(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a million usize");
    group.sample_size(10);
    group.throughput(Throughput::Elements(MILLION as u64));
    let keys: Vec<usize> = (0..MILLION).collect();
    group.bench_function("burst, new queue", |b| {
        b.iter_batched_ref(WorkQueue::new, |queue| burst(queue, &keys), BatchSize::PerIteration);
    });
    let queue = WorkQueue::new();
    group.bench_function("burst, reused queue", |b| b.iter(|| burst(&queue, &keys)));
    group.finish();
}

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// The time from the first add to the last done, with `count` producers and `count` consumers.
fn crowd(count: u64, items: u64) -> Duration {
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

fn threads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("threads");
    group.sample_size(20);
    group.throughput(Throughput::Elements(1));
    for count in [1, 2, 4, 16] {
        group.bench_function(format!("{count} producers, {count} blocking consumers"), |b| {
            b.iter_custom(|items| crowd(count, items.max(count)));
        });
    }
    group.finish();
}

fn tasks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tasks");
    group.throughput(Throughput::Elements(BURST as u64));
    for tasks in [1, 1000] {
        group.bench_function(format!("burst of 1000 usize, {tasks} waiting"), |b| {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return };
            let queue = WorkQueue::<usize>::new();
            for _ in 0..tasks {
                let queue = queue.clone();
                runtime.spawn(async move {
                    while let Some(guard) = queue.get().await {
                        guard.done();
                    }
                });
            }
            b.iter(|| {
                for item in 0..BURST {
                    queue.add(item);
                }
                runtime.block_on(queue.drained());
            });
            queue.shutdown();
        });
    }
    group.finish();
}

/// client-go's benchmarks, by their names.
fn upstream(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("client-go");
    let keys: Vec<String> = (0..100).map(|at| format!("key-{at}")).collect();
    group.throughput(Throughput::Elements(100));
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
    group.throughput(Throughput::Elements(1000));
    group.bench_function("BenchmarkParallelizeUntil, 1000 pieces", |b| {
        b.iter(|| {
            let queue = WorkQueue::new();
            queue.add_all(0..1000_u64);
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
    group.finish();
}

fn is_prime(number: u64) -> bool {
    number > 1 && (2..).take_while(|by| by * by <= number).all(|by| !number.is_multiple_of(by))
}

criterion_group!(benches, one_thread, million, threads, tasks, upstream);
criterion_main!(benches);
