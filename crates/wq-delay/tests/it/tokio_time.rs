//! Timekeeping, on tokio's paused clock.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wq_contract::wakes::Wakes;
use wq_delay::{DelayingQueue, TokioTimer};

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
        others.truncate(1); // Drops two more getters, one of them the reserve.
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
    // The held timekeeper was replaced: from now on a getter wakes at the deadline itself.
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
    // `Debug` reads the queue's counts without moving due items.
    let shown = format!("{queue:?}");
    assert!(shown.contains("queued: 1") && shown.contains("delayed: 0"), "{shown}");
    _ = queue.shutdown();
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
    // The paused clock does not advance by itself while a blocking task lives.
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
                        _ = queue.shutdown();
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
