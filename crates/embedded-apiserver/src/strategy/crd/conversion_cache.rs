//! The objects that a conversion webhook has converted to one version.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::store::stored::Stored;

/// The objects that a webhook has converted to one version, for lists and watches: the newest, by
/// revision, which no other version of any object has.
#[derive(Default)]
#[doc(alias = "watch cache")]
pub(crate) struct ConversionCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    objects: BTreeMap<u64, Arc<Stored>>,
    bytes: usize,
}

/// The most bytes of objects that are entries.
const MOST_BYTES: usize = 64 * 1024 * 1024;

impl fmt::Debug for ConversionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversionCache").field("objects", &self.0.lock().objects.len()).finish()
    }
}

impl ConversionCache {
    /// The converted form of a stored version.
    pub(crate) fn get(&self, stored: &Stored) -> Option<Arc<Stored>> {
        let entries = self.0.lock();
        entries.objects.get(&stored.revision).filter(|known| known.key == stored.key).cloned()
    }

    /// Keeps a converted version.
    pub(crate) fn insert(&self, converted: Arc<Stored>) {
        let mut entries = self.0.lock();
        entries.bytes = entries.bytes.saturating_add(converted.size());
        if let Some(same) = entries.objects.insert(converted.revision, converted) {
            entries.bytes = entries.bytes.saturating_sub(same.size());
        }
        while entries.bytes > MOST_BYTES
            && let Some((_, oldest)) = entries.objects.pop_first()
        {
            entries.bytes = entries.bytes.saturating_sub(oldest.size());
        }
    }
}
