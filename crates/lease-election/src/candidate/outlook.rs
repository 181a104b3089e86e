//! Outlook: a candidate's state relative to now, as numbers. Candidates with equal outlooks do the same from now on, which is what
//! makes the model of the protocol finite. Only in builds of tests.
//!
//! Left out, because nothing is decided by it: serial numbers and times of records (a write is known by its id; where wall clocks are trusted its time
//! counts), how often a record changed hands, and the random numbers to come, which only make a wait longer, as any pause does.

#![allow(dead_code, reason = "asked by the model, whose program includes this file")]

use std::time::Duration;

use super::remains::Remains;
use super::{Candidate, Manner, ORIGIN, Read, Role, Write};
use crate::clock::Moment;
use crate::observation::Observation;

pub(crate) mod names;

use names::{Names, distance, revision};

impl Candidate {
    /// Forgets every wait that is only polite: after failures, and for an event before it reads again. In the model any process may stand still
    /// for any time, so that one that tries again at once does all that a patient one may do, and more.
    pub(crate) fn forget_manners(&mut self) {
        self.read_not_before = ORIGIN;
        self.write_not_before = ORIGIN;
        self.silent_until = ORIGIN;
        self.decline_not_before = ORIGIN;
        self.last_heard = Moment::from_origin(Duration::MAX);
        self.failed_reads = 0;
        self.failed_writes = 0;
    }

    /// Listens from now on.
    pub(crate) fn remember_manners(&mut self, now: Moment) {
        self.last_heard = now;
    }

    /// Forgets unanswered writes that were lost on their way: their sender does not know that, and will never see them.
    pub(crate) fn forget_lost(&mut self, names: &Names) {
        self.pending.retain(|write| names.is_alive(&write.record));
    }

    /// Whether this write, if it is found applied from now on, would count as its own.
    pub(crate) fn counts_on(&self, now: Moment, write: &Write) -> bool {
        !self.is_outlived(now, write) && self.pending.iter().any(|pending| pending.serial == write.serial)
    }

    /// Whether it knows that another made a Lease which it has not seen.
    pub(crate) fn met_one(&self) -> bool {
        self.another_made_it
    }

    /// When it was told last that there is no Lease, if that is what it knows.
    pub(crate) fn missing_since(&self) -> Option<Moment> {
        matches!(self.observation, Observation::Absent { .. }).then_some(self.absent_at)
    }

    /// Every revision that this candidate knows.
    pub(crate) fn revisions(&self, names: &Names, out: &mut Vec<u64>) {
        out.extend(self.last_known().map(|known| revision(&known.version)));
        let alive = self.pending.iter().filter(|write| names.is_alive(&write.record));
        out.extend(alive.filter_map(|write| write.base.as_ref()).map(revision));
    }

