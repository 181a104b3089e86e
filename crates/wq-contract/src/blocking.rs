//! Blocking: the promises about blocking getters, as a macro that calls them by name.

/// Makes tests of the blocking getters of one kind of queue of `u64`; `queue` is an expression for
/// a new queue. Call it in a module of its own.
///
/// ```text
/// wq_contract::blocking_contract_tests! { queue: WorkQueue::<u64>::new() }
/// ```
#[macro_export]
macro_rules! blocking_contract_tests {
    (queue: $queue:expr $(,)?) => {
        use std::sync::atomic::{AtomicU64, Ordering};
        use std::thread;
        use std::time::Duration;
        use $crate::wq_core::GetTimeoutError;

        const LONG: Duration = Duration::from_secs(30);

        #[test]
        fn what_is_there_comes_at_once() {
            let queue = $queue;
            queue.add(1);
            queue.add(2);
            assert_eq!(*queue.get_blocking().unwrap().item(), 1);
            assert_eq!(*queue.get_timeout(Duration::ZERO).unwrap().item(), 2);
            assert_eq!(queue.get_timeout(Duration::ZERO).unwrap_err(), GetTimeoutError::TimedOut);
            _ = queue.shutdown();
            assert_eq!(queue.get_timeout(LONG).unwrap_err(), GetTimeoutError::ShutDown);
            assert!(queue.get_blocking().is_none());
        }

        #[test]
        fn threads_that_wait_are_handed_what_comes() {
            let queue = $queue;
            thread::scope(|scope| {
                let blocked = scope.spawn(|| *queue.get_blocking().unwrap().item());
                let timed = scope.spawn(|| *queue.get_timeout(LONG).unwrap().item());
                queue.add(1);
                queue.add(2);
                let mut items = [blocked.join().unwrap(), timed.join().unwrap()];
                items.sort_unstable();
                assert_eq!(items, [1, 2]);
                let ended = scope.spawn(|| queue.get_timeout(LONG).map(|guard| *guard.item()));
                _ = queue.shutdown();
                assert_eq!(ended.join().unwrap().unwrap_err(), GetTimeoutError::ShutDown);
            });
        }

        #[test]
        fn a_time_out_longer_than_any_clock_waits() {
            let queue = $queue;
            thread::scope(|scope| {
                let waiting = scope.spawn(|| *queue.get_timeout(Duration::MAX).unwrap().item());
                queue.add(5);
                assert_eq!(waiting.join().unwrap(), 5);
            });
        }

        #[test]
        fn shutdown_ends_all_workers_and_the_drain() {
            let queue = $queue;
            let sum = AtomicU64::new(0);
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        while let Some(item) = queue.get_blocking() {
                            sum.fetch_add(*item.item(), Ordering::SeqCst);
                        }
                    });
                }
                const ITEMS: u64 = if cfg!(miri) { 20 } else { 1000 };
                for item in 1..=ITEMS {
                    queue.add(item);
                }
                _ = queue.shutdown();
                let drained = queue.drained().wait_timeout(LONG);
                drop(queue.shutdown_now()); // Ends the workers, also if that failed.
                drained.unwrap();
                assert_eq!(sum.load(Ordering::SeqCst), ITEMS * (ITEMS + 1) / 2);
            });
        }

        #[test]
        fn a_drain_on_a_thread_ends_when_the_last_item_does() {
            let queue = $queue;
            queue.add(1);
            let guard = queue.get_blocking().unwrap();
            thread::scope(|scope| {
                let drain = scope.spawn(|| queue.drained().wait_timeout(LONG).unwrap());
                guard.done();
                drain.join().unwrap();
            });
            assert!(queue.counts().is_idle());
        }

        #[test]
        fn a_drain_that_takes_too_long_says_what_is_left() {
            let queue = $queue;
            queue.add(1);
            queue.add(2);
            let guard = queue.get_blocking().unwrap();
            let left = queue.drained().wait_timeout(Duration::ZERO).unwrap_err();
            assert_eq!((left.queued, left.in_flight.as_slice()), (1, &[*guard.item()][..]));
        }
    };
}
