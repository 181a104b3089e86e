//! Term: the state of one term, behind every clone of its guard. It is a latch with a deadline: it
//! ends once, and nothing makes it valid again.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::clock::{Clock, Moment};
use crate::error::StoreError;
use crate::loss::Loss;
use crate::planted::planted;
use crate::platform::{AtomicBool, AtomicU64, Notify, OnceLock, Ordering};
use crate::record::{Marks, StoredLease};
use crate::standing::Standing;
use crate::store::LeaseStore;
use crate::version::FenceToken;

/// The state of one term that its guards share with the driver.
pub(crate) struct Term {
    fence: FenceToken,
    identity: String,
    writer: String,
    marks: Marks,
    acquire_time: Timestamp,
    /// The clock's nanoseconds up to which the term is valid; 0 = over. Raised only while it is
    /// neither 0 nor reached.
    valid_until: AtomicU64,
    loss: OnceLock<Loss>,
    stopping: AtomicBool,
    /// Whether the lease is released when the work has ended.
    releases: bool,
    /// Only in a coordinated election.
    standing: Option<Arc<Standing>>,
    /// The successor that the release names.
    successor: Mutex<Option<String>>,
    /// Notified when `loss` or `stopping` is set.
    changed: Notify,
    clock: Arc<dyn Clock>,
    store: Arc<dyn LeaseStore>,
    request_timeout: Duration,
}

/// The parts of a [`Term`].
pub(crate) struct TermParts {
    pub(crate) fence: FenceToken,
    pub(crate) identity: String,
    pub(crate) writer: String,
    pub(crate) marks: Marks,
    pub(crate) acquire_time: Timestamp,
    pub(crate) valid_until: Moment,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Arc<dyn LeaseStore>,
    pub(crate) request_timeout: Duration,
    pub(crate) releases: bool,
    pub(crate) standing: Option<Arc<Standing>>,
}

impl Term {
    pub(crate) fn begin(parts: TermParts) -> Arc<Self> {
        Arc::new(Self {
            fence: parts.fence,
            identity: parts.identity,
            writer: parts.writer,
            marks: parts.marks,
            acquire_time: parts.acquire_time,
            valid_until: AtomicU64::new(parts.valid_until.to_nanos()),
            loss: OnceLock::new(),
            stopping: AtomicBool::new(false),
            releases: parts.releases,
            standing: parts.standing,
            successor: Mutex::new(None),
            changed: Notify::new(),
            clock: parts.clock,
            store: parts.store,
            request_timeout: parts.request_timeout,
        })
    }

    pub(crate) fn fence(&self) -> &FenceToken {
        &self.fence
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn releases(&self) -> bool {
        self.releases
    }

    /// Whether the server's controller chooses the next leader.
    pub(crate) fn server_elects(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| standing.server_elects())
    }

    pub(crate) fn name_successor(&self, identity: String) {
        *self.successor.lock().unwrap_or_else(PoisonError::into_inner) = Some(identity);
    }

    pub(crate) fn successor(&self) -> Option<String> {
        self.successor.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the Lease once, within the request time-out.
    pub(crate) async fn read(&self) -> Result<Option<StoredLease>, StoreError> {
        match tokio::time::timeout(self.request_timeout, self.store.get()).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::unknown("no answer within the request time-out")),
        }
    }

    /// The loss that this Lease implies; `None` if it holds a record of this term.
    pub(crate) fn contradiction(&self, lease: &StoredLease) -> Option<Loss> {
        let record = &lease.record;
        if lease.version.uid != self.fence.uid {
            Some(Loss::Replaced)
        } else if record.holder.is_empty() {
            Some(Loss::Released)
        } else if record.holder != self.identity {
            Some(Loss::TakenOver { by: record.holder.clone() })
        } else if record.acquire_time != Some(self.acquire_time)
            || !record.is_as_written_by(&self.writer, self.marks)
        {
            Some(Loss::ForeignWrite)
        } else {
            None
        }
    }

    /// Reads the clock, and is a latch: a call that finds the term expired ends it. No renewal
    /// noted at the same instant revives it.
    pub(crate) fn is_valid(&self) -> bool {
        let mut until = self.valid_until.load(Ordering::SeqCst);
        loop {
            if until == 0 {
                return false;
            }
            if self.clock.now().to_nanos() < until || planted("guard-without-clock") {
                return true;
            }
            match self.valid_until.compare_exchange(until, 0, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => {
                    self.note(Loss::Expired);
                    return false;
                }
                Err(seen) => until = seen,
            }
        }
    }

    /// Extends the term to `until`. Returns `false` if the term is over.
    #[must_use]
    pub(crate) fn extend(&self, until: Moment) -> bool {
        loop {
            if !self.is_valid() {
                return false;
            }
            let held = self.valid_until.load(Ordering::SeqCst);
            let longer = held.max(until.to_nanos());
            if held == 0 {
                return false;
            }
            if self.clock.now().to_nanos() >= held {
                continue;
            }
            if self
                .valid_until
                .compare_exchange(held, longer, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
            {
                return true;
            }
        }
    }

    /// Ends the term, unless it is over already.
    pub(crate) fn end(&self, loss: Loss) {
        // Read first: a clock that panics must not leave an ended term without its reason.
        let now = self.clock.now().to_nanos();
        let held = self.valid_until.swap(0, Ordering::SeqCst);
        if held != 0 {
            self.note(if now >= held { Loss::Expired } else { loss });
        }
    }

    /// Ends the term without reading the clock, which may have panicked.
    pub(crate) fn break_off(&self) {
        if self.valid_until.swap(0, Ordering::SeqCst) != 0 {
            self.note(Loss::Broken);
        }
    }

    fn note(&self, loss: Loss) {
        if self.loss.set(loss).is_ok() {
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn request_stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn stop_requested(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.stopping.load(Ordering::SeqCst) {
                return;
            }
            changed.await;
        }
    }

    pub(crate) fn loss(&self) -> Loss {
        // Between the swap that ends a term and the note of its reason, another thread gets the
        // usual reason.
        self.loss.get().cloned().unwrap_or(Loss::Expired)
    }

    /// Only looks: it neither ends an expired term nor notifies waiters.
    pub(crate) fn remaining(&self) -> Duration {
        match self.valid_until.load(Ordering::SeqCst) {
            0 => Duration::ZERO,
            until => Moment::from_nanos(until).since(self.clock.now()),
        }
    }

    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn lost(&self) -> Loss {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(loss) = self.loss.get() {
                return loss.clone();
            }
            if !self.is_valid() {
                // The thread that ended the term notes the reason next.
                changed.await;
                continue;
            }
            let until = Moment::from_nanos(self.valid_until.load(Ordering::SeqCst));
            tokio::select! {
                biased;
                () = changed => {}
                () = self.clock.sleep_until(until) => {}
            }
        }
    }
}

// Left out of the model checker's program, which has no store.
#[cfg(all(test, not(wq_loom)))]
mod tests;