    /// All that decides what this candidate does from `now` on.
    pub(crate) fn outlook(&self, now: Moment, names: &mut Names, out: &mut Vec<u64>) {
        let config = &self.config;
        let (lease, interval) = (config.lease_duration(), config.renew_interval());
        match &self.observation {
            Observation::Unknown => out.push(0),
            Observation::Absent { free_at } => {
                out.extend([1, distance(*free_at, now, Duration::ZERO)]);
                // A whole lease ago, or longer.
                out.push(distance(self.absent_at, now, lease.saturating_add(Duration::from_millis(1))));
            }
            Observation::Present { lease: known, since, mine, jitter } => {
                let patience =
                    known.record.patience(lease, config.foreign_lease_cap()).saturating_add(*jitter);
                let patience = match (known.record.is_free(), *mine) {
                    // Left alone for a while: to its successor, or to the controller.
                    (true, _) if known.record.hint().is_some() => config.hold_back().saturating_add(*jitter),
                    (true, _) if !known.record.strategy.is_empty() => lease,
                    (false, false) => patience,
                    _ => Duration::ZERO,
                };
                out.extend([2, u64::from(*mine), distance(*since, now, patience)]);
                names.version(&known.version, out);
                names.record(&known.record, out);
            }
        }
        match &self.role {
            Role::Standby => out.push(0),
            // It ends a hold after the sending that it counts from.
            Role::Leading(tenure) => out.extend([1, distance(tenure.until, now, Duration::ZERO)]),
            Role::Leaving => out.push(2),
        }
        out.push(distance(self.undisputed_until, now, Duration::ZERO));
        out.extend([u64::from(self.another_made_it), u64::from(self.must_read), u64::from(self.reissued)]);
        if let Some(gone) = &self.gone {
            names.version(&gone.version, out);
            out.push(u64::from(names.is_alive(&gone.record)));
            if names.is_alive(&gone.record) {
                names.record(&gone.record, out);
            }
        }
        out.push(distance(self.read_not_before, now, Duration::ZERO));
        out.push(distance(self.write_not_before, now, Duration::ZERO));
        out.push(distance(self.silent_until, now, Duration::ZERO));
        out.push(distance(self.last_heard, now, interval.saturating_mul(3)).min(u64::MAX / 8));
        out.push(u64::from(self.failed_reads.min(6)));
        out.push(u64::from(self.failed_writes.min(6)));
        // A write that was lost on its way stays unknown to its sender, and means nothing any more.
        for write in &self.pending {
            if names.is_alive(&write.record) {
                out.push(7);
                self.outlook_of_write(write, now, names, out);
            }
        }
        match &self.own {
            Some(record) if names.is_alive(record) => {
                out.push(1);
                names.record(record, out);
            }
            _ => out.push(0),
        }
        if let Some(unproven) = &self.unproven {
            out.push(8);
            names.record(&unproven.before.record, out);
        }
        self.outlook_of_extras(now, out);
    }

    /// What only those worlds have in which it is asked for.
    fn outlook_of_extras(&self, now: Moment, out: &mut Vec<u64>) {
        let mut extra = |which: u64, value: u64| out.extend([1 << 40 | which, value]);
        if self.barred {
            extra(0, 1);
        }
        if !self.successor.is_empty() {
            extra(1, names::digest(self.successor.as_bytes()));
        }
        match self.manner {
            Manner::Free => {}
            Manner::Elected { .. } => extra(2, 1),
            Manner::Alone => extra(2, 2),
        }
        if self.claim_from() > now {
            extra(3, distance(self.claim_from(), now, Duration::ZERO));
            extra(8, distance(self.claim_not_before, now, Duration::ZERO));
        }
        if self.leaps {
            extra(9, 1);
        }
        if let Some(from) = self.vacant_from() {
            extra(4, distance(from, now, Duration::ZERO));
        }
        if self.clear_from() > now {
            let until = match self.remains {
                Remains::Work => u64::MAX,
                _ => distance(self.clear_from(), now, Duration::ZERO),
            };
            extra(7, until);
        }
        if self.config.wall_clock_bound().is_some() {
            extra(5, u64::from(self.is_cold));
            extra(6, self.last_time.map_or(0, |time| names::seconds_off(time, now)));
        }
    }

    /// What decides how an answer to `read` is taken.
    pub(crate) fn outlook_of_read(&self, read: &Read, now: Moment, out: &mut Vec<u64>) {
        let undisturbed = read.changes == self.changes;
        out.extend([
            u64::from(undisturbed),
            distance(read.sent.max(self.read_not_before), now, Duration::ZERO),
        ]);
    }

    /// What decides how an answer to `write` is taken.
    pub(crate) fn outlook_of_write(&self, write: &Write, now: Moment, names: &mut Names, out: &mut Vec<u64>) {
        // A create is one's own for a lease.
        let horizon = match write.base {
            None => self.config.lease_duration().saturating_add(Duration::from_millis(1)),
            Some(_) => self.config.hold(),
        };
        out.extend([write.purpose as u64, u64::from(write.refused), distance(write.sent, now, horizon)]);
        match &write.base {
            None => out.push(0),
            Some(base) => {
                out.push(1);
                names.version(base, out);
            }
        }
        names.record(&write.record, out);
    }
}
