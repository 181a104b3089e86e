//! Room: the promises about adds that respect a capacity, as a macro that calls them by name.

/// Makes tests of the bounded adds of one kind of queue of `u64`; `queue` is an expression for a
/// new queue with a capacity of one. Call it in a module of its own.
///
/// ```text
/// wq_contract::room_contract_tests! { queue: WorkQueue::<u64>::builder().capacity(1).build().unwrap() }
/// ```
#[macro_export]
macro_rules! room_contract_tests {
    (queue: $queue:expr $(,)?) => {
        use $crate::wq_core::{Added, RejectedReason};

        #[test]
        fn an_item_that_waits_already_needs_no_room() {
            let queue = $queue;
            assert_eq!(queue.try_add(1).unwrap(), Added::Queued);
            assert_eq!(queue.try_add(1).unwrap(), Added::Merged);
            assert_eq!(queue.remove(&1), Some(1));
            assert_eq!(queue.try_add(2).unwrap(), Added::Queued);
            assert_eq!(queue.counts().queued, 1);
        }

        #[test]
        fn an_item_that_finds_no_room_is_handed_back() {
            let queue = $queue;
            queue.add(1);
            let rejected = queue.try_add(2).unwrap_err();
            assert_eq!(*rejected.item(), 2);
            assert!(matches!(rejected.reason(), RejectedReason::Full { capacity } if capacity.get() == 1));
            let guard = queue.try_get().unwrap();
            assert_eq!(*guard.item(), 1);
            assert_eq!(queue.try_add(2).unwrap(), Added::Queued, "an item in hand takes no room");
            assert!(queue.try_add(1).is_err(), "one that runs again does");
        }

        #[test]
        fn after_shutdown_the_item_is_handed_back() {
            let queue = $queue;
            _ = queue.shutdown();
            let rejected = queue.try_add(1).unwrap_err();
            assert_eq!((rejected.reason(), rejected.into_item()), (RejectedReason::ShutDown, 1));
        }
    };
}
