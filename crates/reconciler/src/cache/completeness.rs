//! Completeness: a cache is complete after its first list. A run may not read it before.

use std::future::Future;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::RwLockReadGuard;

use super::store::Store;
use super::{Cache, CacheId};
use crate::Kind;

tokio::task_local! {
    /// Set in a run.
    static IN_RUN: ();
}

/// Runs a reconcile. Its reads of incomplete caches panic.
pub(crate) async fn guarded<F: Future>(run: F) -> F::Output {
    IN_RUN.scope((), run).await
}

/// A cache of any kind, as controllers wait for its first list.
pub(crate) trait Complete: Send + Sync {
    fn id(&self) -> CacheId;
    fn name(&self) -> &str;
    fn is_complete(&self) -> bool;
    fn completed(&self) -> BoxFuture<'_, ()>;
}

impl<K: Kind> Complete for Cache<K> {
    fn id(&self) -> CacheId {
        Self::id(self)
    }

    fn name(&self) -> &str {
        Self::name(self)
    }

    fn is_complete(&self) -> bool {
        self.is_synced()
    }

    fn completed(&self) -> BoxFuture<'_, ()> {
        self.await_synced().boxed()
    }
}

impl<K: Kind> Cache<K> {
    /// The objects, for a read. To a run an incomplete cache would show that objects are gone.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Store<K>> {
        let store = self.shared.store.read();
        if !store.is_complete() {
            drop(store);
            assert!(
                IN_RUN.try_with(|()| ()).is_err(),
                "a run reads the cache {} before it is complete: declare it with Controller::reads",
                self.name()
            );
            return self.shared.store.read();
        }
        store
    }
}
