//! A pool of threads that works on files by name. A file that changes during the work runs once
//! more. A file that changes many times before its turn runs once.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread;

use wq_core::WorkQueue;

fn main() -> io::Result<()> {
    let queue = WorkQueue::<Arc<str>>::new();
    let runs = Mutex::new(BTreeMap::<Arc<str>, usize>::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(file) = queue.get_blocking() {
                    if let Ok(mut runs) = runs.lock() {
                        *runs.entry(Arc::clone(file.item())).or_default() += 1;
                    }
                    thread::yield_now(); // The work.
                    file.done();
                }
            });
        }
        for change in 0..10_000 {
            queue.add(format!("file-{}", change % 10).into());
        }
        queue.shutdown();
    });
    let runs = runs.into_inner().unwrap_or_default();
    let total: usize = runs.values().sum();
    writeln!(
        io::stdout(),
        "10000 changes of {} files led to {total} runs; left: {:?}",
        runs.len(),
        queue.counts()
    )
}
