//! A value that many tasks follow. A change wakes them in the order in which they began to wait, so
//! that runs repeat: `tokio::sync::watch` wakes its receivers in a random order.

use std::fmt;
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

/// A value that many tasks follow: the end that changes it.
///
/// A change wakes the followers in the order in which they began to wait, so that runs under paused
/// time repeat. When the signal is dropped, each [`Follower`] gets [`SignalError`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let signal = api_front::Signal::new(1);
/// let mut follower = signal.follow();
/// signal.set(2);
/// assert_eq!(follower.changed().await, Ok(()));
/// assert_eq!(follower.read(|value| *value), 2);
/// # });
/// ```
#[derive(Debug)]
pub struct Signal<T>(Arc<Shared<T>>);

/// The end of a [`Signal`] that follows the value.
#[derive(Debug)]
pub struct Follower<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

/// The [`Signal`] is gone: the value cannot change any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalError;

impl fmt::Display for SignalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signal is gone")
    }
}

impl std::error::Error for SignalError {}

impl<T> Signal<T> {
    /// A signal with this value.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Shared {
            value: RwLock::new(value),
            version: AtomicU64::new(0),
            changed: Notify::new(),
        }))
    }

    /// Changes the value, and wakes the followers if `change` returns `true`. It must not use this
    /// signal.
    pub fn change(&self, change: impl FnOnce(&mut T) -> bool) {
        let mut value = self.0.value.write();
        if !change(&mut value) {
            return;
        }
        self.0.version.fetch_add(1, Ordering::Release);
        drop(value);
        self.0.changed.notify_waiters();
    }

    /// Changes the value and wakes the followers.
    pub fn set(&self, new: T) {
        let mut old = None;
        self.change(|value| {
            old = Some(std::mem::replace(value, new));
            true
        });
        // A value's own drop runs without the lock.
        drop(old);
    }

    /// Reads the value.
    pub fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.0.value.read())
    }

    /// A follower that has seen the value as it is now.
    #[must_use]
    pub fn follow(&self) -> Follower<T> {
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
    /// Reads the value.
    pub fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.shared.value.read())
    }

    /// Counts the value as seen, as it is now.
    pub fn see(&mut self) {
        let version = self.shared.version.load(Ordering::Acquire);
        if version != ENDED {
            self.seen = version;
        }
    }

    /// Whether the value is another than was seen last, or will never be another.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.shared.version.load(Ordering::Acquire) != self.seen
    }

    /// Waits until the value is another than was seen last, and counts it as seen.
    ///
    /// # Errors
    ///
    /// [`SignalError`] if the signal is gone.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the order, and no change.
    pub async fn changed(&mut self) -> Result<(), SignalError> {
        loop {
            let mut notified = pin!(self.shared.changed.notified());
            // In the line before the look: a change after it is not missed.
            notified.as_mut().enable();
            match self.shared.version.load(Ordering::Acquire) {
                ENDED => return Err(SignalError),
                version if version != self.seen => {
                    self.seen = version;
                    return Ok(());
                }
                _ => notified.await,
            }
        }
    }

    /// Waits until `is_so` holds for the value.
    ///
    /// # Errors
    ///
    /// [`SignalError`] if it never will be.
    ///
    /// # Cancel safety
    ///
    /// As of [`changed`](Self::changed).
    pub async fn until(&mut self, is_so: impl Fn(&T) -> bool) -> Result<(), SignalError> {
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
