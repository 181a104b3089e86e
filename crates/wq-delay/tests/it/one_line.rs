//! One line: waiting threads and tasks share one line, in every form of wait, and time-outs follow
//! the timer.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use wq_contract::wakes::Wakes;
use wq_delay::{DelayingQueue, GetTimeoutError, ManualTimer, ThreadTimer, Timer};

const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3600);

/// A manual clock that reports when a thread is about to park. The thread is then in line.
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

/// Waits until this many threads sleep on the clock. They have read it by then.
fn sleepers(timer: &Saying, count: usize) {
    while timer.clock.sleepers() < count {
        thread::yield_now();
    }
}

#[test]
fn time_outs_are_over_when_the_timer_says_so() {
    let (timer, _parked) = Saying::new();
    let queue = DelayingQueue::<u32>::builder().timer(timer.clone()).build().unwrap();
    thread::scope(|scope| {
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

/// The clock of a thread. At the second read the thread is about to park: the clock then adds an
/// item and consumes the unpark.
#[derive(Debug, Default)]
struct Swallows {
    queue: OnceLock<DelayingQueue<u32>>,
    calls: AtomicUsize,
}

impl Timer for Swallows {
    fn now(&self) -> Instant {
        if let Some(queue) = self.queue.get()
            && self.calls.fetch_add(1, Ordering::SeqCst) == 1
        {
            queue.add(7);
            thread::park();
        }
        ThreadTimer.now()
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        ThreadTimer.sleep_until(deadline)
    }

    fn park_until(&self, deadline: Option<Instant>) {
        ThreadTimer.park_until(deadline);
    }
}

#[test]
fn a_clock_that_uses_up_the_unpark_does_not_keep_its_thread_asleep() {
    let timer = Arc::new(Swallows::default());
    let queue = DelayingQueue::builder().timer(Arc::clone(&timer)).build_blocking().unwrap();
    timer.queue.set(queue.clone()).unwrap();
    let (tell, told) = channel();
    let worker =
        thread::spawn(move || tell.send(queue.get_timeout(HOUR).map(|guard| *guard.item())));
    assert_eq!(told.recv_timeout(LONG), Ok(Ok(7)));
    worker.join().unwrap().unwrap();
}
