//! `Timekeepers`: which of the waiting getters keeps time for all, and who takes over. Pure: wakers go in and come out,
//! none is called in here.
//!
//! Of all getters that wait, one is the *keeper*: it sleeps until the earliest deadline. A second is the *reserve*: it
//! sleeps a little longer, so that a keeper that is held but never polled (in a `select!` whose other branch blocks,
//! say) stalls nobody. All others sleep without a timer. Whoever leaves hands its duty to another, who is woken only if
//! there is a deadline to keep.

use crate::planted::planted;
use crate::tick::Tick;
use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How much later than the keeper the reserve looks: longer than the grain of a common timer (1 ms), so that it seldom
/// wakes for nothing, and short beside any delay that is worth queueing for.
pub(crate) const RESERVE_LAG: Duration = Duration::from_millis(5);

/// Names a waiting getter; good until it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchId(u64);

/// Who watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watcher {
    Getter,
    /// Does nothing else, and is preferred.
    Dedicated,
    /// Waits for the end of the queue, and is never on duty.
    Bystander,
}

#[derive(Debug)]
struct Watch {
    /// Taken when it is woken; it brings a new one when it reports again.
    waker: Option<Waker>,
    /// Until when it sleeps at most: its timer, if it has one.
    sleeps_until: Option<Tick>,
    /// It was on duty and missed a deadline: it gets no duty before it has been polled again, and one that it could not
    /// be relieved of goes to the next that reports.
    missed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Timekeepers {
    watches: BTreeMap<WatchId, Watch>,
    next_id: u64,
    keeper: Option<WatchId>,
    reserve: Option<WatchId>,
}

impl Timekeepers {
    /// A getter is about to wait: says until when it should sleep at most (`None`: until woken). Hands out a waker
    /// that is no longer needed.
    ///
    /// Those others on duty who have missed a deadline lose their duties first. Then, of a keeper K and a reserve R:
    ///
    /// | there is | `id` is | keeper | reserve |
    /// | --- | --- | --- | --- |
    /// | no keeper | not R | `id` | R, if any |
    /// | no keeper | R | R | none |
    /// | K | K | K | R, if any |
    /// | K | dedicated, not K | `id` | K |
    /// | K, no reserve | a getter, not K | K | `id` |
    /// | K and R | a getter, not K | K | R |
    pub(crate) fn report(
        &mut self,
        id: &mut Option<WatchId>,
        watcher: Watcher,
        waker: Waker,
        earliest: Option<Tick>,
    ) -> (Option<Tick>, Option<Waker>) {
        let id = *id.get_or_insert_with(|| {
            self.next_id += 1;
            WatchId(self.next_id)
        });
        let is_bystander = watcher == Watcher::Bystander;
        let watch = Watch { waker: Some(waker), sleeps_until: None, missed: is_bystander };
        let replaced = self.watches.insert(id, watch).and_then(|old| old.waker);
        if is_bystander {
            return (None, replaced);
        }
        let had_missed = [self.keeper, self.reserve].into_iter().flatten().any(|duty| self.has_missed(duty));
        self.keeper = self.keeper.filter(|keeper| !self.has_missed(*keeper));
        self.reserve = self.reserve.filter(|reserve| !self.has_missed(*reserve));
        if self.keeper.is_none() && self.reserve != Some(id) {
            self.keeper = Some(id);
        } else if watcher == Watcher::Dedicated && self.keeper != Some(id) {
            // The old keeper's timer is early enough for the reserve.
            self.reserve = self.keeper.replace(id);
        } else if self.keeper.is_none() {
            self.keeper = self.reserve.take();
        } else if self.reserve.is_none() && self.keeper != Some(id) {
            self.reserve = Some(id);
        }
        let until = match earliest {
            // What they had missed may have been moved since this one looked, and its wake-ups have gone to them.
            _ if had_missed && (self.keeper == Some(id) || self.reserve == Some(id)) => Some(Tick::START),
            Some(earliest) if self.keeper == Some(id) => Some(earliest),
            Some(_) if self.reserve == Some(id) && planted("reserve-sleeps-for-ever") => None,
            Some(earliest) if self.reserve == Some(id) => Some(earliest.after(RESERVE_LAG)),
            _ => None,
        };
        let until = until.filter(|until| *until != Tick::NEVER);
        if let Some(watch) = self.watches.get_mut(&id) {
            watch.sleeps_until = until;
        }
        (until, replaced)
    }

