//! `PerClass`: another pace for failures of another kind.

use crate::class::Class;
use crate::limiter::RateLimiter;
use crate::remembered::Remembered;
use std::time::{Duration, Instant};

/// A limiter for each class of failures: quick retries for what passes by itself, slow ones for what needs a human.
///
/// A worker hints at the class with [`Outcome::RetryAs`](crate::Outcome::RetryAs); failures without a class, or of one that
/// has no limiter here, have the usual one. The attempts of an item are those of all classes together, and are forgotten
/// together. All limiters are of one type: `Box<dyn RateLimiter<T> + Send>` mixes.
///
/// ```
/// use std::time::{Duration, Instant};
/// use wq_ratelimit::{Class, ExponentialBackoff, PerClass, RateLimiter};
///
/// const INFEASIBLE: Class = Class::new("infeasible");
///
/// let usual = ExponentialBackoff::new(Duration::from_millis(5), Duration::from_secs(60))?;
/// let slow = ExponentialBackoff::new(Duration::from_secs(60), Duration::from_secs(3600))?;
/// let mut limiter = PerClass::new(usual).with(INFEASIBLE, slow);
/// let now = Instant::now();
/// assert_eq!(limiter.next_delay(&"claim", now), Duration::from_millis(5));
/// assert_eq!(limiter.next_delay_as(&"claim", INFEASIBLE, now), Duration::from_secs(60));
/// assert_eq!(limiter.num_requeues(&"claim"), 2);
/// # Ok::<(), wq_ratelimit::InvalidLimit>(())
/// ```
#[derive(Debug, Clone)]
pub struct PerClass<L> {
    usual: L,
    classes: Vec<(Class, L)>,
}

impl<L> PerClass<L> {
    /// With this limiter for all that has no class.
    #[must_use]
    pub const fn new(usual: L) -> Self {
        Self { usual, classes: Vec::new() }
    }

    /// With this limiter for a class, in place of one that it had.
    #[must_use]
    pub fn with(mut self, class: Class, limiter: L) -> Self {
        self.classes.retain(|(held, _)| *held != class);
        self.classes.push((class, limiter));
        self
    }

    fn all(&self) -> impl Iterator<Item = &L> {
        std::iter::once(&self.usual).chain(self.classes.iter().map(|(_, limiter)| limiter))
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut L> {
        std::iter::once(&mut self.usual).chain(self.classes.iter_mut().map(|(_, limiter)| limiter))
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for PerClass<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.usual.next_delay(item, now)
    }

    fn next_delay_as(&mut self, item: &T, class: Class, now: Instant) -> Duration {
        let own = self.classes.iter_mut().find(|(held, _)| *held == class);
        own.map_or(&mut self.usual, |(_, limiter)| limiter).next_delay_as(item, class, now)
    }

    fn keep_until(&mut self, item: &T, until: Instant, now: Instant) {
        self.all_mut().for_each(|limiter| limiter.keep_until(item, until, now));
    }

    fn forget(&mut self, item: &T) {
        self.all_mut().for_each(|limiter| limiter.forget(item));
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.all().fold(0, |sum, limiter| sum.saturating_add(limiter.num_requeues(item)))
    }

    fn remembered(&self) -> Remembered {
        self.all().fold(Remembered::default(), |sum, limiter| sum.and(limiter.remembered()))
    }

    fn each_remembered(&self, visit: &mut dyn FnMut(&T)) {
        self.all().for_each(|limiter| limiter.each_remembered(visit));
    }

    fn take_discarded(&mut self) -> Vec<T> {
        self.all_mut().flat_map(RateLimiter::take_discarded).collect()
    }

    fn sweep(&mut self, now: Instant) {
        self.all_mut().for_each(|limiter| limiter.sweep(now));
    }

    fn shrink(&mut self) {
        self.all_mut().for_each(RateLimiter::shrink);
    }
}
