//! Outlook: a candidate's state relative to now, as numbers, in test builds only.
//! Candidates with equal outlooks act alike from now on, so the model of the protocol is finite.
//!
//! The outlook leaves out what decides nothing:
//! - serial numbers and times of records: the id names a write. (Times count where wall clocks are
//!   trusted, or a controller elects.)
//! - how often a record changed hands;
//! - the random numbers to come: they only lengthen a wait, as any pause does.

#![allow(dead_code, reason = "asked by the model, whose program includes this file")]

use std::time::Duration;

use jiff::Timestamp;

use super::grants::Grants;
use super::state::{Candidate, Known, Pacing, Remains, Role, Writes};
use super::{Hold, Manner, Read, Write};
use crate::clock::Moment;
use crate::decide::coordinated::{SILENCE, SILENCE_UNTOUCHED};
use crate::observation::Observation;

pub(crate) mod names;

use names::{Names, distance, millis, revision};

/// Tags before parts that may be absent or repeated. No part that may follow instead begins so.
const PENDING: u64 = 7;
const UNPROVEN: u64 = 8;
const LOST: u64 = 9;
const EXTRAS: u64 = 1 << 40;

impl Candidate {
    /// Drops every polite wait: after failures, and for an event before the next read. In the model
    /// any process may pause for any time. So a candidate that tries again at once can do all that
    /// a patient one can, and more.
    pub(crate) fn forget_waits(&mut self) {
        self.pacing.read_not_before = Moment::default();
        self.pacing.write_not_before = Moment::default();
        self.pacing.silent_until = Moment::default();
        self.pacing.decline_not_before = Moment::default();
        self.pacing.last_heard = Moment::from_origin(Duration::MAX);
        self.forget_late();
        self.pacing.failed_reads = 0;
        self.pacing.failed_writes = 0;
    }

    /// Counts the wait for news from now on.
    pub(crate) fn listen_from(&mut self, now: Moment) {
        self.pacing.last_heard = now;
    }

    /// Drops unanswered writes that were lost in flight: their sender never learns of that. A lost
    /// acquisition that the sender may forestall stays.
    pub(crate) fn forget_lost(&mut self, names: &Names) {
        let last = self.last_lost(names).map(|write| write.serial);
        self.writes
            .pending
            .retain(|write| names.is_alive(&write.record) || Some(write.serial) == last);
    }

    /// The lost acquisition that its sender may still forestall: one stands for all.
    fn last_lost(&self, names: &Names) -> Option<&Write> {
        let may_be_forestalled = |write: &&Write| {
            names.are_forestalled() && write.is_awaited() && !names.is_alive(&write.record)
        };
        self.writes.pending.iter().rev().find(may_be_forestalled)
    }

    /// Whether this write, found applied from now on, would count as the candidate's own.
    pub(crate) fn counts_on(&self, now: Moment, write: &Write) -> bool {
        !self.is_outlived(now, write)
            && self.writes.pending.iter().any(|pending| pending.serial == write.serial)
    }

    /// Whether the candidate assumes that another process made an unseen Lease.
    pub(crate) fn knows_of_another(&self) -> bool {
        self.known.another_made_it
    }

    /// When the absence of the Lease was last confirmed, if it is absent.
    pub(crate) fn missing_since(&self) -> Option<Moment> {
        matches!(self.known.observation, Observation::Absent { .. }).then_some(self.known.absent_at)
    }

    /// Adds every revision that this candidate knows.
    pub(crate) fn revisions(&self, names: &Names, out: &mut Vec<u64>) {
        out.extend(self.last_known().map(|known| revision(&known.version)));
        let alive = self.writes.pending.iter().filter(|write| names.is_alive(&write.record));
        let counting = alive.chain(self.last_lost(names));
        out.extend(counting.filter_map(|write| write.base.as_ref()).map(revision));
    }

