//! Get: the ways to get an item. All are one future; the blocking forms run it on the thread.

use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::backlog::{Backlog, Fifo};
use crate::clock::Deadline;
use crate::get_error::{GetTimeoutError, TryGetError};
use crate::guard::{OwnedProcessingGuard, ProcessingGuard, RawGuard};
use crate::parker::block_on;
use crate::planted::planted;
use crate::queue::WorkQueue;
use crate::shared::{Shared, release, unlock};
use crate::state::{Dequeue, Dequeued};
use crate::transition::Transition;
use crate::waiters::{Key, Wakes};

impl<T, B: Backlog, S> WorkQueue<T, B, S> {
    /// Waits for the next item. Returns `None` if the queue is shut down and nothing is queued.
    ///
    /// An item in flight can run again after other getters got `None`; the next get of its holder
    /// then returns it. So each worker loops until its own get returns `None`:
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::new();
    /// queue.add("a");
    /// queue.shutdown();
    /// while let Some(item) = queue.get().await {
    ///     assert_eq!(*item.item(), "a"); // The work.
    ///     item.done();
    /// }
    /// # });
    /// ```
    ///
    /// A get that finds an item is ready at once and uses no cooperative budget of a runtime. A
    /// task whose work never waits should yield now and then.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe. The item leaves the queue in the poll that returns it. A dropped future loses
    /// its place in line; if it was woken, it wakes the next in line.
    ///
    /// A future that has waited and is then neither polled nor dropped can hold a wake-up. After
    /// some thirty adds that woke no getter the queue wakes another instead. Each held future can
    /// cost that once: do not keep one.
    #[doc(alias = "Get")]
    pub fn get(&self) -> Get<'_, T, B> {
        Get { wait: Wait { shared: self.shared_ref(), key: None } }
    }

    /// As [`get`](Self::get), with a future and a guard that borrow nothing.
    ///
    /// The future keeps the queue alive, even if all handles are gone: shut the queue down to end
    /// it.
    ///
    /// # Cancel safety
    ///
    /// As [`get`](Self::get).
    pub fn get_owned(&self) -> GetOwned<T, B> {
        GetOwned { wait: Wait { shared: Arc::clone(&self.shared), key: None } }
    }

    /// Takes the next item if there is one now.
    ///
    /// ```
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::new();
    /// queue.add_all(["a", "b"]);
    /// let a = queue.try_get()?;
    /// assert!(queue.add("a").is_accepted()); // `a` runs again after `b`.
    /// let b = a.done_and_get()?; // One lock for both.
    /// assert_eq!(*b.item(), "b");
    /// b.done();
    /// assert_eq!(queue.counts().queued, 1);
    /// # Ok::<(), wq_core::TryGetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TryGetError`] says whether an item may come later.
    #[inline(always)]
    pub fn try_get(&self) -> Result<ProcessingGuard<'_, T, B>, TryGetError>
    where
        T: Clone,
    {
        match RawGuard::take(&&*self.shared, self.shared.now()) {
            Dequeue::Item(guard) => Ok(ProcessingGuard(guard)),
            Dequeue::Nothing => Err(TryGetError::Empty),
            Dequeue::Ended => Err(TryGetError::ShutDown),
        }
    }

    /// As [`get`](Self::get), blocking the thread. Blocking and async getters wait in one line.
    ///
    /// ```
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         while let Some(item) = queue.get_blocking() {
    ///             item.done();
    ///         }
    ///     });
    ///     queue.add("a");
    ///     queue.shutdown();
    /// });
    /// assert!(queue.counts().is_idle());
    /// ```
    #[must_use = "dropping the guard says that the item is finished"]
    #[inline(always)]
    pub fn get_blocking(&self) -> Option<ProcessingGuard<'_, T, B>>
    where
        T: Clone,
    {
        let now = self.shared.now();
        match RawGuard::take(&&*self.shared, now) {
            Dequeue::Item(guard) => Some(ProcessingGuard(guard)),
            Dequeue::Ended => None,
            Dequeue::Nothing => {
                self.wait_blocking(now).map(|ProcessingGuard(guard)| ProcessingGuard(guard.anew()))
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_blocking(&self, now: Option<Instant>) -> Option<ProcessingGuard<'_, T, B>>
    where
        T: Clone,
    {
        let mut get = self.get();
        let mut first = Some(now);
        let mut wait = poll_fn(|context| {
            let now = first.take().unwrap_or_else(|| self.shared.now());
            get.wait.wait_one(context, now)
        });
        block_on(&mut wait, Deadline::NEVER).flatten().map(ProcessingGuard)
    }

    /// As [`get_blocking`](Self::get_blocking), for at most this long. With a zero time-out it does
    /// not wait.
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
        match block_on(&mut self.get(), Deadline::after(timeout)) {
            Some(Some(guard)) => Ok(guard),
            Some(None) => Err(GetTimeoutError::ShutDown),
            None => Err(GetTimeoutError::TimedOut),
        }
    }
}

/// The future of [`WorkQueue::get`]. It enters the line when it is polled, and leaves it when it is
/// ready. A further poll waits for another item.
#[must_use = "futures do nothing unless polled"]
pub struct Get<'q, T, B: Backlog = Fifo> {
    wait: Wait<&'q Shared<T, B>, T, B>,
}

/// The future of [`WorkQueue::get_owned`]; otherwise as [`Get`].
#[must_use = "futures do nothing unless polled"]
pub struct GetOwned<T, B: Backlog = Fifo> {
    wait: Wait<Arc<Shared<T, B>>, T, B>,
}

impl<'q, T: Clone, B: Backlog> Future for Get<'q, T, B> {
    type Output = Option<ProcessingGuard<'q, T, B>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.wait.poll_one(context).map(|held| held.map(ProcessingGuard))
    }
}

