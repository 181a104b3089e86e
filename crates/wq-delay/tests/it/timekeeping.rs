//! Who keeps time, on tokio's paused clock and by hand.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use wq_contract::wakes::Wakes;
use wq_delay::{DelayingQueue, ManualTimer, ThreadTimer, TokioTimer};

const SECOND: Duration = Duration::from_secs(1);

fn on_tokio() -> DelayingQueue<u64> {
    DelayingQueue::builder().timer(TokioTimer::current().unwrap()).build().unwrap()
}

async fn elapsed<F: Future>(future: F) -> (Duration, F::Output) {
    let start = tokio::time::Instant::now();
    let output = future.await;
    (start.elapsed(), output)
}

#[tokio::test(start_paused = true)]
async fn a_waiting_getter_gets_the_item_at_its_deadline_on_tokios_clock() {
    let queue = on_tokio();
    queue.add_after(1, SECOND);
    let (waited, guard) = elapsed(queue.get()).await;
    assert_eq!(*guard.unwrap().item(), 1);
    assert_eq!(waited, SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_getter_that_waits_already_hears_of_an_earlier_deadline() {
    let queue = on_tokio();
    queue.add_after(1, SECOND * 60);
    let getter = tokio::spawn({
        let queue = queue.clone();
        async move { elapsed(queue.get_owned()).await.0 }
    });
    tokio::task::yield_now().await;
    queue.add_after(2, SECOND);
    assert_eq!(getter.await.unwrap(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_timekeeper_that_is_dropped_hands_the_job_on() {
    let queue = on_tokio();
    queue.add_after(1, SECOND);
    let keeper = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get_owned().await.is_some() }
    });
    tokio::task::yield_now().await;
    let (waited, got) = elapsed(async {
        let mut others: Vec<_> = (0..3).map(|_| Box::pin(queue.get())).collect();
        for other in &mut others {
            assert!(Wakes::new().poll(other).is_pending());
        }
        others.truncate(1); // Two more drops, the reserve's among them.
        keeper.abort();
        assert!(keeper.await.unwrap_err().is_cancelled());
        others.remove(0).await.is_some()
    })
    .await;
    assert!(got);
    assert_eq!(waited, SECOND, "the successor slept until the deadline itself");
}

#[tokio::test(start_paused = true)]
async fn a_timekeeper_that_is_held_but_not_polled_stalls_nobody() {
    let queue = on_tokio();
    queue.add_after(1, SECOND);
    queue.add_after(2, SECOND * 2);
    let mut held = Box::pin(queue.get());
    assert!(Wakes::new().poll(&mut held).is_pending());
    let (first, guard) = elapsed(queue.get()).await;
    assert_eq!(*guard.unwrap().item(), 1);
    assert!(first <= SECOND + Duration::from_millis(6), "the reserve came after {first:?}");
    // Relieved: from now on the deadline itself is kept.
    let (both, guard) = elapsed(queue.get()).await;
    assert_eq!(*guard.unwrap().item(), 2);
    assert_eq!(first + both, SECOND * 2);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn shutdown_wakes_a_getter_that_sleeps_for_a_deadline() {
    let queue = on_tokio();
    queue.add_after(1, SECOND * 3600);
    let getter = tokio::spawn({
        let queue = queue.clone();
        async move { elapsed(queue.get_owned()).await }
    });
    tokio::time::sleep(SECOND).await;
    assert_eq!(queue.shutdown(), [1]);
    let (waited, got) = getter.await.unwrap();
    assert!(got.is_none());
    assert_eq!(waited, SECOND);
}

#[tokio::test(start_paused = true)]
async fn keep_time_queues_due_items_while_no_getter_waits_and_ends_with_the_queue() {
    let queue = on_tokio();
    queue.add_after(1, SECOND);
    let keeper = tokio::spawn({
        let queue = queue.clone();
        async move { queue.keep_time().await }
    });
    tokio::time::sleep(SECOND * 2).await;
    // Read from the core's own books by Debug, which moves nothing.
    let shown = format!("{queue:?}");
    assert!(shown.contains("queued: 1") && shown.contains("delayed: 0"), "{shown}");
    queue.shutdown();
    keeper.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_blocking_getter_follows_the_paused_clock() {
    let queue = on_tokio();
    queue.add_after(1, SECOND * 3600);
    let getter = tokio::task::spawn_blocking({
        let queue = queue.clone();
        move || queue.get_blocking().is_some()
    });
    // The paused clock does not run on by itself while a blocking task lives.
    while !getter.is_finished() {
        tokio::time::advance(SECOND * 60).await;
        tokio::task::yield_now().await;
    }
    assert!(getter.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_delayed_again_and_again_is_in_time_each_time_with_many_workers() {
    let queue = on_tokio();
    let start = tokio::time::Instant::now();
    let times = Arc::new(Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (queue, times) = (queue.clone(), Arc::clone(&times));
            tokio::spawn(async move {
                while let Some(guard) = queue.get_owned().await {
                    let mut times = times.lock().unwrap();
                    times.push(start.elapsed().as_millis());
                    if times.len() == 12 {
                        queue.shutdown();
                    } else {
                        queue.add_after(*guard.item(), Duration::from_millis(5 << times.len()));
                    }
                }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.add(1);
    for worker in workers {
        worker.await.unwrap();
    }
    let expected: Vec<u128> = (0..12).map(|n| (1..=n).map(|attempt| 5 << attempt).sum()).collect();
    assert_eq!(*times.lock().unwrap(), expected);
}

#[test]
fn all_items_of_a_burst_reach_many_getters() {
    let timer = ManualTimer::new();
    let queue: DelayingQueue<u64> = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    let mut gets: Vec<_> = (0..20).map(|_| (Wakes::new(), Box::pin(queue.get()))).collect();
    for (wakes, get) in &mut gets {
        assert!(wakes.poll(get).is_pending());
    }
    for item in 0..20 {
        queue.add_after(item, SECOND + Duration::from_nanos(20 - item));
    }
    let mut got = Vec::new();
    let mut seen: Vec<usize> = gets.iter().map(|_| 0).collect();
    // An executor in five lines: polls whoever was woken.
    let mut run = |timer: &ManualTimer| {
        timer.advance(SECOND / 10);
        let mut progress = true;
        while progress {
            progress = false;
            for (at, (wakes, get)) in gets.iter_mut().enumerate() {
                if wakes.count() > seen[at] {
                    seen[at] = wakes.count();
                    progress = true;
                    if let Poll::Ready(guard) = wakes.poll(get) {
                        got.push(*guard.unwrap().item());
                    }
                }
            }
        }
    };
    for _ in 0..12 {
        run(&timer);
    }
    got.sort_unstable();
    assert_eq!(got, (0..20).collect::<Vec<_>>());
}

#[test]
fn two_stalled_timekeepers_are_relieved_by_an_add() {
    let timer = ManualTimer::new();
    let queue: DelayingQueue<u64> = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    let (stalled, alive) = (Wakes::new(), Wakes::new());
    let (mut one, mut two, mut three) = (pin!(queue.get()), pin!(queue.get()), pin!(queue.get()));
    assert!(stalled.poll(&mut one).is_pending());
    assert!(stalled.poll(&mut two).is_pending());
    assert!(alive.poll(&mut three).is_pending());
    queue.add_after(1, SECOND);
    timer.advance(SECOND * 2);
    assert_eq!(alive.count(), 0);
    queue.add_after(2, SECOND);
    assert_eq!(alive.count(), 1, "the third is called to the duty");
    assert!(alive.poll(&mut three).is_ready());
}

#[test]
fn a_thread_that_waits_for_a_deadline_is_woken_by_the_clock_and_by_an_add() {
    let timer = ManualTimer::new();
    let queue: DelayingQueue<u64> = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    let asleep = || {
        while timer.sleepers() == 0 {
            std::thread::yield_now();
        }
    };
    queue.add_after(1, SECOND);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| *queue.get_blocking().unwrap().item());
        asleep();
        timer.advance(SECOND);
        assert_eq!(taken.join().unwrap(), 1);
    });
    queue.add_after(3, SECOND * 100);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| *queue.get_blocking().unwrap().item());
        asleep();
        queue.add(2);
        assert_eq!(taken.join().unwrap(), 2);
    });
}

#[test]
fn a_getter_that_begins_to_wait_takes_the_duty_of_two_stalled_timekeepers() {
    let timer = ManualTimer::new();
    let queue: DelayingQueue<u64> = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    let (stalled, alive) = (Wakes::new(), Wakes::new());
    let (mut one, mut two) = (pin!(queue.get()), pin!(queue.get()));
    assert!(stalled.poll(&mut one).is_pending());
    assert!(stalled.poll(&mut two).is_pending());
    queue.add_after(1, SECOND);
    timer.advance(SECOND * 2);
    // Nobody waited but the two, and it finds what they have missed.
    assert!(alive.poll(&mut pin!(queue.get())).is_ready());
    let mut three = pin!(queue.get());
    assert!(alive.poll(&mut three).is_pending());
    queue.add_after(2, SECOND);
    assert!(alive.poll(&mut three).is_pending());
    let before = alive.count();
    timer.advance(SECOND);
    assert!(alive.count() > before, "it keeps the time itself now");
    assert!(alive.poll(&mut three).is_ready());
}

#[test]
fn keep_time_ends_with_a_queue_of_blocking_getters_too() {
    let queue: DelayingQueue<u64> = DelayingQueue::builder().timer(ThreadTimer).build_blocking().unwrap();
    let wakes = Wakes::new();
    let mut keeper = pin!(queue.keep_time());
    assert!(wakes.poll(&mut keeper).is_pending());
    queue.shutdown();
    assert_eq!(wakes.count(), 1);
    assert!(wakes.poll(&mut keeper).is_ready());
}

#[test]
fn keep_time_ends_also_if_the_shutdown_comes_while_it_is_polled() {
    const ROUNDS: usize = 10_000;
    let new = || DelayingQueue::<u64>::builder().timer(ManualTimer::new()).build().unwrap();
    let queues: Vec<_> = (0..ROUNDS).map(|_| new()).collect();
    let arrived = AtomicUsize::new(0);
    // Both threads leave it at nearly the same time, which a sleeping barrier does not give.
    let meet = |round: usize| {
        arrived.fetch_add(1, Ordering::SeqCst);
        let mut tries = 0_u32;
        while arrived.load(Ordering::SeqCst) < 2 * (round + 1) {
            std::hint::spin_loop();
            tries += 1;
            if tries.is_multiple_of(4096) {
                std::thread::yield_now();
            }
        }
    };
    let mut keepers: Vec<_> = queues.iter().map(|queue| (Wakes::new(), queue.keep_time(), false)).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (round, queue) in queues.iter().enumerate() {
                meet(round);
                (0..round % 64).for_each(|_| std::hint::spin_loop());
                queue.shutdown();
            }
        });
        for (round, (wakes, keeper, is_ready)) in keepers.iter_mut().enumerate() {
            meet(round);
            *is_ready = wakes.poll(keeper).is_ready();
        }
    });
    let stuck = keepers.iter().filter(|(wakes, _, is_ready)| !is_ready && wakes.count() == 0).count();
    assert_eq!(stuck, 0, "neither ready nor woken after the shutdown");
}
