//! The getters: a core getter that keeps time while it waits. The blocking forms run the same futures on the calling
//! thread, parked by the timer.

use crate::parking::ThreadTask;
use crate::queue::DelayingQueue;
use crate::shared::Shared;
use crate::tick::Tick;
use crate::timekeeper::{WatchId, Watcher};
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
    Backlog, DefaultHasher, Fifo, GetTimeoutError, OwnedProcessingGuard, ProcessingGuard, TryGetError,
    WorkQueue,
};

/// A poll looks again at once this often when its timer says that the time has come; then it yields.
const LOOKS: u32 = 4;

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Waits for the next item. `None`: the queue is shut down and nothing is queued.
    ///
    /// # Panics
    ///
    /// When polled, as [`wq_core::WorkQueue::get`], and as [`move_due`](Self::move_due).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, as [`wq_core::WorkQueue::get`]: a dropped future loses its place in line, and no item. If it kept
    /// the time, another getter does from then on. A future that is neither polled nor dropped while it keeps the time
    /// makes items up to 5 ms late, once; after that another getter keeps it. Two such at a time make them late until
    /// somebody calls the queue who finds them due: do not hold on to one.
    #[doc(alias = "Get")]
    pub fn get(&self) -> Get<'_, T, B, S> {
        Get { queue: self, post: Post::new(&*self.shared, Watcher::Getter), core: self.core.get() }
    }

    /// As [`get`](Self::get), with a future and a guard that borrow nothing.
    ///
    /// # Panics
    ///
    /// As [`get`](Self::get).
    ///
    /// # Cancel safety
    ///
    /// As [`get`](Self::get).
    pub fn get_owned(&self) -> GetOwned<T, B, S>
    where
        S: Clone,
    {
        GetOwned {
            post: Post::new(Arc::clone(&self.shared), Watcher::Getter),
            core: self.core.get_owned(),
            queue: self.clone(),
        }
    }

    /// Takes the next item if there is one now.
    ///
    /// # Errors
    ///
    /// [`TryGetError`] says whether there can be one later.
    ///
    /// # Panics
    ///
    /// If `Clone` of the item panics: it is queued still, at the tail. And as [`move_due`](Self::move_due).
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
    /// # Panics
    ///
    /// As [`get`](Self::get) when polled.
    #[must_use = "dropping the guard says that the item is finished"]
    #[inline(always)]
    pub fn get_blocking(&self) -> Option<ProcessingGuard<'_, T, B>>
    where
        T: Clone,
    {
        // Nearly always there is one, and nothing to be made ready for a wait.
        match self.try_get() {
            Ok(guard) => Some(guard),
            Err(_) => self.wait(None).ok().map(ProcessingGuard::anew),
        }
    }

    /// As [`get_blocking`](Self::get_blocking), for at most this long by the queue's timer. With a zero time-out it takes
    /// what is there.
    ///
    /// # Errors
    ///
    /// [`GetTimeoutError`] says whether there can be an item later.
    ///
    /// # Panics
    ///
    /// As [`get_blocking`](Self::get_blocking).
    pub fn get_timeout(&self, timeout: Duration) -> Result<ProcessingGuard<'_, T, B>, GetTimeoutError>
    where
        T: Clone,
    {
        self.wait(Some(timeout))
    }

    /// Waits on the calling thread, which keeps time meanwhile as far as it is on duty. Looks at least once.
    #[cold]
    #[inline(never)]
    fn wait(&self, timeout: Option<Duration>) -> Result<ProcessingGuard<'_, T, B>, GetTimeoutError>
    where
        T: Clone,
    {
        let deadline = timeout.map(|timeout| self.shared.now().after(timeout));
        let mut get = self.core.get();
        let mut post = Post::new(&*self.shared, Watcher::Getter);
        let thread = ThreadTask::current();
        let mut context = Context::from_waker(&thread.waker);
        loop {
            let wakes = thread.wakes();
            self.shared.move_due(&self.core, post.id);
            if let Poll::Ready(got) = Pin::new(&mut get).poll(&mut context) {
                post.leave();
                return got.ok_or(GetTimeoutError::ShutDown);
            }
            if deadline.is_some_and(|deadline| deadline.is_due(self.shared.now())) {
                return Err(GetTimeoutError::TimedOut);
            }
            let until = post.report(&thread.waker);
            let until = [until, deadline].into_iter().flatten().min().filter(|until| *until != Tick::NEVER);
            let until = until.map(|until| self.shared.line.instant(until));
            thread.park_until(&*self.shared.timer, until, wakes);
        }
    }

    /// Keeps time, and does nothing else, until the queue is shut down. Optional: waiting getters keep time by
    /// themselves. It spares them the work, and queues due items while all workers are busy, which is what an observer's
    /// `queue_duration` is then measured from. In a queue of [`build_blocking`](crate::Builder::build_blocking) it keeps no
    /// time, and only waits for the end.
    ///
    /// # Panics
    ///
    /// When polled, as [`move_due`](Self::move_due).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropped, it hands the job to a waiting getter.
    pub fn keep_time(&self) -> KeepTime<'_, T, B, S> {
        let watcher = if self.shared.tasks_keep_time { Watcher::Dedicated } else { Watcher::Bystander };
        KeepTime { queue: self, post: Post::new(&*self.shared, watcher) }
    }
}

