//! `Reconciler`: what a controller does for one key, as a trait and from a function.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use crate::{Action, Failure, Key, Request};

/// Brings the world closer to what one key asks for.
///
/// Called with nothing but a key: a run reads the state it needs from the caches that the
/// reconciler holds, compares, and acts. It must not matter how often it runs or what triggered it.
/// The object may be gone: that is an ordinary run. No key has two runs at a time in one process; a
/// change that comes during a run makes the key run again.
///
/// The future may be dropped at any of its awaits, when its time-out passes, when the lease is lost
/// or when a stop outlasts its grace: then what it had sent may or may not have been applied, as
/// after a crash. Blocking work that must not outlive the leadership goes into
/// [`Request::tracker`].
///
/// ```
/// use reconciler::{Action, Failure, ObjectKey, Reconciler, Request};
///
/// struct Greeter;
///
/// impl Reconciler for Greeter {
///     type Key = ObjectKey;
///
///     async fn reconcile(&self, request: Request<ObjectKey>) -> Result<Action, Failure> {
///         println!("hello, {}", request.key());
///         Ok(Action::await_change())
///     }
/// }
/// ```
///
/// # Panics
///
/// A panic in a run ends that run: it is counted, logged, and the key is tried again with back-off.
/// (Not with `panic = "abort"`.)
pub trait Reconciler: Send + Sync + 'static {
    /// What a run is about.
    type Key: Key;

    /// One run.
    ///
    /// # Errors
    ///
    /// Whatever went wrong. `?` on any error means: again, with back-off.
    fn reconcile(
        &self,
        request: Request<Self::Key>,
    ) -> impl Future<Output = Result<Action, Failure>> + Send;
}

/// A [`Reconciler`] from an async function or closure. What it needs it captures or clones.
///
/// ```
/// use reconciler::{Action, ObjectKey, Request, reconcile_fn};
///
/// let reconciler = reconcile_fn(|request: Request<ObjectKey>| async move {
///     println!("hello, {}", request.key());
///     Ok(Action::await_change())
/// });
/// # let _ = reconciler;
/// ```
pub fn reconcile_fn<K, F, Fut>(f: F) -> ReconcileFn<K, F>
where
    K: Key,
    F: Fn(Request<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Failure>> + Send + 'static,
{
    ReconcileFn { f, key: PhantomData }
}

/// What [`reconcile_fn`] makes.
pub struct ReconcileFn<K, F> {
    f: F,
    key: PhantomData<fn(K)>,
}

impl<K, F, Fut> Reconciler for ReconcileFn<K, F>
where
    K: Key,
    F: Fn(Request<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Failure>> + Send + 'static,
{
    type Key = K;

    fn reconcile(
        &self,
        request: Request<K>,
    ) -> impl Future<Output = Result<Action, Failure>> + Send {
        (self.f)(request)
    }
}

impl<K, F> fmt::Debug for ReconcileFn<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconcileFn").finish_non_exhaustive()
    }
}
