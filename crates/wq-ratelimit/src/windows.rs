//! `Windows`: until when each failed item is backing off. Pure.
//!
//! An attempt that ends inside the window was brought about by somebody else (an event) before its time. It says nothing
//! new about the item, so it neither raises its back-off nor shortens it.

use hashbrown::HashMap;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

/// Below this many windows closed ones are not looked for.
const SMALL: usize = 64;

/// Closed windows are not kept for their attempts beyond this many.
const MANY: usize = 1 << 18;

#[derive(Debug, Clone, Copy)]
struct Window {
    until: Instant,
    attempts: u32,
}

#[derive(Debug)]
pub(crate) struct Windows<T, S> {
    held: HashMap<T, Window, S>,
    /// How long a closed one is kept, for the number of its attempts.
    linger: Duration,
    /// At this many, those that are no longer needed are removed: at most twice as many as are needed are kept.
    sweep_at: usize,
}

impl<T, S> Windows<T, S> {
    pub(crate) fn new(hasher: S, linger: Duration) -> Self {
        Self { held: HashMap::with_hasher(hasher), linger, sweep_at: SMALL }
    }

    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &T> {
        self.held.keys()
    }
}

impl<T: Hash + Eq + Clone, S: BuildHasher> Windows<T, S> {
    /// The end of the item's window, if it lies ahead.
    pub(crate) fn open(&self, item: &T, now: Instant) -> Option<Instant> {
        if self.held.is_empty() {
            return None;
        }
        self.held.get(item).map(|window| window.until).filter(|until| *until > now)
    }

    /// How many attempts opened it, as long as that is known.
    pub(crate) fn attempts(&self, item: &T) -> u32 {
        self.held.get(item).map_or(0, |window| window.attempts)
    }

    /// An attempt has opened the item's window. Items that are no longer needed go to `discarded`.
    pub(crate) fn begin(&mut self, item: &T, until: Instant, now: Instant, discarded: &mut Vec<T>) {
        if let Some(held) = self.held.get_mut(item) {
            *held = Window { until, attempts: held.attempts.saturating_add(1) };
            return;
        }
        if self.held.len() >= self.sweep_at {
            let linger = if self.held.len() > MANY { Duration::ZERO } else { self.linger };
            let is_over = |window: &Window| {
                now.saturating_duration_since(window.until) >= linger && window.until <= now
            };
            discarded.extend(self.held.extract_if(|_, window| is_over(window)).map(|(item, _)| item));
            self.sweep_at = self.held.len().saturating_mul(2).max(SMALL);
            self.held.shrink_to(self.sweep_at);
        }
        self.held.insert(item.clone(), Window { until, attempts: 1 });
    }

    /// Moves the end of the item's window, if it has one.
    pub(crate) fn extend(&mut self, item: &T, until: Instant) {
        if let Some(held) = self.held.get_mut(item) {
            held.until = until;
        }
    }

    /// The item's window is over.
    pub(crate) fn close(&mut self, item: &T, discarded: &mut Vec<T>) {
        if !self.held.is_empty() {
            discarded.extend(self.held.remove_entry(item).map(|(item, _)| item));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SMALL, Windows};
    use std::time::Duration;
    use wq_delay::{DefaultHasher, ManualTimer, Timer};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_window_is_open_until_its_end() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let end = start + SECOND;
        let mut windows = Windows::new(DefaultHasher::default(), Duration::ZERO);
        windows.begin(&1, end, start, &mut discarded);
        assert_eq!(windows.open(&1, start), Some(end));
        assert_eq!(windows.open(&1, end), None);
        windows.extend(&1, end + SECOND);
        windows.extend(&2, end);
        assert_eq!((windows.open(&1, end), windows.open(&2, start)), (Some(end + SECOND), None));
        windows.close(&1, &mut discarded);
        assert_eq!(windows.open(&1, start), None);
        assert_eq!(discarded, [1]);
    }

    #[test]
    fn closed_windows_do_not_pile_up() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut windows = Windows::new(DefaultHasher::default(), Duration::ZERO);
        for n in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(n));
            windows.begin(&n, now + Duration::from_millis(10), now, &mut discarded);
            assert!(windows.len() <= SMALL + 1);
        }
        assert_eq!(discarded.len() + windows.len(), 100_000);
    }

    #[test]
    fn attempts_are_known_while_their_window_lingers() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut windows = Windows::new(DefaultHasher::default(), SECOND * 10);
        windows.begin(&0_u32, start, start, &mut discarded);
        windows.begin(&0, start, start, &mut discarded);
        let mut at = |after: u32, windows: &mut Windows<u32, DefaultHasher>| {
            let now = start + SECOND * after;
            let items = after * 1000 + 1..after * 1000 + 200;
            items.for_each(|item| windows.begin(&item, now, now, &mut discarded));
            windows.attempts(&0)
        };
        assert_eq!((at(9, &mut windows), at(10, &mut windows)), (2, 0));
        assert_eq!(windows.attempts(&10_000_000), 0);
    }
}