    /// Adds everything that decides what this candidate does from `now` on.
    pub(crate) fn outlook(&self, now: Moment, names: &mut Names, out: &mut Vec<u64>) {
        // Each field is named, so that a new one must find its place here. `outlook_of_extras` adds
        // the fields that only some worlds use.
        let Self {
            // It never changes, and the place of a node identifies it.
            config,
            role,
            barred: _,
            successor: _,
            known,
            writes,
            pacing,
            remains: _,
            // A polite wait, dropped before it is read.
            late: _,
            vacancy: _,
            grants,
            // See above. A wait that is already drawn is part of the observation.
            random: _,
        } = self;
        let Known {
            observation,
            // Compared only with the count of a read in flight: see `outlook_of_read`.
            changes: _,
            reissued,
            gone,
            another_made_it,
            // Part of the observation. While the Lease is present, it is overwritten before it is
            // read.
            absent_at: _,
        } = known;
        let Writes {
            // Names of future writes: they only need to differ from all others.
            writer: _,
            serial: _,
            pending,
            own,
            // The lower bound of the time in the next record: in `outlook_of_extras`.
            last_time: _,
            undisputed_until,
        } = writes;
        let Pacing {
            must_read,
            read_not_before,
            write_not_before,
            silent_until,
            decline_not_before,
            last_heard,
            failed_reads,
            failed_writes,
        } = pacing;
        let Grants {
            manner: _,
            // The conclusions from a controller's silence: in `outlook_of_extras`.
            stands_from: _,
            unelected: _,
            untouched_from: _,
            went: _,
            // In `outlook_of_extras`, by `claim_from` and by itself.
            claim_not_before: _,
            unproven,
            leaps: _,
            // As `last_time`.
            servers: _,
        } = grants;
        let past = |moment: &Moment| distance(*moment, now, Duration::ZERO);
        self.outlook_of_observation(observation, now, names, out);
        match role {
            Role::Standby => out.push(0),
            // The fields left out are reported once, when the term begins, or decide only a polite
            // wait.
            Role::Leading(Hold {
                fence: _,
                acquire_time: _,
                vacant_for: _,
                sent,
                until,
                renewed: _,
            }) => {
                out.extend([1, past(until), distance(*sent, now, config.hold())]);
            }
            Role::Leaving => out.push(2),
        }
        out.push(past(undisputed_until));
        out.extend([u64::from(*another_made_it), u64::from(*must_read), u64::from(*reissued)]);
        out.push(u64::from(gone.is_some()));
        if let Some(gone) = gone {
            names.version(&gone.version, out);
            out.push(u64::from(names.is_alive(&gone.record)));
            if names.is_alive(&gone.record) {
                names.record(&gone.record, out);
            }
        }
        out.extend([read_not_before, write_not_before, silent_until, decline_not_before].map(past));
        out.push(
            distance(*last_heard, now, config.retry_period().saturating_mul(3)).min(u64::MAX / 8),
        );
        // More failures lengthen no wait: see `next_attempt`.
        out.extend([failed_reads, failed_writes].map(|failures| u64::from((*failures).min(6))));
        // A lost write stays unknown to its sender. Its only effect is that the sender may
        // forestall it.
        for write in pending {
            if names.is_alive(&write.record) {
                out.push(PENDING);
                self.outlook_of_write(write, now, names, out);
            }
        }
        if let Some(write) = self.last_lost(names) {
            out.extend([LOST, u64::from(write.base.is_some())]);
            if let Some(base) = &write.base {
                names.version(base, out);
            }
        }
        match own {
            Some(record) if names.is_alive(record) => {
                out.push(1);
                names.record(record, out);
            }
            _ => out.push(0),
        }
        if let Some(unproven) = unproven {
            out.push(UNPROVEN);
            names.object(&unproven.before.version, out);
            names.record(&unproven.before.record, out);
        }
        self.outlook_of_extras(now, names, out);
    }