    /// A getter waits no longer. Its waker is handed out to be dropped, and that of a successor to be woken.
    pub(crate) fn leave(&mut self, id: WatchId, earliest: Option<Tick>) -> (Option<Waker>, Option<Waker>) {
        let waker = self.watches.remove(&id).and_then(|watch| watch.waker);
        let duty = if self.keeper == Some(id) {
            self.keeper = None;
            true
        } else if self.reserve == Some(id) {
            self.reserve = None;
            true
        } else {
            false
        };
        let successor = if duty { self.fill(earliest) } else { None };
        (waker, successor)
    }

    /// There is a new earliest deadline: hands out the wakers of those on duty whose timers are later, or who have none.
    pub(crate) fn earlier(&mut self, earliest: Tick) -> [Option<Waker>; 2] {
        let duties = [(self.keeper, earliest), (self.reserve, earliest.after(RESERVE_LAG))];
        duties.map(|(id, until)| self.tell(id?, until))
    }

    /// Whether this one keeps the time.
    pub(crate) fn is_keeper(&self, id: WatchId) -> bool {
        self.keeper == Some(id)
    }

    /// Whether this is the one that looks after the keeper.
    pub(crate) fn is_reserve(&self, id: WatchId) -> bool {
        self.reserve == Some(id)
    }

    /// The reserve found a deadline that the keeper has missed, and takes its place. Hands out the waker of the new
    /// reserve.
    pub(crate) fn relieve_keeper(&mut self, earliest: Option<Tick>) -> Option<Waker> {
        self.strike(self.keeper);
        self.keeper = self.reserve.take();
        self.fill(earliest)
    }

    /// Somebody else found a deadline that both have missed. Hands out the wakers of two others; with nobody free they
    /// keep their duties until somebody reports.
    pub(crate) fn relieve_both(&mut self, earliest: Option<Tick>) -> [Option<Waker>; 2] {
        self.strike(self.keeper);
        self.strike(self.reserve);
        if !self.watches.iter().any(|(id, watch)| self.is_free(*id, watch)) {
            return [None, None];
        }
        self.keeper = None;
        self.reserve = None;
        [self.fill(earliest), self.fill(earliest)]
    }

    /// Hands out all wakers: the queue has ended.
    pub(crate) fn everybody(&mut self) -> Vec<Waker> {
        self.watches.values_mut().filter_map(|watch| watch.waker.take()).collect()
    }

    fn strike(&mut self, id: Option<WatchId>) {
        if let Some(watch) = id.and_then(|id| self.watches.get_mut(&id)) {
            watch.missed = true;
        }
    }

    fn has_missed(&self, id: WatchId) -> bool {
        self.watches.get(&id).is_none_or(|watch| watch.missed)
    }

    fn is_free(&self, id: WatchId, watch: &Watch) -> bool {
        !watch.missed && self.keeper != Some(id) && self.reserve != Some(id)
    }

    /// Gives a vacant duty to the getter that has waited longest. With nobody free the reserve becomes the keeper.
    fn fill(&mut self, earliest: Option<Tick>) -> Option<Waker> {
        let free = self.watches.iter().find(|(id, watch)| self.is_free(**id, watch)).map(|(id, _)| *id);
        let chosen = match (self.keeper, free) {
            (None, Some(free)) => *self.keeper.insert(free),
            (None, None) => {
                self.keeper = self.reserve.take();
                self.keeper?
            }
            (Some(_), Some(free)) if self.reserve.is_none() => *self.reserve.insert(free),
            (Some(_), _) => return None,
        };
        // It sleeps without a timer, or with the reserve's.
        earliest?;
        self.watches.get_mut(&chosen)?.waker.take()
    }

    fn tell(&mut self, id: WatchId, until: Tick) -> Option<Waker> {
        let watch = self.watches.get_mut(&id)?;
        if watch.sleeps_until.is_some_and(|sleeps_until| sleeps_until <= until) {
            return None;
        }
        watch.waker.take()
    }
}
