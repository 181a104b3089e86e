//! Get: the getters. Each is a core getter that keeps the time while it waits.

use crate::parking::ThreadTask;
use crate::queue::DelayingQueue;
use crate::shared::Shared;
use crate::tick::Tick;
use crate::timekeeper::{TimerRole, WatchId};
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wq_core::{
    Backlog, DefaultHasher, Fifo, GetTimeoutError, OwnedProcessingGuard, ProcessingGuard,
    TryGetError, WorkQueue,
};

/// How often a poll looks again at once when its timer completes. Then it yields.
const LOOKS: u32 = 4;

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Waits for the next item. Returns `None` if the queue is shut down and nothing is queued.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use std::time::Duration;
    /// use wq_delay::{DelayingQueue, ManualTimer};
    ///
    /// let timer = ManualTimer::new();
    /// let queue = DelayingQueue::builder().timer(timer.clone()).build()?;
    /// queue.add_after("a", Duration::from_secs(5));
    /// timer.advance(Duration::from_secs(5));
    /// while let Some(item) = queue.get().await {
    ///     assert_eq!(*item.item(), "a"); // The work.
    ///     item.done();
    ///     assert!(queue.shutdown().is_empty()); // The next get returns `None`.
    /// }
    /// # Ok::<(), wq_delay::BuildError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, as [`wq_core::WorkQueue::get`]: a dropped future loses its place in line, never
    /// an item. If it kept the time, another getter goes on.
    ///
    /// A future that is neither polled nor dropped while it keeps the time makes items up to 5 ms
    /// late, once. Then another getter takes over. Two such futures make items late until the next
    /// call that finds them due: do not keep one.
    #[doc(alias = "Get")]
    pub fn get(&self) -> Get<'_, T, B, S> {
        Get {
            queue: self,
            wait: TimerWait::new(&*self.shared, TimerRole::Getter),
            core: self.core.get(),
        }
    }

    /// As [`get`](Self::get), with a future and a guard that borrow nothing.
    ///
    /// # Cancel safety
    ///
    /// As [`get`](Self::get).
    pub fn get_owned(&self) -> GetOwned<T, B, S>
    where
        S: Clone,
    {
        GetOwned {
            wait: TimerWait::new(Arc::clone(&self.shared), TimerRole::Getter),
            core: self.core.get_owned(),
            queue: self.clone(),
        }
    }

    /// Takes the next item if there is one now.
    ///
    /// # Errors
    ///
    /// [`TryGetError`] says whether an item may come later.
    #[inline(always)]
    pub fn try_get(&self) -> Result<ProcessingGuard<'_, T, B>, TryGetError>
    where
        T: Clone,
    {
        self.shared.move_due(&self.core, None);
        self.core.try_get()
    }

    /// As [`get`](Self::get), blocking the thread. Blocking and async getters wait in one line.
    ///
    /// ```
    /// use wq_delay::{DelayingQueue, ThreadTimer};
    ///
    /// let queue = DelayingQueue::builder().timer(ThreadTimer).build_blocking()?;
    /// queue.add("a");
    /// queue.get_blocking().unwrap().done();
    /// assert!(queue.shutdown().is_empty());
    /// assert!(queue.get_blocking().is_none());
    /// # Ok::<(), wq_delay::BuildError>(())
    /// ```
    #[must_use = "dropping the guard says that the item is finished"]
    #[inline(always)]
    pub fn get_blocking(&self) -> Option<ProcessingGuard<'_, T, B>>
    where
        T: Clone,
    {
        // The fast path: nothing is prepared for a wait.
        match self.try_get() {
            Ok(guard) => Some(guard),
            Err(_) => self.wait(None).ok().map(ProcessingGuard::anew),
        }
    }

    /// As [`get_blocking`](Self::get_blocking), for at most this long by the queue's timer. With a
    /// zero time-out it does not wait.
    ///
    /// # Errors
    ///
    /// [`GetTimeoutError`] says whether an item may come later.
    pub fn get_timeout(
        &self,
        timeout: Duration,
    ) -> Result<ProcessingGuard<'_, T, B>, GetTimeoutError>
    where
        T: Clone,
    {
        self.wait(Some(timeout))
    }

    /// Waits on the calling thread, and keeps the time if that is its role. Looks at least once.
    #[cold]
    #[inline(never)]
    fn wait(&self, timeout: Option<Duration>) -> Result<ProcessingGuard<'_, T, B>, GetTimeoutError>
    where
        T: Clone,
    {
        let deadline = timeout.map(|timeout| self.shared.now().after(timeout));
        let mut get = self.core.get();
        let mut wait = TimerWait::new(&*self.shared, TimerRole::Getter);
        let thread = ThreadTask::current();
        let mut context = Context::from_waker(&thread.waker);
        loop {
            let wakes = thread.wakes();
            self.shared.move_due(&self.core, wait.id);
            if let Poll::Ready(got) = Pin::new(&mut get).poll(&mut context) {
                wait.leave();
                return got.ok_or(GetTimeoutError::ShutDown);
            }
            if deadline.is_some_and(|deadline| deadline.is_due(self.shared.now())) {
                return Err(GetTimeoutError::TimedOut);
            }
            let until = wait.report(&thread.waker);
            let until =
                [until, deadline].into_iter().flatten().min().filter(|until| *until != Tick::NEVER);
            let until = until.map(|until| self.shared.line.instant(until));
            thread.park_until(&*self.shared.timer, until, wakes);
        }
    }

    /// Only keeps the time, until the queue is shut down. Optional: waiting getters keep it too.
    ///
    /// It queues due items while all workers are busy, so an observer's `queue_duration` starts at
    /// the deadline. In a queue of [`build_blocking`](crate::Builder::build_blocking) it only waits
    /// for the end.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: when it is dropped, a waiting getter keeps the time.
    pub fn keep_time(&self) -> KeepTime<'_, T, B, S> {
        let role =
            if self.shared.tasks_keep_time { TimerRole::Dedicated } else { TimerRole::Bystander };
        KeepTime { queue: self, wait: TimerWait::new(&*self.shared, role) }
    }
}

