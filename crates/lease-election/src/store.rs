//! LeaseStore: where the Lease lives. Four calls, all the elector needs of a server.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::announcement::Announcement;
use crate::error::StoreError;
use crate::record::{Record, StoredLease};
use crate::version::Version;

/// A change of the Lease, as a watch tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LeaseEvent {
    /// The Lease was made, or changed, or is in this state as the watch begins.
    Changed(StoredLease),
    /// The Lease is gone; with its last state if the watch tells it.
    Deleted(Option<StoredLease>),
    /// Nothing changed, the watch is alive (a bookmark).
    Alive,
}

/// The events of one watch.
pub type LeaseEvents = BoxStream<'static, Result<LeaseEvent, StoreError>>;

/// One Lease on some server.
///
/// The server must offer linearizable compare-and-swap on the object, and linearizable reads: the
/// safety of an election rests on both. Resource versions are decimal numbers that rise over
/// **all** writes of the store, also from an object that was deleted to the next of its name, as an
/// API server's are, and none is handed out twice: fence tokens are compared by them, and so is
/// what is old news. (Versions that are no numbers are compared for equality alone: then late news
/// of one's own earlier renewal reads as another's write and may end a term, and fence tokens have
/// no order that means anything.) An implementation does not retry: the elector anchors its term at
/// the instant before the call, and a hidden retry would make a conflict out of its own success. It
/// needs no time-out either: the elector gives each call one and drops its future.
#[async_trait]
#[doc(alias = "resourcelock.Interface")]
pub trait LeaseStore: Send + Sync {
    /// The Lease as it is now; `None` if there is none.
    ///
    /// # Errors
    /// Any but `NotFound` and `Conflict`.
    async fn get(&self) -> Result<Option<StoredLease>, StoreError>;

    /// Makes the Lease, if there is none.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if there is one already, and only then: the elector concludes that
    /// another may lead.
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError>;

    /// Replaces the record, if the object (its uid) and its version are still the given ones. Never
    /// makes a Lease that is gone.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the version moved on, [`StoreError::NotFound`] if there is no
    /// Lease.
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError>;

    /// The changes after `from`; with `None` the present state (if there is a Lease) and all
    /// changes after it.
    ///
    /// The stream may end at any time. A store that cannot watch answers an error, and the elector
    /// polls.
    ///
    /// # Errors
    /// [`StoreError::Expired`] if `from` is too old.
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError>;

    /// Makes the beginning or the end of a term known, to people: a Kubernetes Event, a line in a
    /// log. The elector calls it in a task of its runtime, between two requests, so it returns
    /// at once and sends what it sends in the background. It does nothing unless implemented. A
    /// panic in it is logged, and changes nothing.
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
