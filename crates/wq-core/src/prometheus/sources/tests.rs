//! `Sources`: what is forgotten when, and how many sources are looked at for it.

use super::Sources;
use std::any::Any;
use std::sync::{Arc, Weak};

type Queue = Arc<dyn Any + Send + Sync>;

fn put(sources: &Sources<u32>, value: u32) -> Queue {
    let queue: Queue = Arc::new(value);
    put_again(sources, &queue, value);
    queue
}

fn put_again(sources: &Sources<u32>, queue: &Queue, value: u32) {
    let (of, read) = (Arc::downgrade(queue), Arc::downgrade(queue));
    sources.put("claims", Some(of), move || read.upgrade().map(|_| value));
}

fn readings(sources: &Sources<u32>) -> Vec<u32> {
    sources.read().into_iter().map(|(_, value)| value).collect()
}

fn looked_at(sources: &Sources<u32>) -> usize {
    sources.lock().looked_at
}

/// As many look-ups as there were queues, times a constant.
#[test]
fn queues_that_come_and_go_between_scrapes_cost_a_constant_each() {
    for queues in [1_000_usize, 10_000] {
        let sources = Sources::default();
        let lasting: Vec<Queue> = (0..100).map(|_| put(&sources, 1)).collect();
        (0..queues).for_each(|_| drop(put(&sources, 2)));
        assert!(looked_at(&sources) <= 4 * (queues + lasting.len()), "{} for {queues}", looked_at(&sources));
        assert!(sources.len() <= 2 * lasting.len() + 2, "{} are kept", sources.len());
        assert_eq!(readings(&sources).len(), lasting.len());
        assert_eq!(sources.len(), lasting.len());
    }
}

#[test]
fn a_scrape_forgets_many_that_are_gone_at_a_constant_each() {
    let sources = Sources::default();
    let queues: Vec<Queue> = (0..10_000).map(|value| put(&sources, value)).collect();
    drop(queues);
    let before = looked_at(&sources);
    assert_eq!((readings(&sources).len(), sources.len()), (0, 0));
    assert!(looked_at(&sources) - before <= 20_000, "{}", looked_at(&sources) - before);
}

#[test]
fn a_queue_has_one_source_the_last_that_came() {
    let sources = Sources::default();
    let (queue, _other) = (put(&sources, 1), put(&sources, 2));
    put_again(&sources, &queue, 3);
    assert_eq!(readings(&sources), [2, 3]);
    sources.put("claims", None::<Weak<dyn Any + Send + Sync>>, || Some(4));
    assert_eq!(readings(&sources), [2, 3, 4]);
}

/// A source whose queue is not known is kept until it says itself that it is gone.
#[test]
fn what_is_not_known_to_be_gone_is_kept() {
    let sources = Sources::default();
    for value in 0..1_000 {
        sources.put("claims", None, move || (value % 2 == 0).then_some(value));
    }
    assert_eq!((sources.len(), readings(&sources).len(), sources.len()), (1_000, 500, 500));
}
