//! `Reconciler`: the work of a controller on one key, as a trait and from a function.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use crate::{Action, Failure, Key, Request};

/// Moves the actual state of one key towards its desired state.
///
/// A run gets only a key. It reads the state from the caches that the reconciler holds, compares,
/// and acts. The result must not depend on how often it runs or on what triggered it. A missing
/// object is an ordinary run. No key has two runs at a time in one process. A change during a run
/// makes the key run again.
///
/// The future may be dropped at any await: at its time-out, when the lease is lost, or when a stop
/// outlasts its grace. As after a crash, its last request may or may not have been applied. Give
/// blocking work that must not outlive the leadership to [`Request::tracker`].
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
/// A panic ends the run. It is counted and logged, and the key is retried with back-off. (Not with
/// `panic = "abort"`.)
pub trait Reconciler: Send + Sync + 'static {
    /// The type of the keys.
    type Key: Key;

    /// Runs once for one key.
    ///
    /// # Errors
    ///
    /// Any failure. `?` on an error retries the key as [`Failure`] describes.
    fn reconcile(
        &self,
        request: Request<Self::Key>,
    ) -> impl Future<Output = Result<Action, Failure>> + Send;
}

/// Makes a [`Reconciler`] from an async function or closure. The closure captures the state that it
/// needs.
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

/// The reconciler of [`reconcile_fn`].
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
