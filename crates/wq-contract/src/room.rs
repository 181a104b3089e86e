//! Room: the promises about adds that wait for it, as a macro that calls them by name.

/// Makes tests of the adds that wait for room in one kind of queue of `u64`; `queue` is an expression for a new queue with a
/// capacity of one. Call it in a module of its own.
///
/// ```text
/// wq_contract::room_contract_tests! { queue: WorkQueue::<u64>::builder().capacity(1).build().unwrap() }
/// ```
#[macro_export]
macro_rules! room_contract_tests {
    (queue: $queue:expr $(,)?) => {
        use std::pin::Pin;
        use std::sync::mpsc;
        use std::task::Context;
        use std::thread;
        use std::time::Duration;
        use $crate::wakes::{self, Wakes};
        use $crate::wq_core::{Added, RejectedReason};

        const LONG: Duration = Duration::from_secs(30);

        #[test]
        fn where_there_is_room_nobody_waits() {
            let queue = $queue;
            assert_eq!(queue.add_wait_blocking(1).unwrap(), Added::Queued);
            assert_eq!(queue.add_wait_blocking_with(1, Default::default()).unwrap(), Added::Merged);
            assert_eq!(queue.add_wait_timeout(1, Duration::ZERO).unwrap(), Added::Merged);
            assert_eq!(queue.remove(&1), Some(1));
            assert_eq!(queue.add_wait_timeout(2, Duration::ZERO).unwrap(), Added::Queued);
            assert_eq!(queue.add_wait_timeout_with(2, LONG, Default::default()).unwrap(), Added::Merged);
            assert_eq!(queue.len(), 1);
        }

        #[test]
        fn an_item_that_finds_no_room_in_time_is_handed_back() {
            let queue = $queue;
            queue.add(1);
            for rejected in [
                queue.add_wait_timeout(2, Duration::ZERO).unwrap_err(),
                queue.add_wait_timeout_with(2, Duration::ZERO, Default::default()).unwrap_err(),
            ] {
                assert_eq!((*rejected.item(), rejected.reason()), (2, RejectedReason::TimedOut));
            }
            assert_eq!(queue.len(), 1);
            assert_eq!(*queue.try_get().unwrap().item(), 1);
            assert!(queue.try_get().is_err());
        }

        #[test]
        fn an_add_that_waits_can_be_taken_back() {
            let queue = $queue;
            queue.add(1);
            let (first, second) = (Wakes::new(), Wakes::new());
            let (mut given_up, mut next) = (queue.add_wait(2), queue.add_wait(3));
            assert!(first.poll(&mut given_up).is_pending());
            assert!(second.poll(&mut next).is_pending());
            assert_eq!(queue.remove(&1), Some(1));
            assert_eq!((first.count(), second.count()), (1, 0));
            assert_eq!(given_up.into_item(), Some(2));
            assert_eq!(second.count(), 1, "the wake-up went with the one who gave up");
            assert!(second.poll(&mut next).is_ready());
            assert_eq!(next.into_item(), None, "it is in the queue");
            assert_eq!(queue.add_wait(4).into_item(), Some(4), "never polled");
            assert_eq!(*queue.try_get().unwrap().item(), 3);
        }

        #[test]
        fn a_thread_that_waits_is_let_in_by_the_get_that_makes_room() {
            let queue = $queue;
            queue.add(1);
            thread::scope(|scope| {
                let adder = scope.spawn(|| queue.add_wait_blocking(2).unwrap());
                let other = scope.spawn(|| queue.add_wait_timeout(3, LONG).unwrap());
                let mut items = [(); 3].map(|()| *queue.get_blocking().unwrap().item());
                items.sort_unstable();
                assert_eq!(items, [1, 2, 3]);
                assert_eq!((adder.join().unwrap(), other.join().unwrap()), (Added::Queued, Added::Queued));
            });
        }

        #[test]
        fn shutdown_hands_the_item_of_a_thread_that_waits_back() {
            let queue = $queue;
            queue.add(1);
            thread::scope(|scope| {
                let adder = scope.spawn(|| queue.add_wait_blocking(2).unwrap_err());
                let other = scope.spawn(|| queue.add_wait_timeout(3, LONG).unwrap_err());
                _ = queue.shutdown();
                for (rejected, item) in [(adder.join().unwrap(), 2), (other.join().unwrap(), 3)] {
                    assert_eq!((*rejected.item(), rejected.reason()), (item, RejectedReason::ShutDown));
                }
            });
        }

        /// The thread that waits for an item calls the waker of another who waits for room.
        #[test]
        fn a_waker_that_uses_up_the_unpark_of_the_thread_that_calls_it_does_not_keep_it_asleep() {
            let queue = $queue;
            queue.add(1);
            let mut held = queue.add_wait(2);
            assert!(Wakes::new().poll(&mut held).is_pending());
            let adds_and_parks = wakes::calling({
                let (queue, other) = (queue.clone(), $queue);
                move || {
                    queue.add(7);
                    thread::park();
                    assert!(other.get_timeout(Duration::ZERO).is_err());
                }
            });
            let mut hostile = queue.add_wait(3);
            assert!(
                Future::poll(Pin::new(&mut hostile), &mut Context::from_waker(&adds_and_parks)).is_pending()
            );
            queue.try_get().unwrap().done(); // Wakes the one that is held.
            let (tell, told) = mpsc::channel();
            let worker = thread::spawn({
                let queue = queue.clone();
                move || tell.send(*queue.get_blocking().unwrap().item())
            });
            assert_eq!(told.recv_timeout(LONG), Ok(7));
            worker.join().unwrap().unwrap();
        }
    };
}
