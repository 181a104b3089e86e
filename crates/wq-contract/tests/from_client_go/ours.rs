//! The names of ours on the page, each beside something that compiles only as long as it exists.

use crate::{cells, code, page, words};
use std::collections::BTreeSet;
use std::mem::size_of;
use std::time::{Duration, Instant};
use wq_core::tracing::TraceEvents;
use wq_core::{Added, Backlog, Fifo, Gauges, Observer, WorkQueue};
use wq_delay::{
    Debounce, DelayingQueue, ImmediateAdd, ManualTimer, Scheduled, SecondAdd, ThreadTimer,
    TokioTimer,
};
use wq_priority::{OnMerge, Order, Priority};
use wq_prometheus::QueueMetrics;
use wq_ratelimit::{
    Combine, ExponentialBackoff, FastSlow, Jittered, MaxOf, Outcome, PerItemBucket, RateLimiter,
    RateLimitingQueue, Shared, TokenBucket, WithMaxWait, controller_default, item_default,
};

type Queue = RateLimitingQueue<u64, TokenBucket>;
type Guard<'q> = wq_ratelimit::ProcessingGuard<'q, u64>;
type Builder = wq_ratelimit::Builder<u64>;
type ReadyBuilder = wq_ratelimit::Builder<u64, TokenBucket>;

/// `name: proof`. The last word of the name, but for arguments, is one of the proof.
macro_rules! ours {
    ($($name:literal: $proof:expr;)*) => {
        const OURS: &[(&str, &str)] = &[$(($name, stringify!($proof))),*];

        #[test]
        fn they_exist() {
            $(let _ = $proof;)*
        }
    };
}

ours! {
    "Added::ShutDown": Added::ShutDown;
    "Backlog": <Fifo as Backlog>::len;
    "Backlog::touch": <Fifo as Backlog>::touch;
    "Builder::backlog": Builder::backlog::<Fifo>;
    "Builder::capacity": |builder: Builder| builder.capacity(1);
    "Builder::clock": |builder: wq_core::Builder<u64>, now: Instant| builder.clock(move || now);
    "Builder::count_early_attempts(true)": |builder: Builder| builder.count_early_attempts(true);
    "Builder::limiter": Builder::limiter::<TokenBucket>;
    "Builder::name": |builder: Builder| builder.name("a");
    "Builder::observer": |builder: Builder, events: TraceEvents| builder.observer(events);
    "Builder::reserve_delayed": Builder::reserve_delayed;
    "Builder::strict": wq_priority::Builder::strict;
    "Builder::timer": |builder: Builder| builder.timer(ManualTimer::new());
    "Debounce::new": Debounce::new;
    "DelayingQueue::builder()": DelayingQueue::<u64>::builder();
    "ExponentialBackoff": size_of::<ExponentialBackoff<u64>>();
    "ExponentialBackoff::bounded": ExponentialBackoff::<u64>::bounded;
    "ExponentialBackoff::new": ExponentialBackoff::<u64>::new;
    "FastSlow::bounded": FastSlow::<u64>::bounded;
    "FastSlow::new": FastSlow::<u64>::new;
    "Fifo": Fifo::default();
    "Gauges": size_of::<Gauges>();
    "ImmediateAdd": ImmediateAdd::default();
    "ImmediateAdd::Merge": ImmediateAdd::Merge;
    "Jittered": Jittered::<TokenBucket>::full;
    "Jittered::new": Jittered::<TokenBucket>::new;
    "ManualTimer": ManualTimer::new();
    "MaxOf": size_of::<MaxOf<TokenBucket, TokenBucket>>();
    "MaxOf::new": MaxOf::<TokenBucket, TokenBucket>::new;
    "Observer": size_of::<&dyn Observer>();
    "Observer::added": <TraceEvents as Observer>::added;
    "Observer::done": <TraceEvents as Observer>::done;
    "Observer::got": <TraceEvents as Observer>::got;
    "Observer::retried": <TraceEvents as Observer>::retried;
    "OnMerge": OnMerge::default();
    "Order::priority": Order::priority;
    "Outcome::GiveUp": Outcome::GiveUp;
    "Outcome::RetryWith": Outcome::RetryWith { delay: Duration::ZERO, combine: Combine::Min };
    "PerItemBucket": PerItemBucket::<u64>::new;
    "PerItemBucket::bounded": PerItemBucket::<u64>::bounded;
    "PerItemBucket::new": PerItemBucket::<u64>::new;
    "Priority": Priority::new();
    "QueueMetrics::observer": |metrics: QueueMetrics| drop(metrics.observer("claims"));
    "QueueMetrics::watch": QueueMetrics::watch::<WorkQueue<u64>>;
    "QueueMetrics::watch_by_priority": QueueMetrics::watch_by_priority::<WorkQueue<u64, Priority>>;
    "RateLimiter<T>": size_of::<&dyn RateLimiter<u64>>();
    "RateLimitingQueue::builder()": RateLimitingQueue::<u64, _>::builder();
    "RateLimitingQueue": size_of::<RateLimitingQueue<u64, TokenBucket>>();
    "RateLimitingQueue<T, L>": size_of::<RateLimitingQueue<u64, TokenBucket>>();
    "Scheduled::ShutDown": Scheduled::ShutDown;
    "SecondAdd": SecondAdd::default();
    "Shared": Shared::<u64, TokenBucket>::new;
    "ThreadTimer": size_of::<ThreadTimer>();
    "TokenBucket::new": TokenBucket::new;
    "TokenBucket::per_second": TokenBucket::per_second;
    "TokioTimer": TokioTimer::new;
    "TraceEvents": TraceEvents::new("a");
    "WithMaxWait::new": WithMaxWait::<TokenBucket>::new;
    "WorkQueue::builder()": WorkQueue::<u64>::builder();
    "WorkQueue::new()": WorkQueue::<u64>::new();
    "WorkQueue<T>": size_of::<WorkQueue<u64>>();
    "_with": |queue: &Queue| queue.add_with(1, ());
    "abandon(&item)": |queue: &Queue| queue.abandon(&1);
    "add(item)": |queue: &Queue| queue.add(1);
    "add_after(item, duration)": |queue: &Queue| queue.add_after(1, Duration::MAX);
    "add_after_with": |queue: &Queue| queue.add_after_with(1, Duration::MAX, ());
    "add_all(0..pieces)": |queue: &Queue, pieces| queue.add_all(0..pieces);
    "add_all_with": |queue: &Queue| queue.add_all_with([(1, ())]);
    "add_at(item, instant)": |queue: &Queue, instant: Instant| queue.add_at(1, instant);
    "add_debounced": Queue::add_debounced;
    "add_rate_limited(item)": |queue: &Queue| queue.add_rate_limited(1);
    "add_rate_limited_after": Queue::add_rate_limited_after;
    "add_rate_limited_with": Queue::add_rate_limited_with;
    "add_with": |queue: &Queue| queue.add_with(1, ());
    "build()": ReadyBuilder::build;
    "build_blocking()": ReadyBuilder::build_blocking;
    "cancel": Queue::cancel::<u64>;
    "controller_default()": controller_default::<u64>();
    "counts()": Queue::counts;
    "counts().queued": |queue: &Queue| queue.counts().queued;
    "deadline": Queue::deadline::<u64>;
    "delayed_len": Queue::delayed_len;
    "drained().await": |queue: &Queue| drop(queue.drained());
    "drained().wait_timeout(timeout)": |queue: &Queue, timeout| queue.drained().wait_timeout(timeout);
    "forget": <TokenBucket as RateLimiter<u64>>::forget;
    "reader().gauges()": |queue: &Queue| queue.reader().gauges();
    "get().await": |queue: &Queue| drop(queue.get());
    "get_blocking()": Queue::get_blocking;
    "get_timeout": Queue::get_timeout;
    "get_owned": Queue::get_owned;
    "guard.done()": |guard: Guard<'_>| guard.done();
    "guard.finish(outcome)": |guard: Guard<'_>, outcome| guard.finish(outcome);
    "guard.num_requeues()": |guard: &Guard<'_>| guard.num_requeues();
    "guard.order()": |guard: Guard<'_>| guard.order() == &();
    "is_shutting_down()": Queue::is_shutting_down;
    "item_default()": item_default::<u64>();
    "len": <Fifo as Backlog>::len;
    "next_delay": <TokenBucket as RateLimiter<u64>>::next_delay;
    "num_requeues": <TokenBucket as RateLimiter<u64>>::num_requeues;
    "pop": <Fifo as Backlog>::pop;
    "push": <Fifo as Backlog>::push;
    "remove": <Fifo as Backlog>::remove;
    "shutdown()": Queue::shutdown;
    "shutdown_now()": Queue::shutdown_now;
    "try_add": Queue::try_add;
    "try_get": Queue::try_get;
    "wq_delay::DelayingQueue<T>": size_of::<DelayingQueue<u64>>();
}

