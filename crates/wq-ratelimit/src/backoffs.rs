//! `Backoffs`: when each failed item's back-off ends, and from when on its failures count. Pure.
//!
//! A failure before that time says nothing new about the item, because an event has started the
//! attempt. It neither raises nor shortens the back-off. Its delay can put off the retry, but not
//! the time from which failures count: steady events would put that off for ever.
//!
//! After `sweep_at` ended attempts a sweep removes the back-offs of vanished items.

use crate::remembered::Remembered;
use hashbrown::HashMap;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

/// The least number of back-offs or ended attempts that causes a sweep.
const SMALL: usize = 64;

/// The maximum number of back-offs. At this number the half that was opened first is evicted.
const MANY: usize = 1 << 18;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    /// When the retry is due.
    pub(crate) until: Instant,
    /// From when on failures count. Not later than `until`.
    pub(crate) counts_from: Instant,
    /// The number of the attempt that opened it.
    opened: u32,
}

impl Backoff {
    fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }
}

#[derive(Debug)]
pub(crate) struct Backoffs<T, S> {
    held: HashMap<T, Backoff, S>,
    /// The number of back-offs, or of ended attempts, that causes the next sweep.
    sweep_at: usize,
    /// The number of attempts that have ended since the last sweep.
    ends: usize,
    /// The number of attempts that have opened one. It wraps: very old ones then count as new.
    opened: u32,
    expired: u64,
    evicted: u64,
}

impl<T, S> Backoffs<T, S> {
    pub(crate) fn new(hasher: S) -> Self {
        let held = HashMap::with_hasher(hasher);
        Self { held, sweep_at: SMALL, ends: 0, opened: 0, expired: 0, evicted: 0 }
    }

    /// Whether many attempts have ended since the last [`sweep`](Self::sweep).
    pub(crate) fn wants_sweep(&self) -> bool {
        self.ends >= self.sweep_at
    }

    /// Whether an unknown item may be backing off, because others were evicted lately.
    pub(crate) fn is_crowded(&self) -> bool {
        self.evicted > 0 && self.held.len() >= MANY / 2
    }

    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    pub(crate) fn remembered(&self) -> Remembered {
        Remembered { items: self.held.len(), expired: self.expired, evicted: self.evicted }
    }
}

impl<T: Hash + Eq + Clone, S: BuildHasher> Backoffs<T, S> {
    /// The back-off of an item, if it has not ended.
    pub(crate) fn backing_off(&self, item: &T, now: Instant) -> Option<Backoff> {
        if self.held.is_empty() {
            return None;
        }
        self.held.get(item).copied().filter(|window| window.until > now)
    }

    /// The same, if failures do not count yet.
    pub(crate) fn early(&self, item: &T, now: Instant) -> Option<Backoff> {
        self.backing_off(item, now).filter(|window| window.counts_from > now)
    }

    pub(crate) fn open(&self, item: &T, now: Instant) -> Option<Instant> {
        self.backing_off(item, now).map(|window| window.until)
    }

