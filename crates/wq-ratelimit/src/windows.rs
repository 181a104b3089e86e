//! `Windows`: until when each failed item is backing off. Pure.
//!
//! An attempt that ends inside the window was brought about by somebody else (an event) before its time. It says nothing
//! new about the item, so it neither raises its back-off nor shortens it.

use hashbrown::HashMap;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

/// Below this many windows closed ones are not looked for.
const SMALL: usize = 64;

#[derive(Debug)]
pub(crate) struct Windows<T, S> {
    until: HashMap<T, Instant, S>,
    /// At this many, those that have closed are removed: at most twice as many as are open are kept.
    sweep_at: usize,
}

impl<T, S> Windows<T, S> {
    pub(crate) fn new(hasher: S) -> Self {
        Self { until: HashMap::with_hasher(hasher), sweep_at: SMALL }
    }

    pub(crate) fn len(&self) -> usize {
        self.until.len()
    }
}

impl<T: Hash + Eq + Clone, S: BuildHasher> Windows<T, S> {
    /// The end of the item's window, if it lies ahead.
    pub(crate) fn open(&self, item: &T, now: Instant) -> Option<Instant> {
        self.until.get(item).copied().filter(|until| *until > now)
    }

    /// Opens a window, or moves its end. Items that are no longer needed go to `discarded`.
    pub(crate) fn set(&mut self, item: &T, until: Instant, now: Instant, discarded: &mut Vec<T>) {
        if let Some(held) = self.until.get_mut(item) {
            *held = until;
            return;
        }
        if self.until.len() >= self.sweep_at {
            discarded.extend(self.until.extract_if(|_, until| *until <= now).map(|(item, _)| item));
            self.sweep_at = self.until.len().saturating_mul(2).max(SMALL);
            self.until.shrink_to(self.sweep_at);
        }
        self.until.insert(item.clone(), until);
    }

    /// The item's window is over.
    pub(crate) fn close(&mut self, item: &T, discarded: &mut Vec<T>) {
        discarded.extend(self.until.remove_entry(item).map(|(item, _)| item));
    }
}

#[cfg(test)]
mod tests {
    use super::{SMALL, Windows};
    use std::time::Duration;
    use wq_delay::{DefaultHasher, ManualTimer, Timer};

    #[test]
    fn a_window_is_open_until_its_end() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let end = start + Duration::from_secs(1);
        let mut windows = Windows::new(DefaultHasher::default());
        windows.set(&1, end, start, &mut discarded);
        assert_eq!(windows.open(&1, start), Some(end));
        assert_eq!(windows.open(&1, end), None);
        windows.close(&1, &mut discarded);
        assert_eq!(windows.open(&1, start), None);
        assert_eq!(discarded, [1]);
    }

    #[test]
    fn closed_windows_do_not_pile_up() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut windows = Windows::new(DefaultHasher::default());
        for n in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(n));
            windows.set(&n, now + Duration::from_millis(10), now, &mut discarded);
            assert!(windows.len() <= SMALL + 1);
        }
        assert_eq!(discarded.len() + windows.len(), 100_000);
    }
}
