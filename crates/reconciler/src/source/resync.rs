//! `Resync`: names every object of a cache again, once an interval. Its times are pure.

use std::cmp::Reverse;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep_until};

use crate::hostile::let_go;
use crate::{Cache, Change, Kind, ObjectKey};

/// Keys that are due within this time are queued together, so that many cost few wake-ups.
const TICK: Duration = Duration::from_millis(10);

/// The first time at which a key may be due, and the time over which all keys spread, in intervals.
const FIRST: f64 = 0.9;
const SPREAD: f64 = 0.2;

/// The objects of a cache, and the interval in which each is named again.
pub(crate) struct Resync<Q> {
    pub(crate) every: Duration,
    objects: Arc<dyn Objects<Q>>,
}

/// The objects as their source names them at a start. Hides the kind.
trait Objects<Q>: Send + Sync {
    fn keys(&self) -> Vec<Q>;
    /// Whether the object exists and passes the source's predicate, which may panic.
    fn is_named(&self, key: &Q) -> bool;
}

impl<K: Kind> Objects<ObjectKey> for Cache<K> {
    fn keys(&self) -> Vec<ObjectKey> {
        self.list().iter().filter_map(|object| ObjectKey::of(&**object)).collect()
    }

    fn is_named(&self, key: &ObjectKey) -> bool {
        let Some(object) = self.get(key) else { return false };
        let change = Change { initial: true, ..Change::appeared(object) };
        self.predicate.as_ref().is_none_or(|passes| passes(&change))
    }
}

impl Resync<ObjectKey> {
    pub(crate) fn new<K: Kind>(every: Duration, objects: Cache<K>) -> Self {
        Self { every, objects: Arc::new(objects) }
    }
}

impl<Q> Clone for Resync<Q> {
    fn clone(&self) -> Self {
        Self { every: self.every, objects: Arc::clone(&self.objects) }
    }
}

impl<Q> Resync<Q> {
    /// Gives each key to `intake` when it is due. Calls `panicked` if the predicate panics for a
    /// key, which is skipped.
    pub(crate) async fn run(self, intake: impl Fn(Q), panicked: impl Fn()) {
        let (mut base, mut rng) = (Instant::now(), Rng::new());
        while let Some(start) = start(base, self.every) {
            sleep_until(start).await;
            let mut round = round(self.objects.keys(), base, self.every, &mut rng);
            while let Some((due, _)) = round.last() {
                sleep_until(*due + TICK).await;
                let now = Instant::now();
                while let Some((_, key)) = round.pop_if(|(due, _)| *due <= now) {
                    match catch_unwind(AssertUnwindSafe(|| self.objects.is_named(&key))) {
                        Ok(true) => intake(key),
                        Ok(false) => {}
                        Err(panic) => {
                            panicked();
                            let_go(panic);
                        }
                    }
                    consume_budget().await;
                }
            }
            base = next(base, self.every, Instant::now());
        }
    }
}

/// The first time at which a key may be due. `None` if no clock reaches the end of the round.
fn start(base: Instant, every: Duration) -> Option<Instant> {
    base.checked_add(every.checked_mul(2)?)?;
    Some(base + every.mul_f64(FIRST))
}

/// The keys with their times, the next one last: after `base`, at random.
fn round<Q>(keys: Vec<Q>, base: Instant, every: Duration, rng: &mut Rng) -> Vec<(Instant, Q)> {
    let due = |key| (base + every.mul_f64(FIRST + SPREAD * rng.f64()), key);
    let mut round: Vec<(Instant, Q)> = keys.into_iter().map(due).collect();
    round.sort_by_key(|(due, _)| Reverse(*due));
    round
}

/// The base of the next round. Rounds that a blocked runtime has missed are left out.
fn next(base: Instant, every: Duration, now: Instant) -> Instant {
    let next = base + every;
    if now.saturating_duration_since(next) > every { now } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn each_key_is_due_once_a_round_and_all_are_spread_over_a_fifth_of_it() {
        let (base, mut rng) = (Instant::now(), Rng::with_seed(1));
        let mut round = round((0..1000).collect(), base, MINUTE, &mut rng);
        let (first, last) = (round[999].0 - base, round[0].0 - base);
        assert!(first >= MINUTE.mul_f64(0.9) && first < MINUTE.mul_f64(0.91), "{first:?}");
        assert!(last <= MINUTE.mul_f64(1.1) && last > MINUTE.mul_f64(1.09), "{last:?}");
        assert!(round.is_sorted_by(|a, b| a.0 >= b.0));
        assert!(start(base, MINUTE).is_some_and(|start| start <= round[999].0));
        let at_once = round.iter().filter(|it| it.0 - base < MINUTE).count();
        assert!((400..600).contains(&at_once), "{at_once} in the first half");
        round.sort_by_key(|(_, key)| *key);
        assert!(round.into_iter().map(|(_, key)| key).eq(0..1000));
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_have_no_drift_skip_what_was_missed_and_end_with_the_clock() {
        let base = Instant::now();
        assert_eq!(next(base, MINUTE, base + MINUTE.mul_f64(1.1)), base + MINUTE);
        let late = base + 10 * MINUTE;
        assert_eq!(next(base, MINUTE, late), late);
        assert_eq!(start(base, Duration::MAX), None);
    }
}
