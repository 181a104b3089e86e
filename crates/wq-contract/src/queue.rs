//! Queue: the promises about the verbs that every queue has, as a macro that calls them by name.

/// Makes tests for one kind of queue of `u64`. Call it in a module of its own.
///
/// `queue` is an expression for a new queue, `run` a function that runs a future to its end
/// (`fn run<F: Future>(future: F) -> F::Output`) and in which the queue is also made.
///
/// ```text
/// wq_contract::contract_tests! { queue: WorkQueue::<u64>::new(), run: pollster::block_on }
/// ```
#[macro_export]
macro_rules! contract_tests {
    (queue: $queue:expr, run: $run:path $(,)?) => {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        use std::pin::pin;
        use std::task::Poll;
        use $crate::wakes::Wakes;
        use $crate::wq_core::{Added, TryGetError};

        #[test]
        fn first_in_first_out() {
            $run(async {
                let queue = $queue;
                for item in 0_u64..5 {
                    assert_eq!(queue.add(item), Added::Queued);
                }
                for item in 0_u64..5 {
                    assert_eq!(*queue.get().await.unwrap().item(), item);
                }
            });
        }

        #[test]
        fn an_item_added_twice_is_handed_out_once() {
            $run(async {
                let queue = $queue;
                assert_eq!(queue.add(1), Added::Queued);
                assert_eq!(queue.add(2), Added::Queued);
                assert_eq!(queue.add(1), Added::Merged);
                assert_eq!(queue.counts().queued, 2);
                assert_eq!(*queue.get().await.unwrap().item(), 1);
                assert_eq!(*queue.get().await.unwrap().item(), 2);
                assert_eq!(queue.try_get().unwrap_err(), TryGetError::Empty);
                assert_eq!(queue.counts().queued, 0);
            });
        }

        #[test]
        fn an_item_added_while_processing_runs_again_at_the_tail() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                let first = queue.get().await.unwrap();
                assert_eq!(queue.add(1), Added::Deferred);
                assert_eq!(queue.add(1), Added::Merged);
                assert_eq!(queue.add(2), Added::Queued);
                assert_eq!((queue.counts().queued, queue.counts().in_flight), (1, 1));
                first.done();
                assert_eq!((queue.counts().queued, queue.counts().in_flight), (2, 0));
                let second = queue.get().await.unwrap();
                assert_eq!(*second.item(), 2);
                let third = queue.get().await.unwrap();
                assert_eq!(*third.item(), 1);
                drop((second, third));
                assert_eq!((queue.counts().queued, queue.counts().in_flight), (0, 0));
            });
        }

        #[test]
        fn an_item_in_hand_is_not_handed_out_again() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                let guard = queue.get().await.unwrap();
                queue.add(1);
                let wakes = Wakes::new();
                {
                    let mut get = pin!(queue.get());
                    assert!(wakes.poll(&mut get).is_pending());
                    guard.done();
                    assert_eq!(wakes.count(), 1, "the end of the guard wakes the one who waits");
                    let Poll::Ready(Some(again)) = wakes.poll(&mut get) else {
                        panic!("not ready")
                    };
                    assert_eq!(*again.item(), 1);
                }
                assert_eq!(queue.try_get().unwrap_err(), TryGetError::Empty);
            });
        }

        #[test]
        fn an_add_wakes_the_one_who_waits() {
            $run(async {
                let queue = $queue;
                let wakes = Wakes::new();
                let mut get = pin!(queue.get());
                assert!(wakes.poll(&mut get).is_pending());
                queue.add(7);
                assert_eq!(wakes.count(), 1);
                let Poll::Ready(Some(guard)) = wakes.poll(&mut get) else { panic!("not ready") };
                assert_eq!(*guard.item(), 7);
            });
        }

        #[test]
        fn a_get_dropped_while_it_waits_takes_nothing_with_it() {
            $run(async {
                let queue = $queue;
                let wakes = Wakes::new();
                let mut get = Box::pin(queue.get());
                assert!(wakes.poll(&mut get).is_pending());
                queue.add(1);
                drop(get);
                assert_eq!(*queue.try_get().unwrap().item(), 1);
            });
        }

        #[test]
        fn a_woken_get_that_is_dropped_wakes_the_next() {
            $run(async {
                let queue = $queue;
                let (first, second) = (Wakes::new(), Wakes::new());
                let mut dropped = Box::pin(queue.get());
                let mut next = Box::pin(queue.get());
                assert!(first.poll(&mut dropped).is_pending());
                assert!(second.poll(&mut next).is_pending());
                let (first_before, second_before) = (first.count(), second.count());
                queue.add(1);
                // A layer may wake the wrong one of the two first; whoever was woken is dropped.
                if first.count() > first_before {
                    drop(dropped);
                    assert!(second.count() > second_before, "the wake-up was dropped with the get");
                    assert!(second.poll(&mut next).is_ready());
                } else {
                    assert!(second.count() > second_before, "nobody was woken");
                    drop(next);
                    assert!(first.count() > first_before, "the wake-up was dropped with the get");
                    assert!(first.poll(&mut dropped).is_ready());
                }
            });
        }

        #[test]
        fn a_get_that_was_never_polled_holds_nothing() {
            $run(async {
                let queue = $queue;
                let idle = queue.get();
                let wakes = Wakes::new();
                let mut get = pin!(queue.get());
                assert!(wakes.poll(&mut get).is_pending());
                queue.add(1);
                assert_eq!(wakes.count(), 1);
                assert!(wakes.poll(&mut get).is_ready());
                drop(idle);
            });
        }

        #[test]
        fn a_panic_in_the_work_frees_the_item() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                let guard = queue.get().await.unwrap();
                queue.add(1);
                let result = catch_unwind(AssertUnwindSafe(move || {
                    assert_eq!(*guard.item(), 2, "the panic that this test wants");
                }));
                assert!(result.is_err());
                assert_eq!(queue.counts().in_flight, 0);
                let again = queue.get().await.unwrap();
                assert_eq!(*again.item(), 1);
            });
        }

        #[test]
        fn an_owned_guard_outlives_the_borrow() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                let handle = queue.clone();
                let get = handle.get_owned();
                drop(handle);
                let guard = get.await.unwrap();
                assert_eq!((*guard.item(), queue.counts().in_flight), (1, 1));
                guard.done();
                assert_eq!(queue.counts().in_flight, 0);
            });
        }

        #[test]
        fn shutdown_hands_out_the_rest_and_then_none() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                queue.add(2);
                assert!(!queue.is_shutting_down());
                _ = queue.shutdown();
                _ = queue.shutdown();
                assert!(queue.is_shutting_down());
                assert_eq!(queue.add(3), Added::ShutDown);
                assert_eq!(*queue.get().await.unwrap().item(), 1);
                assert_eq!(*queue.get().await.unwrap().item(), 2);
                assert!(queue.get().await.is_none());
                assert_eq!(queue.try_get().unwrap_err(), TryGetError::ShutDown);
            });
        }

        #[test]
        fn shutdown_wakes_all_who_wait() {
            $run(async {
                let queue = $queue;
                let wakes = Wakes::new();
                let mut gets: Vec<_> = (0..5).map(|_| Box::pin(queue.get())).collect();
                for get in &mut gets {
                    assert!(wakes.poll(get).is_pending());
                }
                _ = queue.shutdown();
                for get in &mut gets {
                    assert!(matches!(wakes.poll(get), Poll::Ready(None)));
                }
                assert!(wakes.count() >= 5);
            });
        }

        #[test]
        fn an_item_added_while_processing_runs_again_after_shutdown() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                let guard = queue.get().await.unwrap();
                assert_eq!(queue.add(1), Added::Deferred);
                _ = queue.shutdown();
                assert_eq!(queue.add(1), Added::ShutDown);
                guard.done();
                assert_eq!(*queue.get().await.unwrap().item(), 1);
                assert!(queue.get().await.is_none());
            });
        }

        #[test]
        fn drained_waits_for_queued_and_for_processing_and_for_what_comes_back() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                let wakes = Wakes::new();
                let mut drained = pin!(queue.drained());
                assert!(wakes.poll(&mut drained).is_pending(), "an item is queued");
                let guard = queue.get().await.unwrap();
                assert!(wakes.poll(&mut drained).is_pending(), "an item is processed");
                queue.add(1);
                _ = queue.shutdown();
                guard.done();
                assert!(wakes.poll(&mut drained).is_pending(), "the item came back");
                let guard = queue.get().await.unwrap();
                assert!(wakes.poll(&mut drained).is_pending(), "it is processed again");
                let before = wakes.count();
                guard.done();
                assert!(wakes.count() > before, "the drainer was not woken");
                assert!(wakes.poll(&mut drained).is_ready());
            });
        }

        #[test]
        fn every_drainer_is_woken() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                let guard = queue.get().await.unwrap();
                _ = queue.shutdown();
                let (first, second) = (Wakes::new(), Wakes::new());
                let (mut one, mut other) = (pin!(queue.drained()), pin!(queue.drained()));
                assert!(first.poll(&mut one).is_pending());
                assert!(second.poll(&mut other).is_pending());
                guard.done();
                assert!(first.count() >= 1 && second.count() >= 1);
                assert!(first.poll(&mut one).is_ready());
                assert!(second.poll(&mut other).is_ready());
            });
        }

        #[test]
        fn an_idle_queue_is_drained() {
            $run(async {
                let queue = $queue;
                queue.drained().await;
                _ = queue.shutdown();
                queue.drained().await;
            });
        }

        #[test]
        fn a_paused_queue_takes_items_and_hands_none_out() {
            $run(async {
                let queue = $queue;
                queue.pause();
                assert_eq!(queue.add(1), Added::Queued);
                assert_eq!(queue.try_get().unwrap_err(), TryGetError::Empty);
                let wakes = Wakes::new();
                let mut get = pin!(queue.get());
                assert!(wakes.poll(&mut get).is_pending());
                let before = wakes.count();
                queue.resume();
                assert!(wakes.count() > before);
                assert!(wakes.poll(&mut get).is_ready());
            });
        }

        #[test]
        fn shutdown_ends_a_pause() {
            $run(async {
                let queue = $queue;
                queue.pause();
                queue.add(1);
                _ = queue.shutdown();
                assert!(queue.get().await.is_some());
                queue.pause();
                assert!(queue.get().await.is_none());
            });
        }

        #[test]
        fn shutdown_now_hands_the_work_back() {
            $run(async {
                let queue = $queue;
                for item in 1..=3 {
                    queue.add(item);
                }
                let guard = queue.get().await.unwrap();
                assert_eq!(*guard.item(), 1);
                queue.add(1);
                let left: Vec<u64> = queue.shutdown_now().into_iter().collect();
                assert_eq!(left, [2, 3, 1]);
                assert!(queue.get().await.is_none());
                guard.done();
                assert_eq!((queue.counts().queued, queue.counts().in_flight), (0, 0));
                queue.drained().await;
            });
        }

        #[test]
        fn a_queued_item_can_be_removed() {
            $run(async {
                let queue = $queue;
                for item in 1..=3 {
                    queue.add(item);
                }
                assert!(queue.phase(&2).is_some());
                assert_eq!(queue.remove(&2), Some(2));
                assert!(queue.phase(&2).is_none());
                assert_eq!(queue.remove(&2), None);
                let first = queue.get().await.unwrap();
                assert_eq!(queue.remove(first.item()), None, "it is in hand");
                assert!(queue.phase(first.item()).is_some());
                assert_eq!(*queue.get().await.unwrap().item(), 3);
            });
        }

        #[test]
        fn a_forgotten_guard_can_be_abandoned() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                let forgotten = queue.get().await.unwrap();
                assert!(queue.abandon(&1));
                assert!(!queue.abandon(&1));
                assert_eq!(queue.add(1), Added::Queued);
                let holder = queue.get().await.unwrap();
                queue.add(1);
                forgotten.done();
                assert_eq!(
                    (queue.counts().queued, queue.counts().in_flight),
                    (0, 1),
                    "the new holder still has it"
                );
                holder.done();
                assert_eq!((queue.counts().queued, queue.counts().in_flight), (1, 0));
            });
        }

        #[test]
        fn done_and_get_ends_one_and_takes_the_next() {
            $run(async {
                let queue = $queue;
                queue.add(1);
                queue.add(2);
                let first = queue.get().await.unwrap();
                queue.add(1);
                let second = first.done_and_get().unwrap();
                assert_eq!(
                    (*second.item(), queue.counts().queued, queue.counts().in_flight),
                    (2, 1, 1)
                );
                let third = second.done_and_get().unwrap();
                assert_eq!(
                    (*third.item(), queue.counts().queued, queue.counts().in_flight),
                    (1, 0, 1)
                );
                assert_eq!(third.done_and_get().unwrap_err(), TryGetError::Empty);
                assert_eq!(queue.counts().in_flight, 0);
            });
        }

        #[test]
        fn gauges_count_what_counts_count_and_a_reader_keeps_nothing_alive() {
            $run(async {
                let queue = $queue;
                let reader = queue.reader();
                queue.add(1);
                queue.add(2);
                let guard = queue.get_owned().await.unwrap();
                queue.add(1);
                assert_eq!(queue.reader().gauges().unwrap().counts, queue.counts());
                assert_eq!(reader.gauges().map(|gauges| gauges.counts), Some(queue.counts()));
                drop(queue);
                assert!(reader.gauges().is_some(), "an owned guard keeps it");
                drop(guard);
                assert!(reader.gauges().is_none());
            });
        }
    };
}

