//! Deeds: steps of few worlds, such as hand-overs, maintenance, grants of the server's controller,
//! and evidence.

use jiff::Timestamp;

use super::{
    Call, Elector, Flight, Kind, Node, Phase, Rules, STRANGER, Step, World, Wrong, name, revision,
    wrong,
};
use crate::names::{Names, digest, seconds_off};
use crate::{Moment, Record, StoredLease, Version};

/// Steps that may happen besides; by default none.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    /// The work of a leader ends for a hand-over, and the release names a successor.
    pub(crate) hand_overs: bool,
    /// An outside client switches an elector's maintenance on and off.
    pub(crate) maintenance: bool,
    /// The server's controller grants a free lease at any time. It grants another's lease once that
    /// has expired by the server's clock. It grants that at any time to a candidate that saw the
    /// holder's last renewal, as A9 assumes.
    pub(crate) grants: bool,
    /// It grants another's lease at any time, to any candidate. Candidates that only read then
    /// wait.
    pub(crate) ahead: bool,
    /// It notes on a held lease which candidate it prefers.
    pub(crate) prefers: bool,
    /// An elector finds that the controller exists, or that it does not.
    pub(crate) flaps: bool,
    /// Candidates ask whether the holder has ended, and learn the answer later.
    pub(crate) evidence: bool,
    /// The answer may be that a holder has ended which still runs (against A8).
    pub(crate) lies: bool,
    /// Requests of lost work land until the margin after its term, even if that work was joined
    /// before.
    pub(crate) lands: bool,
    /// How often an elector is stopped before it leads. It looks for an acquisition that was
    /// applied, and campaigns again afterwards.
    pub(crate) stops: u8,
}

/// The part of a node's state that these steps need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    /// The work was told to end.
    pub(super) stopping: bool,
    barred: bool,
    /// The version whose holder is gone, by an answer in flight.
    gone: Option<Version>,
    /// The Lease that the node was shown last, where versions are issued again.
    pub(super) shown: Option<StoredLease>,
    stops: u8,
    /// The number of writes in the place of an acquisition since the stop.
    forestalls: u8,
}

impl Extra {
    pub(super) fn revisions(&self) -> impl Iterator<Item = u64> {
        self.gone.iter().chain(self.shown.as_ref().map(|shown| &shown.version)).map(revision)
    }

    /// Whether the node was last shown another record of this version.
    pub(super) fn has_read_another(&self, lease: &StoredLease) -> bool {
        let shown = self.shown.as_ref();
        shown.is_some_and(|shown| shown.version == lease.version && shown.record != lease.record)
    }
}

/// The driver's limit.
const FORESTALLS: u8 = 3;

/// The duration of a grant in seconds: less than the electors ask for.
const GRANTED: i32 = 2;
const STRATEGY: &str = "s";

/// 6 s ago in the scale of `seconds_off`, which calls now 60. A renewal that old has expired with
/// every lease of the worlds with grants.
const LONG_OVER: u64 = 54;

impl<E: Elector> World<E> {
    pub(super) fn more_steps(&self, rules: &Rules, out: &mut Vec<Step>) {
        let more = &rules.more;
        for i in self.everybody() {
            let node = self.at(i);
            let leads = node.phase == Phase::Lead;
            if leads && node.extra.stopping && !rules.work_ends {
                out.push(Step::Finish(i));
            }
            if more.hand_overs && leads {
                // The successor is another elector, or a name without an elector.
                let others = self.everybody().end + 1;
                out.extend((0..others).filter(|to| *to != i).map(|to| Step::HandOver(i, to)));
            }
            if more.maintenance {
                out.push(Step::Switch(i));
            }
            if more.flaps {
                out.push(Step::Flap(i));
            }
            if node.extra.stops < more.stops && node.phase == Phase::Campaign {
                out.push(Step::Stop(i));
            }
            if more.grants && self.may_be_granted(rules, i) {
                out.push(Step::Grant(i));
            }
            if more.prefers && self.may_prefer(i) {
                out.push(Step::Prefer(i));
            }
            if more.evidence {
                match &node.extra.gone {
                    Some(_) => out.push(Step::Learn(i)),
                    None if self.is_gone(node, more.lies) => out.push(Step::Ask(i)),
                    None => {}
                }
            }
        }
    }

