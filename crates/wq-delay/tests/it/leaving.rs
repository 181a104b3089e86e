//! A getter that has an item leaves its place among the timekeepers: whatever panics in that (the waker of its successor, a sleep of
//! the timer), nobody has the item in hand, so it is queued still.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use wq_delay::{DelayingQueue, ManualTimer, Timer};

const HOUR: Duration = Duration::from_hours(1);

fn panic() {
    resume_unwind(Box::new(())); // Nothing is printed for it.
}

/// Panics when it is woken.
struct Hostile;

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        panic();
    }
}

fn is_ready(future: Pin<&mut impl Future>, waker: &Waker) -> bool {
    future.poll(&mut Context::from_waker(waker)).is_ready()
}

/// The first getter keeps the time until an item comes; the second, which is then woken for the time, has the other waker.
macro_rules! beside_a_hostile_one {
    ($way:literal, |$queue:ident| $get:expr) => {
        let $queue = DelayingQueue::<u32>::builder().timer(ManualTimer::new()).build().unwrap();
        $queue.add_after(9, HOUR);
        let mut first = Box::pin($get);
        assert!(!is_ready(first.as_mut(), Waker::noop()));
        let mut second = pin!($queue.get());
        assert!(!is_ready(second.as_mut(), &Waker::from(Arc::new(Hostile))));
        $queue.add(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| is_ready(first.as_mut(), Waker::noop()))).is_err();
        drop(first);
        assert!(panicked, "{}: nobody was woken", $way);
        assert_eq!(($queue.len(), $queue.in_flight()), (1, 0), "{}: lost", $way);
        assert!(is_ready(second.as_mut(), Waker::noop()), "{}: the other gets it", $way);
    };
}

#[test]
fn a_getter_whose_successor_has_a_waker_that_panics_costs_no_item() {
    beside_a_hostile_one!("get", |queue| queue.get());
    beside_a_hostile_one!("get_owned", |queue| queue.get_owned());
}

type Get = fn(&DelayingQueue<u32>);

#[test]
fn a_thread_whose_successor_has_a_waker_that_panics_costs_no_item() {
    let ways: [(&str, Get); 2] = [
        ("get_blocking", |queue| drop(queue.get_blocking())),
        ("get_timeout", |queue| drop(queue.get_timeout(HOUR * 2))),
    ];
    for (way, get) in ways {
        let timer = ManualTimer::new();
        let queue = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
        queue.add_after(9, HOUR);
        let in_thread = queue.clone();
        let first = thread::spawn(move || get(&in_thread));
        while timer.sleepers() == 0 {
            thread::yield_now();
        }
        let mut second = pin!(queue.get());
        assert!(!is_ready(second.as_mut(), &Waker::from(Arc::new(Hostile))));
        queue.add(1);
        assert!(first.join().is_err(), "{way}: nobody was woken");
        assert_eq!((queue.len(), queue.in_flight()), (1, 0), "{way}: lost");
        assert!(is_ready(second.as_mut(), Waker::noop()), "{way}: the other gets it");
    }
}

/// A timer with sleeps that panic when they are dropped, once.
#[derive(Debug, Clone)]
struct Restless(ManualTimer, Arc<AtomicBool>);

struct Sleep(Pin<Box<dyn Future<Output = ()> + Send>>, Arc<AtomicBool>);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if self.1.swap(false, SeqCst) {
            panic();
        }
    }
}

impl Timer for Restless {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(Sleep(self.0.sleep_until(deadline), Arc::clone(&self.1)))
    }

    fn park_until(&self, deadline: Option<Instant>) {
        self.0.park_until(deadline);
    }
}

#[test]
fn a_sleep_that_panics_when_it_is_no_longer_needed_costs_no_item() {
    let fuse = Arc::new(AtomicBool::new(false));
    let timer = Restless(ManualTimer::new(), Arc::clone(&fuse));
    let queue = DelayingQueue::builder().timer(timer).build().unwrap();
    queue.add_after(9, HOUR);
    let mut get = Box::pin(queue.get());
    assert!(!is_ready(get.as_mut(), Waker::noop()));
    queue.add(1);
    fuse.store(true, SeqCst);
    let panicked = catch_unwind(AssertUnwindSafe(|| is_ready(get.as_mut(), Waker::noop()))).is_err();
    drop(get);
    assert!(panicked && !fuse.load(SeqCst));
    assert_eq!((queue.len(), queue.in_flight()), (1, 0), "lost");
    assert!(is_ready(pin!(queue.get()), Waker::noop()));
}
