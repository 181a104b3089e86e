//! Async get: tasks that wait for bursts, and gets that are dropped.

use std::pin::pin;
use std::task::{Context, Waker};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tokio::runtime::Builder;
use wq_core::WorkQueue;

fn waiting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("waiting tasks");
    for tasks in [1_usize, 1000] {
        group.throughput(Throughput::Elements(1000));
        group.bench_function(BenchmarkId::from_parameter(tasks), |b| {
            let runtime = Builder::new_current_thread().build();
            let Ok(runtime) = runtime else { return };
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
                for item in 0..1000 {
                    queue.add(item);
                }
                runtime.block_on(queue.drained());
            });
            queue.shutdown();
        });
    }
    group.finish();
}

fn cancelled(criterion: &mut Criterion) {
    let queue = WorkQueue::<usize>::new();
    criterion.bench_function("cancelled get", |b| {
        b.iter(|| pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    });
}

criterion_group!(benches, waiting, cancelled);
criterion_main!(benches);
