//! Burst: how often waiting threads sleep and wake during a burst, as the system counts it.

use std::fs;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use wq_core::WorkQueue;

use crate::turn;

const SLEEPERS: usize = 64;
const BURSTS: usize = 20;

/// Reads `/proc/self/task/*/status` of the waiting threads.
fn sleepers() -> Option<Vec<String>> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let read = |task: std::io::Result<fs::DirEntry>| {
        fs::read_to_string(task.ok()?.path().join("status")).ok()
    };
    Some(tasks.filter_map(read).filter(|status| status.starts_with("Name:\tsleeper\n")).collect())
}

fn field<'s>(status: &'s str, name: &str) -> &'s str {
    status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim()
}

/// The number of voluntary context switches of the waiting threads.
fn switches() -> usize {
    let sleepers = sleepers().unwrap();
    sleepers
        .iter()
        .map(|status| field(status, "voluntary_ctxt_switches:").parse::<usize>().unwrap())
        .sum()
}

fn all_asleep() -> bool {
    let sleepers = sleepers().unwrap();
    sleepers.len() == SLEEPERS
        && sleepers.iter().all(|status| field(status, "State:").starts_with('S'))
}

/// Upstream wakes once for each add: 85 to 200 switches for 64 items and 64 threads.
#[test]
fn a_burst_to_64_sleeping_threads_takes_20_switches() {
    let _turn = turn();
    if sleepers().is_none() {
        return; // Not Linux.
    }
    let queue = WorkQueue::new();
    let (left, done) = (AtomicUsize::new(0), Barrier::new(2));
    let mut counts = Vec::new();
    thread::scope(|scope| {
        for _ in 0..SLEEPERS {
            let sleeper = thread::Builder::new().name("sleeper".to_owned());
            let work = || {
                while let Some(guard) = queue.get_blocking() {
                    guard.done();
                    if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        done.wait();
                    }
                }
            };
            sleeper.spawn_scoped(scope, work).unwrap();
        }
        for _ in 0..BURSTS {
            while !all_asleep() {
                thread::yield_now();
            }
            left.store(SLEEPERS, Ordering::Release);
            let before = switches();
            for item in 0..SLEEPERS {
                queue.add(item);
            }
            done.wait();
            while !all_asleep() {
                thread::yield_now();
            }
            counts.push(switches() - before);
        }
        queue.shutdown();
    });
    // Other work of the machine only adds switches, so the quietest burst counts.
    let fewest = counts.iter().min().copied().unwrap_or_default();
    assert!((1..=20).contains(&fewest), "{fewest} switches at best: {counts:?}");
}
