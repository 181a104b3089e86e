//! `Windows`: until when each failed item is backing off, and from when on another failure of it counts. Pure.
//!
//! An attempt that ends before that was brought about by somebody else (an event) before its time. It says nothing
//! new about the item, so it neither raises its back-off nor shortens it. It may have a delay of its own, which puts the
//! retry off, but not the time from which failures count: under steady events there would be no such time.
//!
//! Nobody says when an item has vanished in its back-off. So windows that are over are looked for whenever as many items
//! have ended an attempt as there are windows, failed or not, and of very many those that were opened longest ago go.

use crate::remembered::Remembered;
use hashbrown::HashMap;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

/// Below this many windows closed ones are not looked for.
const SMALL: usize = 64;

/// At most so many windows are known. Beyond that the half of them that was opened last.
const MANY: usize = 1 << 18;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// When the retry is due.
    pub(crate) until: Instant,
    /// Not later than that.
    pub(crate) counts_from: Instant,
    /// The number of the attempt that has opened it.
    opened: u32,
}

impl Window {
    fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }
}

#[derive(Debug)]
pub(crate) struct Windows<T, S> {
    held: HashMap<T, Window, S>,
    /// At this many windows, or ends since the last time, those that are no longer needed are removed.
    sweep_at: usize,
    /// How many attempts have ended since then.
    ends: usize,
    /// How many attempts have opened one. It wraps: by then those of before are gone, or count as new ones.
    opened: u32,
    expired: u64,
    evicted: u64,
}

impl<T, S> Windows<T, S> {
    pub(crate) fn new(hasher: S) -> Self {
        let held = HashMap::with_hasher(hasher);
        Self { held, sweep_at: SMALL, ends: 0, opened: 0, expired: 0, evicted: 0 }
    }

    /// Whether many attempts have ended since the last [`sweep`](Self::sweep).
    pub(crate) fn wants_sweep(&self) -> bool {
        self.ends >= self.sweep_at
    }

    /// Whether an item that is not known may be backing off: others took its place lately.
    pub(crate) fn is_crowded(&self) -> bool {
        self.evicted > 0 && self.held.len() >= MANY / 2
    }

    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    pub(crate) fn remembered(&self) -> Remembered {
        Remembered { items: self.held.len(), expired: self.expired, evicted: self.evicted }
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &T> {
        self.held.keys()
    }
}

impl<T: Hash + Eq + Clone, S: BuildHasher> Windows<T, S> {
    /// The item's window, if it is backing off.
    pub(crate) fn backing_off(&self, item: &T, now: Instant) -> Option<Window> {
        if self.held.is_empty() {
            return None;
        }
        self.held.get(item).copied().filter(|window| window.until > now)
    }

    /// The same, if a failure does not count yet.
    pub(crate) fn early(&self, item: &T, now: Instant) -> Option<Window> {
        self.backing_off(item, now).filter(|window| window.counts_from > now)
    }

    /// When the item's back-off ends, if it is backing off.
    pub(crate) fn open(&self, item: &T, now: Instant) -> Option<Instant> {
        self.backing_off(item, now).map(|window| window.until)
    }

    /// An attempt has opened the item's window: failures do not count before its end. Items that are no
    /// longer needed go to `discarded`.
    pub(crate) fn begin(&mut self, item: &T, until: Instant, now: Instant, discarded: &mut Vec<T>) {
        self.opened = self.opened.wrapping_add(1);
        self.ends = self.ends.saturating_add(1);
        let window = Window { until, counts_from: until, opened: self.opened };
        if let Some(held) = self.held.get_mut(item) {
            *held = window;
            if self.wants_sweep() {
                self.sweep(now, discarded);
            }
            return;
        }
        if self.held.len() >= self.sweep_at || self.wants_sweep() {
            self.sweep(now, discarded);
        }
        if self.held.len() >= MANY {
            self.evict(discarded);
        }
        self.held.insert(item.clone(), window);
    }

    /// Removes what is no longer needed.
    pub(crate) fn sweep(&mut self, now: Instant, discarded: &mut Vec<T>) {
        for (item, _) in self.held.extract_if(|_, window| window.is_over(now)) {
            self.expired = self.expired.saturating_add(1);
            discarded.push(item);
        }
        self.resize();
    }

    /// Makes room: the half of them goes that was opened longest ago, whether they are over or not.
    fn evict(&mut self, discarded: &mut Vec<T>) {
        let newest = self.opened;
        let age = |window: &Window| newest.wrapping_sub(window.opened);
        // Of items, not of attempts: an item that fails again and again is one.
        let mut ages: Vec<u32> = self.held.values().map(age).collect();
        let middle = ages.len() / 2;
        let (_, median, _) = ages.select_nth_unstable(middle);
        let median = *median;
        let is_old = |window: &Window| age(window) >= median;
        for (item, _) in self.held.extract_if(|_, window| is_old(window)) {
            self.evicted = self.evicted.saturating_add(1);
            discarded.push(item);
        }
        self.resize();
    }

    fn resize(&mut self) {
        self.ends = 0;
        self.sweep_at = self.held.len().saturating_mul(2).clamp(SMALL, MANY);
        self.held.shrink_to(self.sweep_at);
    }

