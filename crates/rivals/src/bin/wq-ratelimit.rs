//! wq-ratelimit beside client-go's limiters, and its queue beside wq-core: what its gates in
//! `gates.toml` are about. The twins are in `go/limit.go`.

use std::hash::Hash;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rivals::{Bench, Pinned, alone, each, integers, names, now};
use wq_core::WorkQueue;
use wq_ratelimit::{
    ExponentialBackoff, RateLimiter, RateLimitingQueue, ThreadTimer, TokenBucket,
    controller_default,
};

const CALLS: usize = 1_200_000;
const KEYS: usize = 10_000;
const THREADS: usize = 2;
const ITEMS: usize = 1_000_000;

fn main() -> Result<()> {
    let mut bench = Bench::start()?;
    let (keys, strings) = (integers(KEYS), names(KEYS));
    bench.beside_client_go("back_off", &format!("back-off-int64 {KEYS} {CALLS}"), || {
        back_off(&keys)
    })?;
    bench.beside_client_go(
        "back_off_strings",
        &format!("back-off-string {KEYS} {CALLS}"),
        || back_off(&strings),
    )?;
    bench.beside_client_go("bucket", &format!("tokens {CALLS}"), tokens)?;
    let together = format!("tokens-together {THREADS} {CALLS}");
    bench.beside_client_go("bucket_two_threads", &together, tokens_together)?;
    let few = integers(1000);
    bench.beside_itself("nothing_delayed", "wq-core", || limited(&few), || bare(&few))?;
    bench.end();
    Ok(())
}

/// Asks five times about each key and forgets it, again and again; nanoseconds a call.
fn back_off<T: Hash + Eq + Clone>(keys: &[T]) -> Result<f64> {
    const TIMES: usize = 5;
    let mut limiter = ExponentialBackoff::new(Duration::from_millis(5), Duration::from_secs(1000))?;
    let rounds = CALLS / ((TIMES + 1) * keys.len());
    // The queue has the time anyway, to say when the item is due.
    let begin = now();
    alone(rounds * (TIMES + 1) * keys.len(), || {
        for _ in 0..rounds {
            for key in keys {
                for _ in 0..TIMES {
                    black_box(limiter.next_delay(key, begin));
                }
                limiter.forget(key);
            }
        }
        Ok(())
    })
}

/// Takes tokens of one bucket, and reads the clock for each; nanoseconds a call.
fn tokens() -> Result<f64> {
    let bucket = TokenBucket::per_second(10, 100)?;
    alone(CALLS, || {
        for _ in 0..CALLS {
            black_box(bucket.reserve(now()));
        }
        Ok(())
    })
}

/// The same with threads that are pinned, each with a clone; nanoseconds a call of all.
fn tokens_together() -> Result<f64> {
    let bucket = TokenBucket::per_second(10, 100)?;
    let ready = Barrier::new(THREADS + 1);
    let processors = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (bucket, ready) = (bucket.clone(), &ready);
                scope.spawn(move || -> Result<()> {
                    let pinned = Pinned::to(thread % processors);
                    ready.wait(); // Whatever happened: others wait for this.
                    let _pinned = pinned?;
                    for _ in 0..CALLS / THREADS {
                        black_box(bucket.reserve(now()));
                    }
                    Ok(())
                })
            })
            .collect();
        let begin = now();
        ready.wait();
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        Ok(each(begin, CALLS / THREADS * THREADS))
    })
}

/// A thousand adds, then get and done of all, again and again, on a queue with a limiter that
/// nobody asks.
fn limited(keys: &[u64]) -> Result<f64> {
    let queue = RateLimitingQueue::builder()
        .limiter(controller_default())
        .timer(ThreadTimer)
        .build_blocking()?;
    alone(ITEMS, || {
        for _ in 0..ITEMS / keys.len() {
            for key in keys {
                queue.add(*key);
            }
            for _ in keys {
                queue.get_blocking().context("the queue was empty")?.done();
            }
        }
        Ok(())
    })
}

/// The same on the queue below all layers.
fn bare(keys: &[u64]) -> Result<f64> {
    let queue = WorkQueue::new();
    alone(ITEMS, || {
        for _ in 0..ITEMS / keys.len() {
            for key in keys {
                queue.add(*key);
            }
            for _ in keys {
                queue.get_blocking().context("the queue was empty")?.done();
            }
        }
        Ok(())
    })
}
