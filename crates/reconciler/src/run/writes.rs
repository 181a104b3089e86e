//! `Writes`: what the runs of a controller wrote for each key, until the caches show it.

use std::any::TypeId;
use std::collections::HashMap;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::ObjectKey;
use crate::cache::Unseen;

/// The longest wait for the caches. A watch that fails must not stop the controller.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The writes of one controller, by the key whose run made them.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    by_key: Mutex<HashMap<ObjectKey, Written>>,
}

#[derive(Debug, Default)]
struct Written {
    /// Writes that a cache has yet to show.
    unseen: Vec<Unseen>,
    /// A digest of the last apply to each object.
    applied: HashMap<(TypeId, ObjectKey), u64>,
}

impl Writes {
    /// Waits until the caches show the writes of this key. Returns false if they do not in time.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait forgets the writes: the next one does not wait for them.
    pub(crate) async fn are_seen(&self, key: &ObjectKey) -> bool {
        let unseen = match self.by_key.lock().get_mut(key) {
            Some(written) => std::mem::take(&mut written.unseen),
            None => return true,
        };
        if unseen.is_empty() {
            return true;
        }
        timeout(LONGEST_WAIT, join_all(unseen.into_iter().map(Unseen::seen))).await.is_ok()
    }

    pub(crate) fn note(&self, key: &ObjectKey, unseen: impl IntoIterator<Item = Unseen>) {
        let mut by_key = self.by_key.lock();
        by_key.entry(key.clone()).or_default().unseen.extend(unseen);
    }

    pub(crate) fn applied(&self, key: &ObjectKey, object: (TypeId, ObjectKey), digest: u64) {
        self.by_key.lock().entry(key.clone()).or_default().applied.insert(object, digest);
    }

    /// Whether this was applied last.
    pub(crate) fn was_applied(
        &self,
        key: &ObjectKey,
        object: &(TypeId, ObjectKey),
        digest: u64,
    ) -> bool {
        let by_key = self.by_key.lock();
        by_key.get(key).and_then(|written| written.applied.get(object)) == Some(&digest)
    }

    /// Forgets the writes of a key whose object is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.by_key.lock().remove(key);
    }
}
