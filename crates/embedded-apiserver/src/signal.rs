//! A value that many follow, woken by its changes in the order in which they began to wait, so that
//! what comes of it repeats: `tokio::sync::watch` wakes its receivers in an order that it draws.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use tokio::sync::Notify;

/// The version of a signal whose end has come.
const ENDED: u64 = u64::MAX;

#[derive(Debug)]
struct Shared<T> {
    value: RwLock<T>,
    /// Counts the changes.
    version: AtomicU64,
    changed: Notify,
}

/// The end that changes the value. When it is dropped, whoever waits hears that there is nothing
/// more to come.
#[derive(Debug)]
pub(crate) struct Signal<T>(Arc<Shared<T>>);

/// An end that follows the value.
#[derive(Debug)]
pub(crate) struct Follower<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

/// Nobody can change the value any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended;

impl<T> Signal<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(Shared {
            value: RwLock::new(value),
            version: AtomicU64::new(0),
            changed: Notify::new(),
        }))
    }

    /// Changes the value, and wakes those who follow if `change` says that it did. They are not to
    /// be called by it.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T) -> bool) {
        let mut value = self.0.value.write();
        if !change(&mut value) {
            return;
        }
        self.0.version.fetch_add(1, Ordering::Release);
        drop(value);
        self.0.changed.notify_waiters();
    }

    /// Changes the value and wakes those who follow.
    pub(crate) fn set(&self, new: T) {
        let mut old = None;
        self.change(|value| {
            old = Some(std::mem::replace(value, new));
            true
        });
        // A value's own drop runs without the lock.
        drop(old);
    }

    pub(crate) fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.0.value.read())
    }

    /// One who has seen the value as it is now.
    pub(crate) fn follow(&self) -> Follower<T> {
        let seen = self.0.version.load(Ordering::Acquire);
        Follower { shared: Arc::clone(&self.0), seen }
    }
}

impl<T> Drop for Signal<T> {
    fn drop(&mut self) {
        self.0.version.store(ENDED, Ordering::Release);
        self.0.changed.notify_waiters();
    }
}

// Not derived: the value need not be cloned.
impl<T> Clone for Follower<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), seen: self.seen }
    }
}

impl<T> Follower<T> {
    pub(crate) fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.shared.value.read())
    }

    /// Counts the value as seen, as it is now.
    pub(crate) fn see(&mut self) {
        let version = self.shared.version.load(Ordering::Acquire);
        if version != ENDED {
            self.seen = version;
        }
    }

    /// Whether the value is another than was seen last, or will never be another.
    pub(crate) fn has_changed(&self) -> bool {
        self.shared.version.load(Ordering::Acquire) != self.seen
    }

    /// Waits until the value is another than was seen last, and counts it as seen.
    ///
    /// # Errors
    ///
    /// [`Ended`] if nobody can change it any more.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place among those who wait, and no change.
    pub(crate) async fn changed(&mut self) -> Result<(), Ended> {
        loop {
            let mut notified = pin!(self.shared.changed.notified());
            // In the line before the look: a change after it is not missed.
            notified.as_mut().enable();
            match self.shared.version.load(Ordering::Acquire) {
                ENDED => return Err(Ended),
                version if version != self.seen => {
                    self.seen = version;
                    return Ok(());
                }
                _ => notified.await,
            }
        }
    }

    /// Waits until the value is as it should be.
    ///
    /// # Errors
    ///
    /// [`Ended`] if it never will be.
    ///
    /// # Cancel safety
    ///
    /// As of [`changed`](Self::changed).
    pub(crate) async fn until(&mut self, is_so: impl Fn(&T) -> bool) -> Result<(), Ended> {
        loop {
            self.see();
            if self.read(&is_so) {
                return Ok(());
            }
            self.changed().await?;
        }
    }
}

#[cfg(test)]
mod tests;