    /// Removes what is no longer needed, and gives back memory that is not in use.
    pub(crate) fn shrink(&mut self, now: Instant, discarded: &mut Vec<T>) {
        self.sweep(now, discarded);
        self.held.shrink_to_fit();
    }

    /// Changes the item's window, if it has one.
    pub(crate) fn change(&mut self, item: &T, until: Instant, counts_from: Instant) {
        if let Some(held) = self.held.get_mut(item) {
            (held.until, held.counts_from) = (until, counts_from);
        }
    }

    /// Nothing is to bring the item back at the end of its window any more: that is over, at `at` at the latest.
    pub(crate) fn end_by(&mut self, item: &T, at: Instant, now: Instant, discarded: &mut Vec<T>) {
        if at <= now {
            self.close(item, discarded);
        } else if let Some(held) = self.held.get_mut(item) {
            (held.until, held.counts_from) = (held.until.min(at), held.counts_from.min(at));
        }
    }

    /// The item's window is over.
    pub(crate) fn close(&mut self, item: &T, discarded: &mut Vec<T>) {
        // Also where there is none: a sweep is for what the limiter remembers, too.
        self.ends = self.ends.saturating_add(1);
        if self.held.is_empty() {
            return;
        }
        discarded.extend(self.held.remove_entry(item).map(|(item, _)| item));
        // After a burst: one pass for many that have left.
        if self.held.capacity() > SMALL * 8 && self.held.len() < self.held.capacity() / 8 {
            self.resize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Remembered, SMALL, Windows};
    use std::time::Duration;
    use wq_delay::{DefaultHasher, ManualTimer, Timer};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_window_is_open_until_its_end() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let end = start + SECOND;
        let mut windows = Windows::new(DefaultHasher::default());
        windows.begin(&1, end, start, &mut discarded);
        assert_eq!(windows.open(&1, start), Some(end));
        assert_eq!(windows.open(&1, end), None);
        assert_eq!(windows.early(&1, start).map(|window| window.until), Some(end));
        windows.change(&1, end + SECOND, end);
        windows.change(&2, end, end);
        assert_eq!((windows.open(&1, end), windows.open(&2, start)), (Some(end + SECOND), None));
        assert!(windows.early(&1, end).is_none(), "but failures count");
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
            let until = now + Duration::from_millis(10);
            windows.begin(&n, until, now, &mut discarded);
            assert!(windows.len() <= SMALL + 1);
        }
        assert_eq!(discarded.len() + windows.len(), 100_000);
    }

    #[test]
    fn a_burst_that_went_well_leaves_no_memory_behind() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut windows = Windows::new(DefaultHasher::default());
        let burst = |windows: &mut Windows<u32, DefaultHasher>, discarded: &mut Vec<u32>| {
            (0..100_000).for_each(|n| windows.begin(&n, start + SECOND, start, discarded));
            assert!(windows.held.capacity() >= 100_000);
        };
        burst(&mut windows, &mut discarded);
        (0..100_000).for_each(|n| windows.close(&n, &mut discarded));
        assert!(windows.held.capacity() < 1000, "{}", windows.held.capacity());
        burst(&mut windows, &mut discarded);
        windows.shrink(start, &mut discarded);
        assert_eq!(windows.len(), 100_000, "they are open");
        windows.shrink(start + SECOND, &mut discarded);
        assert_eq!((windows.held.capacity(), windows.remembered().expired), (0, 100_000));
    }

    #[test]
    fn what_leaves_while_it_is_open_is_counted_apart() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut windows = Windows::new(DefaultHasher::default());
        let many = u32::try_from(super::MANY).unwrap() * 2 + 1;
        (0..many).for_each(|n| windows.begin(&n, start + SECOND, start, &mut discarded));
        let Remembered { items, expired, evicted, .. } = windows.remembered();
        assert!(evicted > 0);
        assert_eq!((expired, items as u64 + evicted), (0, u64::from(many)));
    }

    #[test]
    fn one_that_fails_again_and_again_takes_nobodys_place() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut windows = Windows::new(DefaultHasher::default());
        let (end, many) = (start + SECOND, u32::try_from(super::MANY).unwrap());
        (0..many).for_each(|n| windows.begin(&n, end, start, &mut discarded));
        (0..many).for_each(|_| windows.begin(&0, end, start, &mut discarded));
        assert!(!windows.is_crowded());
        windows.begin(&many, end, start, &mut discarded);
        assert_eq!(windows.len(), super::MANY / 2 + 1);
        assert!(windows.is_crowded() && windows.open(&0, start).is_some());
        assert!((many / 2 + 1..=many).all(|n| windows.open(&n, start).is_some()), "those that failed last");
    }

    #[test]
    fn one_that_fails_for_ever_has_the_others_looked_for() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut windows = Windows::new(DefaultHasher::default());
        let later = start + SECOND;
        (0..1000).for_each(|n| windows.begin(&n, later, start, &mut discarded));
        (0..2000).for_each(|_| windows.begin(&0, later, later, &mut discarded));
        assert_eq!(windows.len(), 1);
    }
}
