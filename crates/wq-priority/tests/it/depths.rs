//! Depths: what a survey finds under which label.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use wq_core::{Observer, WorkQueue};
use wq_priority::{Depths, GroupId, Order, Priority};

fn of_priorities(priorities: impl IntoIterator<Item = i32>) -> WorkQueue<i32, Priority> {
    let queue = WorkQueue::builder().backlog(Priority::new()).build().unwrap();
    for priority in priorities {
        queue.add_with(priority, Order::priority(priority));
    }
    queue
}

fn survey<T>(queue: &WorkQueue<T, Priority>) -> Depths {
    let mut depths = Depths::default();
    queue.reader().survey(&mut depths).unwrap();
    depths
}

/// The labels in their order, as numbers, and what the others have.
fn found(depths: &Depths) -> (Vec<i32>, Option<usize>) {
    let own = depths.labels().filter_map(|(label, _)| label.parse().ok()).collect();
    (own, depths.others())
}

#[test]
fn nothing_is_under_no_label() {
    let depths = survey(&of_priorities([]));
    assert_eq!((found(&depths), depths.total()), ((vec![], None), 0));
}

#[test]
fn twenty_five_have_labels_the_highest_first_and_the_others_one() {
    let depths = survey(&of_priorities(0..25));
    assert_eq!(found(&depths), ((0..25).rev().collect(), None));
    let depths = survey(&of_priorities(-5..25));
    assert_eq!(found(&depths), ((0..25).rev().collect(), Some(5)));
    assert_eq!(depths.labels().last(), Some(("exceeded_cardinality_limit".to_owned(), 5)));
    assert_eq!((depths.of(24), depths.of(-1), depths.total()), (Some(1), None, 30));
}

#[test]
fn labels_stay_when_nothing_is_under_them_and_no_other_takes_their_place() {
    let queue = of_priorities(0..30);
    let mut depths = survey(&queue);
    let own = found(&depths).0;
    (0..30).for_each(|_| queue.try_get().unwrap().done());
    depths.begin();
    queue.reader().survey(&mut depths);
    assert_eq!((found(&depths), depths.total()), ((own.clone(), Some(0)), 0));
    queue.add_with(100, Order::priority(100));
    queue.add_with(29, Order::priority(29));
    depths.begin();
    queue.reader().survey(&mut depths);
    assert_eq!((found(&depths), depths.of(29), depths.total()), ((own, Some(1)), Some(1), 2));
}

#[test]
fn an_item_to_run_again_is_under_the_priority_that_it_will_have() {
    #[derive(Debug)]
    struct Measuring;
    impl Observer for Measuring {}

    let plain = of_priorities(0..30);
    let measured =
        WorkQueue::builder().observer(Measuring).backlog(Priority::new()).build().unwrap();
    measured.add_all_with((0..30).map(|priority| (priority, Order::priority(priority))));
    for queue in [plain, measured] {
        let high = queue.try_get().unwrap();
        let mut depths = survey(&queue);
        assert_eq!((depths.of(29), depths.total()), (None, 29), "in hand, and nobody waits for it");
        queue.add_with(*high.item(), Order::priority(3));
        queue.add_with(*high.item(), Order::priority(7).in_group(GroupId::new(1)));
        depths.begin();
        let gauges = queue.reader().survey(&mut depths).unwrap();
        assert_eq!((depths.of(7), depths.total()), (Some(2), gauges.counts.depth()));
        drop(high);
    }
}

#[test]
fn queues_are_surveyed_together() {
    let (one, other) = (of_priorities(0..20), of_priorities(10..40));
    let mut depths = survey(&one);
    other.reader().survey(&mut depths);
    assert_eq!((depths.total(), depths.of(15), depths.others()), (50, Some(2), Some(15)));
    assert_eq!((depths.of(39), depths.of(20)), (Some(1), None), "five labels were left");
}

/// Stops the workers when the test fails, too.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// Added, raised, taken and added again while held, under 40 priorities: each survey counts exactly
/// what the queue counts.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn under_load_the_labels_of_each_survey_sum_up_to_the_depth_of_that_moment() {
    const SURVEYS: usize = 5000;
    let queue = of_priorities(0..40);
    let (goes_on, all_work) = (AtomicBool::new(true), Barrier::new(4));
    thread::scope(|scope| {
        let _ends = Ends(&goes_on);
        for worker in 0..3 {
            let (queue, goes_on, all_work) = (&queue, &goes_on, &all_work);
            scope.spawn(move || {
                all_work.wait();
                for n in (0_usize..).take_while(|_| goes_on.load(SeqCst)) {
                    let item = i32::try_from((n * 7 + worker) % 200).unwrap();
                    queue.add_with(item, Order::priority(item % 40 + i32::from(n % 5 == 0)));
                    if let Ok(guard) = queue.try_get()
                        && n % 3 == 0
                    {
                        queue.add_with(*guard.item(), *guard.order());
                    }
                }
            });
        }
        all_work.wait();
        let (mut depths, reader) = (Depths::default(), queue.reader());
        for _ in 0..SURVEYS {
            depths.begin();
            let counts = reader.survey(&mut depths).unwrap().counts;
            assert_eq!(depths.total(), counts.depth());
            assert_eq!(depths.labels().map(|(_, count)| count).sum::<usize>(), counts.depth());
        }
    });
    assert_eq!(survey(&queue).total(), queue.counts().queued);
}