    /// Does one of these steps.
    pub(super) fn do_more(&mut self, rules: &Rules, step: Step) -> Result<(), Wrong> {
        match step {
            Step::HandOver(i, to) => {
                let node = self.nodes.get(usize::from(to));
                let successor = node.map_or("nobody", |node| node.elector.identity()).to_owned();
                self.at_mut(i).elector.name_successor(&successor);
                self.finish(rules, i);
            }
            Step::Switch(i) => {
                let node = self.at_mut(i);
                node.extra.barred = !node.extra.barred;
                let barred = node.extra.barred;
                node.elector.bar(barred);
                node.extra.stopping |= barred && node.phase == Phase::Lead;
            }
            Step::Flap(i) => {
                let now = self.now(rules, i);
                self.at_mut(i).elector.flap(now);
            }
            Step::Stop(i) => {
                let node = self.at_mut(i);
                node.phase = Phase::Quit;
                node.extra.stops += 1;
                node.extra.forestalls = 0;
            }
            Step::Grant(i) => {
                let before = self.lease.as_ref().map(|lease| &lease.record);
                // The microseconds are unique, which tells this grant from all others.
                let time =
                    self.time(rules).as_microsecond() + i64::try_from(self.revision).unwrap_or(0);
                let grant = Record {
                    holder: self.at(i).elector.identity().to_owned(),
                    lease_duration_seconds: GRANTED,
                    renew_time: Timestamp::from_microsecond(time).ok(),
                    leader_transitions: before.map_or(0, |record| record.leader_transitions),
                    strategy: STRATEGY.to_owned(),
                    ..Record::default()
                };
                self.put(grant, None);
            }
            Step::Prefer(i) => {
                if let Some(lease) = self.lease.clone() {
                    let preferred_holder = self.at(i).elector.identity().to_owned();
                    let record =
                        Record { preferred_holder, strategy: STRATEGY.to_owned(), ..lease.record };
                    self.put(record, self.writer);
                }
            }
            Step::Ask(i) => {
                let known = self.at(i).elector.known().map(|known| known.version.clone());
                self.at_mut(i).extra.gone = known;
            }
            Step::Learn(i) => {
                let now = self.now(rules, i);
                let node = self.at_mut(i);
                if let Some(version) = node.extra.gone.take() {
                    node.elector.vacate(now, &version);
                }
            }
            _ => unreachable!("a step of every world"),
        }
        Ok(())
    }

    /// The server's wall clock.
    fn time(&self, rules: &Rules) -> Timestamp {
        let passed = self.now(rules, 0).since(Moment::from_origin(std::time::Duration::ZERO));
        Timestamp::from_second(i64::try_from(passed.as_secs()).unwrap_or(0)).unwrap_or_default()
    }

    /// Whether the lease has expired by the server's clock.
    fn is_expired(&self, rules: &Rules, record: &Record) -> bool {
        let now = self.time(rules).as_second();
        record
            .renew_time
            .is_none_or(|at| at.as_second() + i64::from(record.lease_duration_seconds) < now)
    }

    fn may_be_granted(&self, rules: &Rules, i: u8) -> bool {
        let saw_it = self.seen & 1 << i != 0;
        match &self.lease {
            None => true,
            Some(lease) if lease.record.is_free() => true,
            Some(lease) => {
                let over = self.is_expired(rules, &lease.record) && self.writer.is_some();
                lease.record.holder != self.at(i).elector.identity()
                    && (saw_it || over || rules.more.ahead)
            }
        }
    }

    fn may_prefer(&self, i: u8) -> bool {
        let identity = self.at(i).elector.identity();
        self.lease.as_ref().is_some_and(|lease| {
            let record = &lease.record;
            !record.is_free() && record.holder != identity && record.preferred_holder != identity
        })
    }

    /// Notes the nodes that have seen the last write of a candidate. A grant does not show the
    /// record before it.
    pub(super) fn note_who_saw(&mut self) {
        let Some(lease) = self.lease.as_ref().filter(|_| self.writer.is_some()) else { return };
        for (i, node) in self.nodes.iter().enumerate() {
            if node.elector.known().is_some_and(|known| known.version == lease.version) {
                self.seen |= 1 << i;
            }
        }
    }

    /// Whether the record names this node, as a grant does.
    pub(super) fn is_named(&self, i: u8) -> bool {
        let identity = self.at(i).elector.identity();
        self.lease.as_ref().is_some_and(|lease| lease.record.holder == identity)
    }

