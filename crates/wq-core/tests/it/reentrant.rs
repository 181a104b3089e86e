//! Reentrant: wakers, observers and `Drop` of items that call every verb of the queue. Under the
//! lock each call would deadlock.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use wq_contract::wakes::Wakes;
use wq_core::{Added, Observer, WorkQueue};

/// Calls every verb of the queue with an item of its own, and leaves the queue as it was.
fn call_everything<T: Hash + Eq + Clone>(queue: &WorkQueue<T>, own: impl Fn() -> T) {
    let wakes = Wakes::new();
    let (mut get, mut drained) = (queue.get(), queue.drained());
    let _ = wakes.poll(&mut drained);
    queue.add(own());
    let _ = queue.try_add(own());
    queue.add_all([own(), own()]);
    let mut adds = queue.defer_wakes();
    adds.add(own(), ());
    drop(adds);
    drop(queue.remove(&own()));
    assert!(queue.phase(&own()).is_none() && !queue.abandon(&own()));
    // Each item taken here is added again, at the tail.
    let _ = wakes.poll(&mut get).map(|guard| guard.map(|guard| queue.add(guard.item().clone())));
    let _ = queue.try_get().map(|guard| queue.add(guard.item().clone()));
    let _ = queue.get_timeout(Duration::ZERO).map(|guard| queue.add(guard.item().clone()));
    drop((
        queue.snapshot(),
        queue.reader().gauges().unwrap(),
        queue.counts(),
        queue.drained().wait_timeout(Duration::ZERO),
    ));
    if !queue.snapshot().is_paused {
        queue.pause();
        queue.resume();
    }
}

/// Calls the queue. Verbs that it calls may call it again; those calls do nothing.
struct CallsBack {
    queue: OnceLock<WorkQueue<u32>>,
    is_at_it: AtomicBool,
    calls: AtomicUsize,
}

impl CallsBack {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: OnceLock::new(),
            is_at_it: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
        })
    }

    fn call(&self) {
        if let Some(queue) = self.queue.get()
            && !self.is_at_it.swap(true, SeqCst)
        {
            call_everything(queue, || 77);
            self.calls.fetch_add(1, SeqCst);
            self.is_at_it.store(false, SeqCst);
        }
    }

    fn calls(&self) -> usize {
        self.calls.swap(0, SeqCst)
    }
}

impl Wake for CallsBack {
    fn wake(self: Arc<Self>) {
        self.call();
    }
}

impl Observer for CallsBack {
    fn added(&self, _: Added) {
        self.call();
    }

    fn refused(&self) {
        self.call();
    }

    fn got(&self, _: Duration) {
        self.call();
    }

    fn done(&self, _: Duration) {
        self.call();
    }

    fn requeued(&self) {
        self.call();
    }

    fn removed(&self) {
        self.call();
    }
}

/// Takes all remaining items, and returns them sorted.
fn rest(queue: &WorkQueue<u32>) -> Vec<u32> {
    let mut items: Vec<u32> =
        std::iter::from_fn(|| queue.try_get().ok().map(|guard| *guard.item())).collect();
    items.sort_unstable();
    assert!(queue.counts().is_idle());
    items
}

#[test]
fn a_waker_may_call_the_queue() {
    let back = CallsBack::new();
    let waker = Waker::from(Arc::clone(&back));
    let queue = WorkQueue::<u32>::builder().capacity(2).build().unwrap();
    back.queue.set(queue.clone()).unwrap();
    let poll = |future: &mut (dyn Future<Output = ()> + Unpin)| {
        assert!(std::pin::Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending());
    };
    for act in [
        (|queue| _ = queue.add(1)) as fn(&WorkQueue<u32>),
        |queue| _ = queue.try_add(1),
        |queue| _ = queue.add_all([1, 2]),
        |queue| {
            let mut adds = queue.defer_wakes();
            adds.add(1, ());
        },
        WorkQueue::shutdown,
    ] {
        let mut get = Box::pin(async { drop(queue.get().await) });
        poll(&mut get);
        act(&queue);
        assert_eq!(back.calls(), 1, "the getter was woken");
        drop(get);
        rest(&queue);
    }
}

