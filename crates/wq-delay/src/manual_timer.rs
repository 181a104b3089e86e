//! ManualTimer: a clock that only moves when it is told to, for tests and model checkers.

use crate::parking::thread_waker;
use crate::platform::{Mutex, park};
use crate::timer::Timer;
use crate::wakes::Wakes;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A clock that stands still until [`advance`](Self::advance) moves it. Clones share it.
///
/// ```
/// use std::time::Duration;
/// use wq_delay::{ManualTimer, Timer};
///
/// let timer = ManualTimer::new();
/// let start = timer.now();
/// timer.advance(Duration::from_secs(3600));
/// assert_eq!(timer.now() - start, Duration::from_secs(3600));
/// ```
#[derive(Clone)]
pub struct ManualTimer {
    shared: Arc<Mutex<Clock>>,
}

struct Clock {
    now: Instant,
    next_id: u64,
    /// By deadline, then in the order of their first poll.
    sleepers: BTreeMap<(Instant, u64), Waker>,
}

impl ManualTimer {
    /// A clock that starts at the present time.
    #[expect(clippy::disallowed_methods, reason = "a timer is where the time comes from")]
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Instant::now())
    }

    /// A clock that starts at this instant.
    #[must_use]
    pub fn starting_at(now: Instant) -> Self {
        Self { shared: Arc::new(Mutex::new(Clock { now, next_id: 0, sleepers: BTreeMap::new() })) }
    }

    /// Moves the clock, and wakes the sleepers whose deadlines have come, earliest first.
    ///
    /// A step beyond what the platform can express leaves the clock where it is.
    pub fn advance(&self, by: Duration) {
        let mut wakes = Wakes::new();
        let mut clock = self.shared.lock();
        clock.now = clock.now.checked_add(by).unwrap_or(clock.now);
        let later = match clock.now.checked_add(Duration::from_nanos(1)) {
            Some(next) => clock.sleepers.split_off(&(next, 0)),
            None => BTreeMap::new(),
        };
        wakes.extend(std::mem::replace(&mut clock.sleepers, later).into_values());
    }

    /// How many tasks and threads wait for the clock. A test can check with it that a thread is
    /// asleep.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.shared.lock().sleepers.len()
    }

    /// The deadline of the first sleeper.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.shared.lock().sleepers.keys().next().map(|(deadline, _)| *deadline)
    }
}

impl Default for ManualTimer {
    fn default() -> Self {
        Self::new()
    }
}

impl Timer for ManualTimer {
    fn now(&self) -> Instant {
        self.shared.lock().now
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(Sleep { shared: Arc::clone(&self.shared), deadline, id: None })
    }

    fn park_until(&self, deadline: Option<Instant>) {
        let Some(deadline) = deadline else {
            park();
            return;
        };
        let mut sleep = self.sleep_until(deadline);
        if sleep.as_mut().poll(&mut Context::from_waker(&thread_waker())).is_pending() {
            park();
        }
    }
}

impl fmt::Debug for ManualTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = self.shared.lock();
        f.debug_struct("ManualTimer")
            .field("now", &clock.now)
            .field("sleepers", &clock.sleepers.len())
            .finish()
    }
}

struct Sleep {
    shared: Arc<Mutex<Clock>>,
    deadline: Instant,
    id: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let waker = context.waker().clone();
        let mut clock = this.shared.lock();
        if clock.now >= this.deadline {
            return Poll::Ready(());
        }
        let id = *this.id.get_or_insert_with(|| {
            clock.next_id += 1;
            clock.next_id
        });
        let replaced = clock.sleepers.insert((this.deadline, id), waker);
        drop(clock);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let removed =
            self.id.and_then(|id| self.shared.lock().sleepers.remove(&(self.deadline, id)));
        drop(removed);
    }
}
