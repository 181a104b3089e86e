//! Crowd: threads that add, work and survey at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use shuttle::thread;
use wq_contract::play::roll;
use wq_core::{Observer, TryGetError, WorkQueue};
use wq_priority::{Depths, GroupId, OnMerge, Order, Priority};

const ITEMS: u8 = 40;

type Queue = WorkQueue<u8, Priority>;

#[derive(Debug)]
struct Measuring;

impl Observer for Measuring {}

/// Of each item: how often it was changed, what of that a worker has seen, and whether it is held.
struct Books {
    changed: Vec<AtomicUsize>,
    seen: Vec<AtomicUsize>,
    is_held: Vec<AtomicBool>,
    removed: Vec<AtomicBool>,
}

impl Books {
    fn new() -> Self {
        let counts = || (0..ITEMS).map(|_| AtomicUsize::new(0)).collect();
        let marks = || (0..ITEMS).map(|_| AtomicBool::new(false)).collect();
        Self { changed: counts(), seen: counts(), is_held: marks(), removed: marks() }
    }

    fn work(&self, item: u8) {
        let at = usize::from(item);
        assert!(!self.is_held[at].swap(true, SeqCst), "an item is in two hands");
        let changed = self.changed[at].load(SeqCst);
        thread::yield_now();
        self.seen[at].store(changed, SeqCst);
        self.is_held[at].store(false, SeqCst);
    }
}

/// More priorities than there are labels.
fn order() -> Order {
    let order = Order::priority(i32::from(roll(30)) - 10);
    let on_merge = [OnMerge::Raise, OnMerge::Set][usize::from(roll(2))];
    match roll(4) {
        0 => order.on_merge(on_merge),
        group => order.on_merge(on_merge).in_group(GroupId::new(group.into())),
    }
}

fn changes(queue: &Queue, books: &Books) {
    for _ in 0..12 {
        let item = roll(ITEMS);
        match roll(8) {
            0 => _ = queue.add_with(item, order()),
            1 => {
                books.removed[usize::from(item)].store(true, SeqCst);
                queue.remove(&item);
            }
            _ => {
                books.changed[usize::from(item)].fetch_add(1, SeqCst);
                queue.add_with(item, order());
            }
        }
    }
}

fn works(queue: &Queue, books: &Books) {
    loop {
        match queue.try_get() {
            Ok(guard) => {
                books.work(*guard.item());
                if roll(4) == 0 {
                    queue.add_with(*guard.item(), *guard.order());
                }
            }
            Err(TryGetError::Empty) => thread::yield_now(),
            Err(_) => return,
        }
    }
}

fn looks(queue: &Queue, _: &Books) {
    let mut depths = Depths::default();
    for _ in 0..10 {
        depths.begin();
        let counts = queue.reader().survey(&mut depths).unwrap().counts;
        assert_eq!(depths.total(), counts.depth(), "of another moment: {depths:?}");
        let labels: usize = depths.labels().map(|(_, count)| count).sum();
        assert_eq!(labels, counts.depth());
        thread::yield_now();
    }
}

pub(crate) fn orders_of_every_kind() {
    let backlog = Priority::builder().aging_interval(u32::from(roll(4)) + 1).build().unwrap();
    let builder = WorkQueue::builder().backlog(backlog);
    let queue =
        if roll(2) == 0 { builder.build() } else { builder.observer(Measuring).build() }.unwrap();
    let books = Arc::new(Books::new());
    // From the beginning some have no label of their own.
    (0..ITEMS)
        .for_each(|item| _ = queue.add_with(item, Order::priority(i32::from(item % 30) - 10)));
    let start = |run: fn(&Queue, &Books)| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || run(&queue, &books))
    };
    let workers: Vec<_> = (0..3).map(|_| start(works)).collect();
    let others: Vec<_> = [changes, changes, changes, looks].into_iter().map(start).collect();
    others.into_iter().for_each(|thread| thread.join().unwrap());
    queue.shutdown();
    workers.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(queue.counts().is_idle());
    for at in 0..usize::from(ITEMS) {
        let (seen, changed) = (books.seen[at].load(SeqCst), books.changed[at].load(SeqCst));
        assert!(
            seen == changed || books.removed[at].load(SeqCst),
            "an event was lost: {seen} of {changed}"
        );
    }
}
