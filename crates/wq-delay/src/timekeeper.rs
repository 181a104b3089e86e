//! Timekeepers: which waiting getter keeps the time, and which takes over. Pure: it calls no waker.
//!
//! The *leader* sleeps until the earliest deadline. The *standby* sleeps a little longer: it takes
//! over from a leader that is held but never polled, such as in a `select!` whose other branch
//! blocks. Other getters sleep without a timer. A getter that leaves hands its duty to another,
//! which is woken only if an item is delayed.

use crate::planted::planted;
use crate::tick::Tick;
use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How much later than the leader the standby looks. Longer than the grain of common timers (1 ms),
/// so that it seldom wakes for nothing, and shorter than most delays.
pub(crate) const STANDBY_LAG: Duration = Duration::from_millis(5);

/// The id of a waiting getter, valid until it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchId(u64);

/// Which duties a waiting future may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerRole {
    Getter,
    /// Only keeps the time, and is preferred as leader.
    Dedicated,
    /// Waits for the shutdown, and never has a duty.
    Bystander,
}

#[derive(Debug)]
struct Watch {
    /// Taken when it is woken. A report brings a new one.
    waker: Option<Waker>,
    /// The deadline of its timer, if it has one.
    sleeps_until: Option<Tick>,
    /// It missed a deadline on duty, and gets no duty until it reports again. If no other getter
    /// was free, it keeps its duty until the next report.
    missed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Timekeepers {
    watches: BTreeMap<WatchId, Watch>,
    next_id: u64,
    leader: Option<WatchId>,
    standby: Option<WatchId>,
}

impl Timekeepers {
    /// Records that a getter is about to wait. Returns until when it should sleep at most (`None`:
    /// until woken), and its old waker.
    ///
    /// Other getters on duty that have missed a deadline lose their duties first. Then, with a
    /// leader L and a standby S:
    ///
    /// | before | `id` is | leader | standby |
    /// | --- | --- | --- | --- |
    /// | no leader | not S | `id` | S, if any |
    /// | no leader | S | S | none |
    /// | L | L | L | S, if any |
    /// | L | dedicated, not L | `id` | L |
    /// | L, no standby | a getter, not L | L | `id` |
    /// | L and S | a getter, not L | L | S |
    pub(crate) fn report(
        &mut self,
        id: &mut Option<WatchId>,
        role: TimerRole,
        waker: Waker,
        earliest: Option<Tick>,
    ) -> (Option<Tick>, Option<Waker>) {
        let id = *id.get_or_insert_with(|| {
            self.next_id += 1;
            WatchId(self.next_id)
        });
        let is_bystander = role == TimerRole::Bystander;
        let watch = Watch { waker: Some(waker), sleeps_until: None, missed: is_bystander };
        let replaced = self.watches.insert(id, watch).and_then(|old| old.waker);
        if is_bystander {
            return (None, replaced);
        }
        let had_missed =
            [self.leader, self.standby].into_iter().flatten().any(|duty| self.has_missed(duty));
        self.leader = self.leader.filter(|leader| !self.has_missed(*leader));
        self.standby = self.standby.filter(|standby| !self.has_missed(*standby));
        if self.leader.is_none() && self.standby != Some(id) {
            self.leader = Some(id);
        } else if role == TimerRole::Dedicated && self.leader != Some(id) {
            // The timer of the old leader is early enough for a standby.
            self.standby = self.leader.replace(id);
        } else if self.leader.is_none() {
            self.leader = self.standby.take();
        } else if self.standby.is_none() && self.leader != Some(id) {
            self.standby = Some(id);
        }
        let until = match earliest {
            // They may have got the wake-ups for an earlier deadline, so look again at once.
            _ if had_missed && (self.leader == Some(id) || self.standby == Some(id)) => {
                Some(Tick::START)
            }
            Some(earliest) if self.leader == Some(id) => Some(earliest),
            Some(_) if self.standby == Some(id) && planted("reserve-sleeps-for-ever") => None,
            Some(earliest) if self.standby == Some(id) => Some(earliest.after(STANDBY_LAG)),
            _ => None,
        };
        let until = until.filter(|until| *until != Tick::NEVER);
        if let Some(watch) = self.watches.get_mut(&id) {
            watch.sleeps_until = until;
        }
        (until, replaced)
    }

    /// Removes a getter. Returns its waker, to be dropped, and the waker of its successor, to be
    /// called.
    pub(crate) fn leave(
        &mut self,
        id: WatchId,
        earliest: Option<Tick>,
    ) -> (Option<Waker>, Option<Waker>) {
        let waker = self.watches.remove(&id).and_then(|watch| watch.waker);
        let duty = if self.leader == Some(id) {
            self.leader = None;
            true
        } else if self.standby == Some(id) {
            self.standby = None;
            true
        } else {
            false
        };
        let successor = if duty { self.fill(earliest) } else { None };
        (waker, successor)
    }

    /// Returns the wakers of those on duty that would sleep beyond a new earliest deadline.
    pub(crate) fn earlier(&mut self, earliest: Tick) -> [Option<Waker>; 2] {
        let duties = [(self.leader, earliest), (self.standby, earliest.after(STANDBY_LAG))];
        duties.map(|(id, until)| self.tell(id?, until))
    }

    pub(crate) fn is_leader(&self, id: WatchId) -> bool {
        self.leader == Some(id)
    }

    pub(crate) fn is_standby(&self, id: WatchId) -> bool {
        self.standby == Some(id)
    }

    /// Replaces a leader that missed a deadline with the standby. Returns the waker of the new
    /// standby.
    pub(crate) fn relieve_leader(&mut self, earliest: Option<Tick>) -> Option<Waker> {
        self.strike(self.leader);
        self.leader = self.standby.take();
        self.fill(earliest)
    }

    /// Replaces a leader and a standby that missed a deadline. Returns the wakers of their
    /// successors. If no getter is free, they keep their duties until the next report.
    pub(crate) fn relieve_both(&mut self, earliest: Option<Tick>) -> [Option<Waker>; 2] {
        self.strike(self.leader);
        self.strike(self.standby);
        if !self.watches.iter().any(|(id, watch)| self.is_free(*id, watch)) {
            return [None, None];
        }
        self.leader = None;
        self.standby = None;
        [self.fill(earliest), self.fill(earliest)]
    }

    /// Takes all wakers, for a shutdown.
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
        !watch.missed && self.leader != Some(id) && self.standby != Some(id)
    }

    /// Gives a vacant duty to the getter that has waited longest. If none is free, the standby
    /// becomes the leader.
    fn fill(&mut self, earliest: Option<Tick>) -> Option<Waker> {
        let free =
            self.watches.iter().find(|(id, watch)| self.is_free(**id, watch)).map(|(id, _)| *id);
        let chosen = match (self.leader, free) {
            (None, Some(free)) => *self.leader.insert(free),
            (None, None) => {
                self.leader = self.standby.take();
                self.leader?
            }
            (Some(_), Some(free)) if self.standby.is_none() => *self.standby.insert(free),
            (Some(_), _) => return None,
        };
        // Its timer is missing, or too late for its new duty.
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