    /// Begins a back-off: failures do not count before its end. Removed items go to `discarded`.
    pub(crate) fn begin(&mut self, item: &T, until: Instant, now: Instant, discarded: &mut Vec<T>) {
        self.opened = self.opened.wrapping_add(1);
        self.ends = self.ends.saturating_add(1);
        let window = Backoff { until, counts_from: until, opened: self.opened };
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

    pub(crate) fn sweep(&mut self, now: Instant, discarded: &mut Vec<T>) {
        for (item, _) in self.held.extract_if(|_, window| window.is_over(now)) {
            self.expired = self.expired.saturating_add(1);
            discarded.push(item);
        }
        self.resize();
    }

    /// Removes the half that was opened first, whether over or not.
    fn evict(&mut self, discarded: &mut Vec<T>) {
        let newest = self.opened;
        let age = |window: &Backoff| newest.wrapping_sub(window.opened);
        // The median over items, not over attempts: an item that fails often is one.
        let mut ages: Vec<u32> = self.held.values().map(age).collect();
        let middle = ages.len() / 2;
        let (_, median, _) = ages.select_nth_unstable(middle);
        let median = *median;
        let is_old = |window: &Backoff| age(window) >= median;
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

    pub(crate) fn change(&mut self, item: &T, until: Instant, counts_from: Instant) {
        if let Some(held) = self.held.get_mut(item) {
            (held.until, held.counts_from) = (until, counts_from);
        }
    }

    /// Ends the item's back-off at `at`, or earlier if it ends earlier.
    pub(crate) fn end_by(&mut self, item: &T, at: Instant, now: Instant, discarded: &mut Vec<T>) {
        if at <= now {
            self.close(item, discarded);
        } else if let Some(held) = self.held.get_mut(item) {
            (held.until, held.counts_from) = (held.until.min(at), held.counts_from.min(at));
        }
    }

    /// Ends the item's back-off now.
    pub(crate) fn close(&mut self, item: &T, discarded: &mut Vec<T>) {
        // Counts without a back-off too: a sweep is for the limiter's records as well.
        self.ends = self.ends.saturating_add(1);
        if self.held.is_empty() {
            return;
        }
        discarded.extend(self.held.remove_entry(item).map(|(item, _)| item));
        // After a burst: one pass for many removals.
        if self.held.capacity() > SMALL * 8 && self.held.len() < self.held.capacity() / 8 {
            self.resize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoffs, Remembered, SMALL};
    use std::time::Duration;
    use wq_delay::{DefaultHasher, ManualTimer, Timer};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_window_is_open_until_its_end() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let end = start + SECOND;
        let mut backoffs = Backoffs::new(DefaultHasher::default());
        backoffs.begin(&1, end, start, &mut discarded);
        assert_eq!(backoffs.open(&1, start), Some(end));
        assert_eq!(backoffs.open(&1, end), None);
        assert_eq!(backoffs.early(&1, start).map(|window| window.until), Some(end));
        backoffs.change(&1, end + SECOND, end);
        backoffs.change(&2, end, end);
        assert_eq!((backoffs.open(&1, end), backoffs.open(&2, start)), (Some(end + SECOND), None));
        assert!(backoffs.early(&1, end).is_none(), "but failures count");
        backoffs.close(&1, &mut discarded);
        assert_eq!(backoffs.open(&1, start), None);
        assert_eq!(discarded, [1]);
    }

    #[test]
    fn closed_windows_do_not_pile_up() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut backoffs = Backoffs::new(DefaultHasher::default());
        for n in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(n));
            let until = now + Duration::from_millis(10);
            backoffs.begin(&n, until, now, &mut discarded);
            assert!(backoffs.len() <= SMALL + 1);
        }
        assert_eq!(discarded.len() + backoffs.len(), 100_000);
    }

    #[test]
    fn a_burst_that_went_well_leaves_no_memory_behind() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut backoffs = Backoffs::new(DefaultHasher::default());
        let burst = |backoffs: &mut Backoffs<u32, DefaultHasher>, discarded: &mut Vec<u32>| {
            (0..100_000).for_each(|n| backoffs.begin(&n, start + SECOND, start, discarded));
            assert!(backoffs.held.capacity() >= 100_000);
        };
        burst(&mut backoffs, &mut discarded);
        (0..100_000).for_each(|n| backoffs.close(&n, &mut discarded));
        assert!(backoffs.held.capacity() < 1000, "{}", backoffs.held.capacity());
        burst(&mut backoffs, &mut discarded);
        backoffs.sweep(start, &mut discarded);
        assert_eq!(backoffs.len(), 100_000, "they are open");
        backoffs.sweep(start + SECOND, &mut discarded);
        assert_eq!((backoffs.len(), backoffs.remembered().expired), (0, 100_000));
        assert!(backoffs.held.capacity() < 1000, "{}", backoffs.held.capacity());
    }

    #[test]
    fn what_leaves_while_it_is_open_is_counted_apart() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut backoffs = Backoffs::new(DefaultHasher::default());
        let many = u32::try_from(super::MANY).unwrap() * 2 + 1;
        (0..many).for_each(|n| backoffs.begin(&n, start + SECOND, start, &mut discarded));
        let Remembered { items, expired, evicted, .. } = backoffs.remembered();
        assert!(evicted > 0);
        assert_eq!((expired, items as u64 + evicted), (0, u64::from(many)));
    }

    #[test]
    fn one_that_fails_again_and_again_takes_nobodys_place() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut backoffs = Backoffs::new(DefaultHasher::default());
        let (end, many) = (start + SECOND, u32::try_from(super::MANY).unwrap());
        (0..many).for_each(|n| backoffs.begin(&n, end, start, &mut discarded));
        (0..many).for_each(|_| backoffs.begin(&0, end, start, &mut discarded));
        assert!(!backoffs.is_crowded());
        backoffs.begin(&many, end, start, &mut discarded);
        assert_eq!(backoffs.len(), super::MANY / 2 + 1);
        assert!(backoffs.is_crowded() && backoffs.open(&0, start).is_some());
        assert!(
            (many / 2 + 1..=many).all(|n| backoffs.open(&n, start).is_some()),
            "those that failed last"
        );
    }

    #[test]
    fn one_that_fails_for_ever_has_the_others_looked_for() {
        let (start, mut discarded) = (ManualTimer::new().now(), Vec::new());
        let mut backoffs = Backoffs::new(DefaultHasher::default());
        let later = start + SECOND;
        (0..1000).for_each(|n| backoffs.begin(&n, later, start, &mut discarded));
        (0..2000).for_each(|_| backoffs.begin(&0, later, later, &mut discarded));
        assert_eq!(backoffs.len(), 1);
    }
}