/// The future of [`DelayingQueue::get`].
#[must_use = "futures do nothing unless polled"]
pub struct Get<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q DelayingQueue<T, B, S>,
    post: Post<&'q Shared<T, B>, T, B>,
    core: wq_core::Get<'q, T, B>,
}

/// The future of [`DelayingQueue::get_owned`]; otherwise as [`Get`].
#[must_use = "futures do nothing unless polled"]
pub struct GetOwned<T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: DelayingQueue<T, B, S>,
    post: Post<Arc<Shared<T, B>>, T, B>,
    core: wq_core::GetOwned<T, B>,
}

/// The future of [`DelayingQueue::keep_time`].
#[must_use = "futures do nothing unless polled"]
pub struct KeepTime<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q DelayingQueue<T, B, S>,
    post: Post<&'q Shared<T, B>, T, B>,
}

macro_rules! getter {
    ($name:literal, ($($lifetime:lifetime)?), $future:ty, $output:ty) => {
        /// Nothing in it is ever pinned.
        impl<$($lifetime,)? T, B: Backlog, S> Unpin for $future {}

        impl<$($lifetime,)? T: Hash + Eq + Clone, B: Backlog, S: BuildHasher> Future for $future {
            type Output = $output;

            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
                let Self { queue, post, core } = self.get_mut();
                let queue: &DelayingQueue<T, B, S> = (*queue).borrow();
                poll_getter(core, post, &queue.core, context)
            }
        }

        impl<$($lifetime,)? T, B: Backlog, S> fmt::Debug for $future {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name).field("core", &self.core).field("post", &self.post).finish_non_exhaustive()
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
        let Self { queue, post } = self.get_mut();
        let never: Poll<()> = poll_getter(&mut std::future::pending(), post, &queue.core, context);
        // Everybody on a post is woken by a shutdown, so this is asked when the post has been taken.
        if never.is_pending() && !queue.shared.lock().is_shut_down {
            return Poll::Pending;
        }
        post.leave();
        Poll::Ready(())
    }
}

impl<T, B: Backlog, S> fmt::Debug for KeepTime<'_, T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepTime").field("post", &self.post).finish_non_exhaustive()
    }
}

/// Moves what is due, asks the core getter, and if that waits keeps time as far as it is on duty.
fn poll_getter<F, P, T, B, S>(
    getter: &mut F,
    post: &mut Post<P, T, B>,
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
        post.shared.move_due(core, post.id);
        if let Poll::Ready(output) = Pin::new(&mut *getter).poll(context) {
            post.leave();
            return Poll::Ready(output);
        }
        if !post.shared.tasks_keep_time && post.watcher == Watcher::Getter {
            return Poll::Pending;
        }
        let until = post.report(context.waker());
        if post.poll_sleep(until, context).is_pending() {
            return Poll::Pending;
        }
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A getter's place among the timekeepers, and the sleep it has begun there. `P` points to the queue.
struct Post<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    shared: P,
    watcher: Watcher,
    id: Option<WatchId>,
    sleep: Option<(Tick, Sleep)>,
}

impl<P, T, B> Post<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    fn new(shared: P, watcher: Watcher) -> Self {
        Self { shared, watcher, id: None, sleep: None }
    }

    fn report(&mut self, waker: &Waker) -> Option<Tick> {
        self.shared.report(&mut self.id, self.watcher, waker)
    }

    /// Sleeps until then. A sleep that was begun for the same instant goes on.
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

impl<P, T, B> Drop for Post<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    fn drop(&mut self) {
        self.leave();
    }
}

impl<P, T, B> fmt::Debug for Post<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post")
            .field("is_waiting", &self.id.is_some())
            .field("is_keeping_time", &self.sleep.is_some())
            .finish_non_exhaustive()
    }
}