/// The future of [`DelayingQueue::get`].
#[must_use = "futures do nothing unless polled"]
pub struct Get<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q DelayingQueue<T, B, S>,
    wait: TimerWait<&'q Shared<T, B>, T, B>,
    core: wq_core::Get<'q, T, B>,
}

/// The future of [`DelayingQueue::get_owned`]; otherwise as [`Get`].
#[must_use = "futures do nothing unless polled"]
pub struct GetOwned<T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: DelayingQueue<T, B, S>,
    wait: TimerWait<Arc<Shared<T, B>>, T, B>,
    core: wq_core::GetOwned<T, B>,
}

/// The future of [`DelayingQueue::keep_time`].
#[must_use = "futures do nothing unless polled"]
pub struct KeepTime<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q DelayingQueue<T, B, S>,
    wait: TimerWait<&'q Shared<T, B>, T, B>,
}

macro_rules! getter {
    ($name:literal, ($($lifetime:lifetime)?), $future:ty, $output:ty) => {
        /// Nothing in it is pinned.
        impl<$($lifetime,)? T, B: Backlog, S> Unpin for $future {}

        impl<$($lifetime,)? T: Hash + Eq + Clone, B: Backlog, S: BuildHasher> Future for $future {
            type Output = $output;

            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
                let Self { queue, wait, core } = self.get_mut();
                let queue: &DelayingQueue<T, B, S> = (*queue).borrow();
                poll_getter(core, wait, &queue.core, context)
            }
        }

        impl<$($lifetime,)? T, B: Backlog, S> fmt::Debug for $future {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name).field("core", &self.core).field("wait", &self.wait).finish_non_exhaustive()
            }
        }
    };
}

getter!("Get", ('q), Get<'q, T, B, S>, Option<ProcessingGuard<'q, T, B>>);
getter!("GetOwned", (), GetOwned<T, B, S>, Option<OwnedProcessingGuard<T, B>>);

impl<T, B: Backlog, S> Unpin for KeepTime<'_, T, B, S> {}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> Future for KeepTime<'_, T, B, S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { queue, wait } = self.get_mut();
        let never: Poll<()> = poll_getter(&mut std::future::pending(), wait, &queue.core, context);
        // A shutdown wakes all that have reported, so this is read after the report.
        if never.is_pending() && !queue.shared.lock().is_shut_down {
            return Poll::Pending;
        }
        wait.leave();
        Poll::Ready(())
    }
}

impl<T, B: Backlog, S> fmt::Debug for KeepTime<'_, T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepTime").field("wait", &self.wait).finish_non_exhaustive()
    }
}

/// Moves due items and polls the core getter. If that is pending, keeps the time if that is its
/// role.
fn poll_getter<F, P, T, B, S>(
    getter: &mut F,
    wait: &mut TimerWait<P, T, B>,
    core: &WorkQueue<T, B, S>,
    context: &mut Context<'_>,
) -> Poll<F::Output>
where
    F: Future + Unpin,
    P: Deref<Target = Shared<T, B>>,
    T: Hash + Eq,
    B: Backlog,
    S: BuildHasher,
{
    for _ in 0..LOOKS {
        wait.shared.move_due(core, wait.id);
        if let Poll::Ready(output) = Pin::new(&mut *getter).poll(context) {
            wait.leave();
            return Poll::Ready(output);
        }
        if !wait.shared.tasks_keep_time && wait.role == TimerRole::Getter {
            return Poll::Pending;
        }
        let until = wait.report(context.waker());
        if wait.poll_sleep(until, context).is_pending() {
            return Poll::Pending;
        }
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An entry among the timekeepers, and its sleep. `P` points to the queue.
struct TimerWait<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    shared: P,
    role: TimerRole,
    id: Option<WatchId>,
    sleep: Option<(Tick, Sleep)>,
}

impl<P, T, B> TimerWait<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    fn new(shared: P, role: TimerRole) -> Self {
        Self { shared, role, id: None, sleep: None }
    }

    fn report(&mut self, waker: &Waker) -> Option<Tick> {
        self.shared.report(&mut self.id, self.role, waker)
    }

    /// Sleeps until this instant. Continues a sleep that was started for the same instant.
    fn poll_sleep(&mut self, until: Option<Tick>, context: &mut Context<'_>) -> Poll<()> {
        let Some(until) = until else {
            self.sleep = None;
            return Poll::Pending;
        };
        if self.sleep.as_ref().is_none_or(|(begun_for, _)| *begun_for != until) {
            let instant = self.shared.line.instant(until);
            self.sleep = Some((until, self.shared.timer.sleep_until(instant)));
        }
        let Some((_, sleep)) = &mut self.sleep else { return Poll::Pending };
        let polled = sleep.as_mut().poll(context);
        if polled.is_ready() {
            self.sleep = None;
        }
        polled
    }

    fn leave(&mut self) {
        self.sleep = None;
        if let Some(id) = self.id.take() {
            self.shared.leave(id);
        }
    }
}

impl<P, T, B> Drop for TimerWait<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    fn drop(&mut self) {
        self.leave();
    }
}

impl<P, T, B> fmt::Debug for TimerWait<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerWait")
            .field("is_waiting", &self.id.is_some())
            .field("is_keeping_time", &self.sleep.is_some())
            .finish_non_exhaustive()
    }
}
