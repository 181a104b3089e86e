//! Workloads of many tasks that wait, on tokio. The twin is in `go/together.go`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use rivals::{Bench, Pinned, each, now};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use wq_core::WorkQueue;

const TASKS: usize = 1000;
const BURST: usize = 1000;
const BURSTS: usize = 200;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    for cpus in [1, 2] {
        let gate = format!("waiting_tasks_{cpus}");
        let theirs = format!("waiting {cpus} {TASKS} {BURST} {BURSTS}");
        bench.beside_client_go(&gate, &theirs, || waiting(cpus))?;
    }
    Ok(())
}

/// A thousand tasks wait for items, which come in bursts of a thousand: nanoseconds an item.
pub(crate) fn waiting(cpus: usize) -> Result<f64> {
    let mut builder =
        if cpus == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if cpus > 1 {
        builder.worker_threads(cpus);
    }
    let runtime = builder.build()?;
    let _pinned = if cpus == 1 { Some(Pinned::to(0)?) } else { None };
    runtime.block_on(async {
        let queue = WorkQueue::new();
        let left = Arc::new(AtomicUsize::new(0));
        let all = Arc::new(Notify::new());
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (queue, left, all) = (queue.clone(), Arc::clone(&left), Arc::clone(&all));
                tokio::spawn(async move {
                    while let Some(guard) = queue.get().await {
                        guard.done();
                        if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                            all.notify_one();
                        }
                    }
                })
            })
            .collect();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let begin = now();
        for _ in 0..BURSTS {
            left.store(BURST, Ordering::Release);
            for item in 0..BURST {
                queue.add(item);
            }
            all.notified().await;
        }
        let took = each(begin, BURST * BURSTS);
        queue.shutdown();
        for task in tasks {
            task.await?;
        }
        Ok(took)
    })
}
