//! LeaseStore: where the Lease lives, in the four calls that the elector needs of a server.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::announcement::Announcement;
use crate::error::StoreError;
use crate::record::{Record, StoredLease};
use crate::version::Version;

/// A change of the Lease, as a watch reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LeaseEvent {
    /// The Lease was created or changed, or is in this state as the watch begins.
    Changed(StoredLease),
    /// The Lease was deleted; with its last state if the watch reports it.
    Deleted(Option<StoredLease>),
    /// Nothing changed, the watch is alive (a bookmark).
    Alive,
}

/// The events of one watch.
pub type LeaseEvents = BoxStream<'static, Result<LeaseEvent, StoreError>>;

/// One Lease on some server.
///
/// The server must offer linearizable compare-and-swap on the object, and linearizable reads: the
/// safety of an election rests on both (A1). Resource versions are decimal numbers that rise over
/// **all** writes of the store, also from a deleted object to the next one of its name, as an API
/// server's do. The store issues none twice: fence tokens and late news are ordered by them. (Other
/// versions are only compared for equality. Late news of an elector's own renewal then looks like
/// another's write and may end a term, and fence tokens have no meaningful order.)
///
/// An implementation does not retry: the elector counts its term from the instant before the call,
/// and a hidden retry turns its own success into a conflict. It needs no time-out: the elector
/// gives each call one, and drops its future.
#[async_trait]
#[doc(alias = "resourcelock.Interface")]
pub trait LeaseStore: Send + Sync {
    /// Reads the Lease; `None` if it does not exist.
    ///
    /// # Errors
    /// Any but `NotFound` and `Conflict`.
    async fn get(&self) -> Result<Option<StoredLease>, StoreError>;

    /// Creates the Lease, if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if there is one already, and only then: the elector concludes that
    /// another may lead.
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError>;

    /// Replaces the record, if the object (its uid) and its version are still the given ones. Never
    /// creates a deleted Lease.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the version moved on, [`StoreError::NotFound`] if there is no
    /// Lease.
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError>;

    /// Watches the changes after `from`; with `None` the present state (if the Lease exists) and
    /// all changes after it.
    ///
    /// The stream may end at any time. A store that cannot watch returns an error, and the elector
    /// polls.
    ///
    /// # Errors
    /// [`StoreError::Expired`] if `from` is too old.
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError>;

    /// Announces the beginning or the end of a term to people: a Kubernetes Event, a line in a log.
    /// The default does nothing. The elector calls it in a task of its runtime, between two
    /// requests: an implementation returns at once, and sends in the background. A panic in it is
    /// logged, and changes nothing.
    #[doc(alias = "RecordEvent")]
    fn announce(&self, announcement: &Announcement) {
        let _ = announcement;
    }
}

#[async_trait]
impl<S: LeaseStore + ?Sized> LeaseStore for Arc<S> {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        (**self).get().await
    }
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        (**self).create(record).await
    }
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        (**self).update(version, record).await
    }
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        (**self).watch(from).await
    }
    fn announce(&self, announcement: &Announcement) {
        (**self).announce(announcement);
    }
}