/// Makes tests of `survey` for one kind of queue of `u64`, with a backlog that tells by kind what
/// is there. Call it in a module of its own. `depth` counts what was found.
///
/// ```text
/// wq_contract::survey_contract_tests! {
///     queue: WorkQueue::<u64>::builder().backlog(Priority::new()).build().unwrap(),
///     depth: |found: &Depths| found.total(),
/// }
/// ```
#[macro_export]
macro_rules! survey_contract_tests {
    (queue: $queue:expr, depth: $depth:expr $(,)?) => {
        #[test]
        fn a_survey_finds_what_still_has_to_be_handed_out() {
            let (queue, depth) = ($queue, $depth);
            let reader = queue.reader();
            let survey = || {
                let mut found = Default::default();
                let gauges = reader.survey(&mut found).unwrap();
                assert_eq!(
                    (gauges.counts, depth(&found)),
                    (queue.counts(), queue.counts().depth())
                );
                depth(&found)
            };
            assert_eq!(survey(), 0);
            for item in 0_u64..5 {
                queue.add(item);
            }
            assert_eq!(survey(), 5);
            let guards = [queue.try_get().unwrap(), queue.try_get().unwrap()];
            assert_eq!(survey(), 3, "two are in hand");
            queue.add(*guards[1].item());
            assert_eq!(survey(), 4, "one of them runs again");
            let mut found = Default::default();
            reader.survey(&mut found).unwrap();
            reader.survey(&mut found).unwrap();
            assert_eq!(depth(&found), 8, "added to what was found before");
            drop(guards);
            drop(queue);
            assert!(reader.survey(&mut found).is_none(), "it keeps nothing alive");
        }
    };
}
