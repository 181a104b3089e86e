//! World: a queue, its clock, and the thread that advances it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use shuttle::thread::{self, JoinHandle};
use wq_contract::play::roll;
use wq_delay::{DelayingQueue, ImmediateAdd, ManualTimer, SecondAdd};

/// The longest random delay is a few of these.
pub(crate) const STEP: Duration = Duration::from_millis(2);

pub(crate) type Queue = DelayingQueue<u8>;

pub(crate) fn world() -> (Queue, ManualTimer) {
    let second = [SecondAdd::Earliest, SecondAdd::Latest, SecondAdd::Replace];
    let immediate = [ImmediateAdd::Keep, ImmediateAdd::Merge, ImmediateAdd::Defer];
    let timer = ManualTimer::new();
    let builder = Queue::builder()
        .timer(timer.clone())
        .second_add(second[usize::from(roll(3))])
        .immediate_add(immediate[usize::from(roll(3))]);
    (builder.build().unwrap(), timer)
}

pub(crate) fn delay() -> Duration {
    STEP * u32::from(roll(6))
}

/// A thread that advances the clock until it is told to stop.
pub(crate) struct Clock {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Clock {
    pub(crate) fn start(timer: &ManualTimer) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (timer, is_over) = (timer.clone(), Arc::clone(&is_over));
            move || {
                while !is_over.load(SeqCst) {
                    timer.advance(STEP / 2);
                    thread::yield_now();
                }
            }
        });
        Self { is_over, thread }
    }

    pub(crate) fn stop(self) {
        self.is_over.store(true, SeqCst);
        self.thread.join().unwrap();
    }
}