#[test]
fn the_waker_of_one_that_waits_for_the_end_may_call_the_queue() {
    for act in [
        (|queue| drop(queue.try_get())) as fn(&WorkQueue<u32>),
        |queue| _ = queue.remove(&1),
        |queue| drop(queue.shutdown_now()),
        |queue| drop(queue.get_blocking()),
    ] {
        let back = CallsBack::new();
        let waker = Waker::from(Arc::clone(&back));
        let mut context = Context::from_waker(&waker);
        let queue = WorkQueue::<u32>::new();
        back.queue.set(queue.clone()).unwrap();
        queue.add(1);
        let mut drained = queue.drained();
        assert!(std::pin::Pin::new(&mut drained).poll(&mut context).is_pending());
        act(&queue);
        assert!(back.calls() >= 1, "somebody was woken");
    }
}

#[test]
fn an_observer_may_call_the_queue() {
    let back = CallsBack::new();
    let queue =
        WorkQueue::<u32>::builder().observer(Arc::clone(&back)).capacity(8).build().unwrap();
    back.queue.set(queue.clone()).unwrap();
    type Act = fn(&WorkQueue<u32>);
    let verbs: [(&str, Act); 9] = [
        ("added", |queue| _ = queue.add(1)),
        ("merged", |queue| _ = queue.add(1)),
        ("added as a batch", |queue| _ = queue.add_all([2, 3, 4])),
        ("refused", |queue| {
            queue.add_all(10..20);
            queue.try_add(21).unwrap_err();
            (10..20).for_each(|item| _ = queue.remove(&item));
        }),
        ("got and done", |queue| {
            let guard = queue.try_get().unwrap();
            queue.add(*guard.item());
            guard.done();
        }),
        ("done and got", |queue| {
            let guard = queue.try_get().unwrap();
            queue.add(*guard.item());
            drop(guard.done_and_get());
        }),
        ("removed", |queue| {
            queue.add(30);
            queue.remove(&30);
        }),
        ("got by a task", |queue| drop(pollster::block_on(queue.get()))),
        ("removed at the end", |queue| drop(queue.shutdown_now())),
    ];
    for (event, act) in verbs {
        act(&queue);
        assert!(back.calls() >= 1, "{event}: it was told");
    }
    rest(&queue);
}

/// An item whose drop calls the queue.
#[derive(Clone)]
struct Calling {
    key: u8,
    calls: Arc<AtomicUsize>,
    queue: WorkQueue<Self>,
}

thread_local! {
    /// Set during `drop`. Items that are dropped meanwhile make no calls.
    static IS_IN_DROP: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl PartialEq for Calling {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Calling {}

impl Hash for Calling {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        if !IS_IN_DROP.replace(true) {
            let own =
                || Self { key: 77, calls: Arc::clone(&self.calls), queue: self.queue.clone() };
            call_everything(&self.queue, own);
            self.calls.fetch_add(1, SeqCst);
            IS_IN_DROP.set(false);
        }
    }
}

#[test]
fn the_drop_of_an_item_may_call_the_queue() {
    let queue = WorkQueue::<Calling>::builder().capacity(4).build().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let item = |key| Calling { key, calls: Arc::clone(&calls), queue: queue.clone() };
    let verbs: [(&str, &dyn Fn()); 9] = [
        ("an add that merges", &|| {
            queue.add(item(1));
            queue.add(item(1));
        }),
        ("a batch that merges", &|| _ = queue.add_all([item(1), item(2), item(1)])),
        ("an add that is refused", &|| {
            queue.add_all([item(3), item(4)]);
            drop(queue.try_add(item(5)));
        }),
        ("remove", &|| drop(queue.remove(&item(4)))),
        ("done", &|| queue.try_get().unwrap().done()),
        ("done_and_get", &|| drop(queue.try_get().unwrap().done_and_get())),
        ("abandon", &|| {
            queue.add(item(6));
            let guard = queue.get_blocking().unwrap();
            let held = item(guard.item().key);
            std::mem::forget(guard);
            assert!(queue.abandon(&held));
        }),
        ("snapshot", &|| {
            queue.add(item(7));
            drop(queue.snapshot());
        }),
        ("shutdown_now", &|| drop(queue.shutdown_now())),
    ];
    for (verb, act) in verbs {
        act();
        assert!(calls.swap(0, SeqCst) >= 1, "{verb}: something was dropped");
    }
    assert!(queue.counts().is_idle());
}