    fn outlook_of_observation(
        &self,
        observation: &Observation,
        now: Moment,
        names: &mut Names,
        out: &mut Vec<u64>,
    ) {
        let config = &self.config;
        let lease_duration = config.lease_duration();
        let missing_since = distance(self.known.absent_at, now, self.longest_missing());
        match observation {
            Observation::Unknown => out.push(0),
            Observation::Absent { free_at } => {
                out.extend([1, distance(*free_at, now, Duration::ZERO), missing_since]);
            }
            Observation::Present { lease, since, mine, jitter } => {
                let record = &lease.record;
                let runs_out = record
                    .patience(lease_duration, config.foreign_lease_cap())
                    .saturating_add(*jitter);
                let patience = match (record.is_free(), *mine) {
                    // The candidate leaves it to its successor, or to the controller, for a while.
                    (true, _) if record.hint().is_some() => {
                        config.hold_back().saturating_add(*jitter)
                    }
                    (true, _) if !record.strategy.is_empty() => lease_duration,
                    (false, false) => runs_out,
                    // The candidate lets its own record expire.
                    (false, true) if !config.release_on_stop() => runs_out,
                    _ => Duration::ZERO,
                };
                let silence = if self.is_impatient() { SILENCE } else { Duration::ZERO };
                let since = distance(*since, now, patience.saturating_add(silence));
                out.extend([2, u64::from(*mine), since, millis(*jitter)]);
                names.version(&lease.version, out);
                names.record(record, out);
            }
        }
    }

    fn is_impatient(&self) -> bool {
        matches!(self.grants.manner, Manner::Elected { impatient: true, .. })
    }

    /// Adds the fields that only some worlds use.
    fn outlook_of_extras(&self, now: Moment, names: &Names, out: &mut Vec<u64>) {
        let mut extra = |which: u64, value: u64| out.extend([EXTRAS | which, value]);
        if self.barred {
            extra(0, 1);
        }
        if !self.successor.is_empty() {
            extra(1, names::digest(self.successor.as_bytes()));
        }
        match self.grants.manner {
            Manner::Free => {}
            Manner::Alone => extra(2, 0),
            Manner::Elected { stands, impatient } => {
                extra(2, 4 | u64::from(stands) << 1 | u64::from(impatient));
            }
        }
        if self.claim_from() > now {
            extra(3, distance(self.claim_from(), now, Duration::ZERO));
            extra(8, distance(self.grants.claim_not_before, now, Duration::ZERO));
        }
        if self.grants.leaps {
            extra(9, 1);
        }
        // The evidence concerns one version, and no world with evidence issues versions again.
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
        if self.is_coordinated() && names.times_count() {
            let ahead =
                |time: Option<Timestamp>| time.map_or(0, |time| names::seconds_off(time, now));
            extra(6, ahead(self.writes.last_time));
            extra(14, ahead(self.servers_time(now)));
        }
        if self.grants.unelected {
            extra(10, 1);
        }
        if self.is_impatient() {
            extra(11, distance(self.grants.stands_from, now, SILENCE));
            extra(12, distance(self.grants.untouched_from, now, SILENCE_UNTOUCHED));
            extra(13, distance(self.grants.went, now, SILENCE));
        }
    }

    /// Adds everything that decides how the candidate takes the answer to `read`. `finds`: the
    /// answer certainly finds a Lease.
    pub(crate) fn outlook_of_read(
        &self,
        read: &Read,
        finds: bool,
        now: Moment,
        out: &mut Vec<u64>,
    ) {
        // Only the driver uses `routine`.
        let Read { changes, sent, routine: _ } = read;
        let undisturbed = *changes == self.known.changes;
        out.extend([
            u64::from(undisturbed),
            distance((*sent).max(self.pacing.read_not_before), now, Duration::ZERO),
        ]);
        if undisturbed && !finds {
            // An answer without a Lease sets `absent_at` to the sending of the read.
            out.push(distance(*sent, now, self.longest_missing()));
        }
    }

    /// A whole lease, and everything longer.
    fn longest_missing(&self) -> Duration {
        self.config.lease_duration().saturating_add(Duration::from_millis(1))
    }

    /// Adds everything that decides how the candidate takes the answer to `write`.
    pub(crate) fn outlook_of_write(
        &self,
        write: &Write,
        now: Moment,
        names: &mut Names,
        out: &mut Vec<u64>,
    ) {
        // The serial only finds the write among the pending ones, where it has the same record.
        let Write { serial: _, purpose, base, record, sent, refused } = write;
        // A create counts as the candidate's own for a lease.
        let horizon = match base {
            None => self.longest_missing(),
            Some(_) => self.config.hold(),
        };
        out.extend([*purpose as u64, u64::from(*refused), distance(*sent, now, horizon)]);
        match base {
            None => out.push(0),
            Some(base) => {
                out.push(1);
                names.version(base, out);
            }
        }
        names.record(record, out);
    }
}
