//! One line: threads and tasks that wait stand in it together, in whatever form they wait, and time-outs are the timer's.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use wq_contract::wakes::Wakes;
use wq_delay::{Added, DelayingQueue, GetTimeoutError, ManualTimer, Observer, RejectedReason, Timer};

const SECOND: Duration = Duration::from_secs(1);

/// A clock by hand that says when a thread is about to be parked: its place in line it has by then.
#[derive(Debug, Clone)]
struct Saying {
    clock: ManualTimer,
    parks: Arc<Mutex<Sender<()>>>,
}

impl Saying {
    fn new() -> (Self, Receiver<()>) {
        let (sender, parked) = channel();
        (Self { clock: ManualTimer::new(), parks: Arc::new(Mutex::new(sender)) }, parked)
    }
}

impl Timer for Saying {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.clock.sleep_until(deadline)
    }

    fn park_until(&self, deadline: Option<Instant>) {
        let _ = self.parks.lock().unwrap().send(());
        self.clock.park_until(deadline);
    }
}

#[test]
fn threads_and_tasks_that_wait_for_room_are_let_in_as_they_came() {
    let (timer, parked) = Saying::new();
    let queue = DelayingQueue::builder().timer(timer).capacity(1).build().unwrap();
    queue.add(1);
    let (first, last) = (Wakes::new(), Wakes::new());
    let (mut before, mut after) = (queue.add_wait(2), queue.add_wait(4));
    assert!(first.poll(&mut before).is_pending());
    thread::scope(|scope| {
        let adder = scope.spawn(|| queue.add_wait_blocking(3).unwrap());
        parked.recv().unwrap();
        assert!(last.poll(&mut after).is_pending());
        queue.try_get().unwrap().done();
        assert_eq!((first.count(), last.count()), (1, 0));
        assert!(first.poll(&mut before).is_ready());
        assert_eq!(*queue.try_get().unwrap().item(), 2);
        assert_eq!(adder.join().unwrap(), Added::Queued);
        assert_eq!(last.count(), 0);
        assert_eq!(*queue.try_get().unwrap().item(), 3);
        assert_eq!(last.count(), 1);
        assert!(last.poll(&mut after).is_ready());
    });
}

#[test]
fn getters_on_threads_stand_in_line_with_tasks() {
    let (timer, parked) = Saying::new();
    let queue = DelayingQueue::builder().timer(timer).build().unwrap();
    let last = Wakes::new();
    thread::scope(|scope| {
        let first = scope.spawn(|| *queue.get_blocking().unwrap().item());
        parked.recv().unwrap();
        let second = scope.spawn(|| *queue.get_timeout(SECOND).unwrap().item());
        parked.recv().unwrap();
        let mut get = queue.get();
        assert!(last.poll(&mut get).is_pending());
        queue.add(1);
        assert_eq!(first.join().unwrap(), 1);
        assert_eq!(last.count(), 0);
        queue.add(2);
        assert_eq!(second.join().unwrap(), 2);
        queue.add(3);
        assert!(last.poll(&mut get).is_ready());
    });
}

#[derive(Default)]
struct Refused(Mutex<usize>);

impl Observer for Refused {
    fn refused(&self) {
        *self.0.lock().unwrap() += 1;
    }
}

/// Until so many threads wait for the clock: they have read it.
fn sleepers(timer: &Saying, count: usize) {
    while timer.clock.sleepers() < count {
        thread::yield_now();
    }
}

#[test]
fn time_outs_are_over_when_the_timer_says_so() {
    let (timer, _parked) = Saying::new();
    let refused = Arc::new(Refused::default());
    let builder = DelayingQueue::builder().timer(timer.clone()).observer(Arc::clone(&refused)).capacity(1);
    let queue = builder.build().unwrap();
    queue.add(1);
    thread::scope(|scope| {
        let adder = scope.spawn(|| queue.add_wait_timeout(2, SECOND).unwrap_err());
        sleepers(&timer, 1);
        timer.clock.advance(SECOND);
        let rejected = adder.join().unwrap();
        assert_eq!((rejected.reason(), rejected.into_item()), (RejectedReason::TimedOut, 2));
        assert_eq!(*refused.0.lock().unwrap(), 1);
        queue.try_get().unwrap().done();
        let one = scope.spawn(|| queue.get_timeout(SECOND).map(|guard| *guard.item()));
        sleepers(&timer, 1);
        timer.clock.advance(SECOND);
        assert_eq!(one.join().unwrap(), Err(GetTimeoutError::TimedOut));
    });
}

#[test]
fn a_getter_that_waits_for_an_owned_guard_keeps_time() {
    let timer = ManualTimer::new();
    let queue = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    let (mut get, wakes) = (queue.get_owned(), Wakes::new());
    queue.add_after(7, SECOND);
    assert!(wakes.poll(&mut get).is_pending());
    timer.advance(SECOND);
    assert_eq!(wakes.count(), 1);
    assert!(matches!(wakes.poll(&mut get), Poll::Ready(Some(guard)) if *guard.item() == 7));
}