/// What stands in code and is no name of ours: an argument, theirs, and what the tests of the
/// metrics are about.
fn is_other(code: &str) -> bool {
    code.starts_with("workqueue_")
        || ["Done", "None", "done", "name", "wq-prometheus"].contains(&code)
}

/// What the tables say of ours: all columns but the first, which is theirs, and of the defects the
/// one that is ours.
fn on_the_page(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let ours = |row| {
        let cells = cells(row);
        let is_defect =
            cells[0].strip_prefix('D').is_some_and(|number| number.parse::<u32>().is_ok());
        if is_defect { cells[2..3].to_vec() } else { cells[1..].to_vec() }
    };
    rows.flat_map(ours).flat_map(code).filter(|code| !is_other(code)).collect()
}

#[test]
fn every_name_of_ours_on_the_page_is_one_that_exists() {
    let page = page();
    let known: BTreeSet<_> = OURS.iter().map(|(name, _)| *name).collect();
    let there = on_the_page(&page);
    assert_eq!(
        there.difference(&known).collect::<Vec<_>>(),
        [&""; 0],
        "without a proof in this file"
    );
    assert_eq!(known.difference(&there).collect::<Vec<_>>(), [&""; 0], "no longer on the page");
}

#[test]
fn every_proof_is_of_the_name_beside_it() {
    for (name, proof) in OURS {
        let path = name.split(['(', '<']).next().unwrap().trim_end_matches(".await");
        let last = words(path).last().unwrap().trim_start_matches('_');
        let named = |word: &str| word == last || word.ends_with(&format!("_{last}"));
        assert!(words(proof).any(named), "{name}: {proof}");
    }
}