    fn is_gone(&self, node: &Node<E>, lies: bool) -> bool {
        let Some(known) = node.elector.known() else { return false };
        let holder = known.record.holder.as_str();
        let lives = || self.nodes.iter().any(|node| node.elector.identity() == holder);
        let is_another =
            !holder.is_empty() && holder != STRANGER && holder != node.elector.identity();
        is_another && (lies || !lives())
    }

    /// A node under maintenance must not acquire.
    pub(super) fn may_send(&self, i: u8, kind: Kind) -> Result<(), Wrong> {
        let node = self.at(i);
        if node.extra.barred && kind == Kind::Acquire && node.phase == Phase::Campaign {
            return wrong(format!("{} is under maintenance, and takes the lease", name(i)));
        }
        Ok(())
    }

    /// Whether the node releases a term that began, without work.
    pub(super) fn declines(&self, i: u8) -> bool {
        self.at(i).extra.barred || self.at(i).phase == Phase::Quit
    }

    /// Whether the node may look for an acquisition of its own.
    pub(super) fn may_look(&self, i: u8) -> bool {
        self.at(i).phase == Phase::Quit
    }

    /// A stopped node has read the Lease. As the driver does, it writes in the place of its
    /// acquisition, or is done.
    pub(super) fn has_looked(&mut self, rules: &Rules, i: u8) {
        let now = self.now(rules, i);
        let node = self.at_mut(i);
        if node.phase != Phase::Quit {
            return;
        }
        if node.extra.forestalls < FORESTALLS && node.elector.may_forestall(now) {
            node.extra.forestalls += 1;
            let write = node.elector.begin_write(now, Kind::Release);
            node.flight = Some(Flight { call: Call::Write(write, None), sent: now });
        } else {
            node.phase = Phase::Campaign;
            node.elector.resume(now);
        }
    }

    /// Ends all maintenance and stops: no fault happens from now on.
    pub(super) fn settle_more(&mut self, rules: &Rules) {
        for i in self.everybody() {
            if self.at(i).phase == Phase::Quit {
                let now = self.now(rules, i);
                let node = self.at_mut(i);
                node.phase = Phase::Campaign;
                node.elector.resume(now);
            }
            if self.at(i).extra.barred {
                let node = self.at_mut(i);
                node.extra.barred = false;
                node.elector.bar(false);
            }
        }
    }

    /// A controller, if there is one, grants a lease that is due. Its best candidate is node 0.
    pub(super) fn elect(&mut self, rules: &Rules) -> Result<(), Wrong> {
        let best = self.at(0).elector.identity();
        let due = match &self.lease {
            None => true,
            Some(lease) if lease.record.is_free() => true,
            Some(lease) => lease.record.holder != best && self.is_expired(rules, &lease.record),
        };
        if rules.more.grants && due { self.do_more(rules, Step::Grant(0)) } else { Ok(()) }
    }

    pub(super) fn outlook_of_more(&self, rules: &Rules, names: &mut Names, out: &mut Vec<u64>) {
        let more = &rules.more;
        if more.grants {
            let now = self.now(rules, 0);
            let ends = self.lease.as_ref().and_then(|lease| lease.record.renew_time);
            out.extend([
                u64::from(self.seen),
                ends.map_or(0, |time| seconds_off(time, now).max(LONG_OVER)),
            ]);
        }
        if rules.rewinds > 0 {
            for shown in self.nodes.iter().map(|node| &node.extra.shown) {
                out.push(u64::from(shown.is_some()));
                if let Some(shown) = shown {
                    names.version(&shown.version, out);
                    names.record(&shown.record, out);
                }
            }
        }
        if more.evidence {
            out.extend(self.nodes.iter().map(|node| digest(node.elector.identity().as_bytes())));
        }
        if more.stops > 0 {
            let stops = self.nodes.iter().map(|node| &node.extra);
            out.extend(stops.map(|extra| {
                u64::from(extra.stops) * (u64::from(FORESTALLS) + 1) + u64::from(extra.forestalls)
            }));
        }
        if more.hand_overs || more.maintenance || more.prefers || more.evidence {
            for node in &self.nodes {
                out.push(u64::from(node.extra.stopping) * 2 + u64::from(node.extra.barred));
                out.push(u64::from(node.extra.gone.is_some()));
                if let Some(version) = &node.extra.gone {
                    names.version(version, out);
                }
            }
        }
    }
}