impl<T: Clone, B: Backlog> Future for GetOwned<T, B> {
    type Output = Option<OwnedProcessingGuard<T, B>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.wait.poll_one(context).map(|held| held.map(OwnedProcessingGuard))
    }
}

/// The result of a getter. It becomes a guard first; the wakers then run user code, which may
/// panic.
struct Taken<T, O> {
    got: Dequeued<T, O>,
    /// Fired once there is a guard.
    wakes: Option<Wakes>,
    /// Dropped last.
    left: [Option<Waker>; 2],
}

/// A getter in line. `P` points to the queue.
struct Wait<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    shared: P,
    /// The place in line, once there is one.
    key: Option<Key>,
}

impl<P, T, B> Wait<P, T, B>
where
    P: Deref<Target = Shared<T, B>> + Clone,
    B: Backlog,
{
    #[inline]
    fn poll_one(&mut self, context: &Context<'_>) -> Poll<Option<RawGuard<P, T, B>>>
    where
        T: Clone,
    {
        let now = self.shared.now();
        if self.key.is_none() && !self.shared.is_likely_empty() {
            match RawGuard::take(&self.shared, now) {
                Dequeue::Item(guard) => return Poll::Ready(Some(guard)),
                Dequeue::Nothing => {}
                Dequeue::Ended => return Poll::Ready(None),
            }
        }
        self.wait_one(context, now).map(|guard| guard.map(RawGuard::anew))
    }

    #[inline(never)]
    fn wait_one(
        &mut self,
        context: &Context<'_>,
        now: Option<Instant>,
    ) -> Poll<Option<RawGuard<P, T, B>>>
    where
        T: Clone,
    {
        let fresh = self.key.is_none().then(|| context.waker().clone());
        let is_new = fresh.is_some();
        let taken = self.take_or_sleep(context, fresh, now);
        if is_new {
            self.shared.found_empty(taken.is_pending());
        }
        taken.map(|taken| {
            let Taken { got, wakes, left } = taken?;
            let guard = RawGuard::begin(self.shared.clone(), got, wakes);
            drop(left);
            Some(guard)
        })
    }

    /// Takes the next item, or goes to sleep. `None`: the queue is shut down and empty.
    ///
    /// A waker is user code, so it is cloned before the lock, and only for a sleep: here, unless it
    /// came as `fresh`.
    ///
    /// The item is taken first. If its clone panics, this getter is still in line, and passes its
    /// wake-up on when it is dropped.
    fn take_or_sleep(
        &mut self,
        context: &Context<'_>,
        mut fresh: Option<Waker>,
        now: Option<Instant>,
    ) -> Poll<Option<Taken<T, B::Order>>>
    where
        T: Clone,
    {
        loop {
            let _left_waker; // Dropped after the lock.
            let mut core = self.shared.lock();
            let taken = match core.state.get(now) {
                Dequeue::Item(got) => Some(got),
                Dequeue::Ended => None,
                Dequeue::Nothing => {
                    if self
                        .key
                        .as_ref()
                        .is_some_and(|key| core.getters.sleeps_with(key, context.waker()))
                    {
                        return Poll::Pending;
                    }
                    if let Some(waker) = fresh.take() {
                        _left_waker = core.getters.sleep(&mut self.key, waker);
                        drop(core);
                        return Poll::Pending;
                    }
                    drop(core);
                    fresh = Some(context.waker().clone());
                    continue;
                }
            };
            let (left, waker) = match self.key.take() {
                None => (Transition::NONE, None),
                Some(key) => core.getter_leaves(key),
            };
            let wakes = unlock(core, left);
            return Poll::Ready(taken.map(|got| Taken { got, wakes, left: [waker, fresh] }));
        }
    }
}

impl<P, T, B> Drop for Wait<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            let mut core = self.shared.lock();
            let (left, _waker) = core.getter_leaves(key);
            release(
                core,
                if planted("cancelled-get-keeps-wake-up") { Transition::NONE } else { left },
            );
        }
    }
}

macro_rules! debug {
    ($name:literal, ($($generics:tt)*), $future:ty) => {
        impl<$($generics)*> fmt::Debug for $future {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name).field("is_in_line", &self.wait.key.is_some()).finish_non_exhaustive()
            }
        }
    };
}

debug!("Get", ('q, T, B: Backlog), Get<'q, T, B>);
debug!("GetOwned", (T, B: Backlog), GetOwned<T, B>);
