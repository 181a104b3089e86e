//! World: one Lease, a few electors, and every step that may happen between them. An [`Elector`]
//! gives the rules. Each step checks the invariants.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::names::{Names, distance, revision};
use crate::{LeaseEvent, Moment, Record, StoreError, StoredLease, Version};

#[path = "deeds.rs"]
mod deeds;
pub(crate) use deeds::{Extra, More};

/// The purpose of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Acquire,
    Renew,
    Release,
}

/// The next request of an elector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Todo {
    Read,
    Write(Kind),
}

/// The effect of an input on an elector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    Nothing,
    /// It leads from this revision on, until this moment.
    Began(u64, Moment),
    /// It leads until this moment.
    Extended(Moment),
    Over,
    Released,
    /// The server's controller prefers another candidate.
    Unpreferred,
}

/// The rules of an elector, without clock and I/O.
pub(crate) trait Elector: Clone {
    type Read: Clone;
    type Write: Clone;

    /// The request that is due now.
    fn todo(&self, now: Moment) -> Option<Todo>;
    fn begin_read(&mut self, now: Moment) -> Self::Read;
    fn begin_write(&mut self, now: Moment, kind: Kind) -> Self::Write;
    /// The version that a write is conditional on, and its record.
    fn draft(write: &Self::Write) -> (Kind, Option<&Version>, &Record);
    fn tick(&mut self, now: Moment) -> Told;
    fn read(
        &mut self,
        now: Moment,
        read: Self::Read,
        answer: Result<Option<StoredLease>, StoreError>,
    ) -> Told;
    fn wrote(
        &mut self,
        now: Moment,
        write: &Self::Write,
        answer: Result<StoredLease, StoreError>,
    ) -> Told;
    fn heard(&mut self, now: Moment, event: LeaseEvent) -> Told;
    /// The watch broke.
    fn distrust(&mut self);
    /// The work of every term has ended, even of a term that the elector does not know.
    fn abdicate(&mut self, now: Moment);
    /// A campaign begins, perhaps long after the last one.
    fn resume(&mut self, now: Moment) {
        self.abdicate(now);
    }
    /// The elector is stopped: whether it replaces an acquisition that may still be applied by a
    /// free record.
    fn may_forestall(&self, _: Moment) -> bool {
        false
    }
    /// The elector is to release the lease.
    fn leave(&mut self);
    /// No fault happens from now on. The elector waits where courtesy asks for it.
    fn be_patient(&mut self, now: Moment);
    fn leads(&self) -> bool;
    /// The Lease as the elector last saw it.
    fn known(&self) -> Option<&StoredLease>;

    fn identity(&self) -> &str;
    /// Sets the candidate that the next release names.
    fn name_successor(&mut self, _: &str) {}
    /// Maintenance begins, or ends.
    fn bar(&mut self, _: bool) {}
    /// The controller that elects appears, or disappears.
    fn flap(&mut self, _: Moment) {}
    /// The holder of this version is gone.
    fn vacate(&mut self, _: Moment, _: &Version) {}
    /// Whether the controller asks the elector to make way.
    fn is_unpreferred(&self) -> bool {
        false
    }

    /// Whether a read that finds this write applied from now on makes it the elector's own.
    fn counts_on(&self, now: Moment, write: &Self::Write) -> bool;
    /// Whether the elector knows that another created a Lease which it has not seen.
    fn knows_of_another(&self) -> bool;
    /// The last time at which the server reported no Lease, if no later news replaced it.
    fn missing_since(&self) -> Option<Moment>;

    /// Forgets writes that no node can see any more.
    fn forget_lost(&mut self, names: &Names);
    fn revisions(&self, names: &Names, out: &mut Vec<u64>);
    fn outlook(&self, now: Moment, names: &mut Names, out: &mut Vec<u64>);
    fn outlook_of_read(&self, read: &Self::Read, finds: bool, now: Moment, out: &mut Vec<u64>);
    fn outlook_of_write(
        &self,
        write: &Self::Write,
        now: Moment,
        names: &mut Names,
        out: &mut Vec<u64>,
    );
}

/// Without a limit.
pub(crate) const OFTEN: u8 = u8::MAX;

/// Which faults may happen, and how often.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The time that one tick takes on each elector's clock.
    pub(crate) tick: Vec<Duration>,
    /// How long work may go on after its term.
    pub(crate) margin: Duration,
    /// The longest time that a request takes, if no process pauses. With `None`, any process may
    /// stand still at any moment for any time.
    pub(crate) punctual: Option<Duration>,
    /// How many writes that an elector gave up may still be applied: its last ones.
    pub(crate) late_writes: usize,
    /// A watch reports changes. Otherwise the electors only read.
    pub(crate) watches: bool,
    /// Events arrive late, twice, or after newer ones.
    pub(crate) stale_events: bool,
    /// How many applied writes are answered with a conflict, because a proxy sent them twice.
    pub(crate) doubled_writes: u8,
    /// How many writes are sent twice. The second copy may arrive before the first, after it, or
    /// after its answer. The server may also refuse any write.
    pub(crate) twice: u8,
    /// How often the store goes back by one version while no node leads, and issues its versions
    /// again.
    pub(crate) rewinds: u8,
    /// An outside client changes a label.
    pub(crate) touches: bool,
    /// An outside client writes itself into the Lease.
    pub(crate) strangers: bool,
    /// An outside client deletes the Lease when all electors know its holder.
    pub(crate) deletions: bool,
    /// Work ends by itself, and its elector releases the lease.
    pub(crate) work_ends: bool,
    /// The driver joins the work before it releases the lease.
    pub(crate) joins: bool,
    /// How often each process is killed and restarted.
    pub(crate) restarts: u8,
    /// How often an outside client copies the record, and writes it back when no node holds the
    /// lease.
    pub(crate) restores: u8,
    pub(crate) more: More,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    Tick,
    Send(u8),
    Arrive(u8),
    Answer(u8),
    Doubt(u8),
    Lose(u8),
    GiveUp(u8),
    Refuse(u8),
    Twice(u8),
    Late(u8, u8),
    Hear(u8),
    HearOld(u8),
    HearGone(u8, bool),
    Break(u8),
    Wake(u8),
    Join(u8),
    Finish(u8),
    Leave(u8),
    Stop(u8),
    Restart(u8),
    Touch,
    Stranger,
    Delete,
    Rewind,
    Copy,
    Restore,
    HandOver(u8, u8),
    Switch(u8),
    Flap(u8),
    Grant(u8),
    Prefer(u8),
    Ask(u8),
    Learn(u8),
}

/// The work of a term: it runs until it is joined. It has no effects later than the margin after
/// `until`.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) until: Moment,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Campaign,
    /// Stopped before it led: it looks for an acquisition that may have been applied.
    Quit,
    Lead,
    /// The term is over, and its work is not joined yet.
    Drain,
    /// The work has ended. The release waits for the answer of a request.
    Wind,
    Release,
}

/// A request in flight.
#[derive(Clone)]
pub(crate) enum Call<E: Elector> {
    Read(E::Read, Option<Option<StoredLease>>),
    Write(E::Write, Option<Result<StoredLease, StoreError>>),
}

#[derive(Clone)]
pub(crate) struct Flight<E: Elector> {
    pub(crate) call: Call<E>,
    sent: Moment,
}

#[derive(Clone)]
pub(crate) struct Node<E: Elector> {
    pub(crate) elector: E,
    pub(crate) flight: Option<Flight<E>>,
    /// Writes that the elector gave up and that may still be applied.
    late: Vec<E::Write>,
    pub(crate) work: Option<Work>,
    /// Until this moment, requests of work that outlived its term may land.
    landing: Option<Moment>,
    pub(crate) phase: Phase,
    restarts: u8,
    extra: Extra,
}

/// One state.
#[derive(Clone)]
pub(crate) struct World<E: Elector> {
    pub(crate) ticks: u32,
    pub(crate) lease: Option<StoredLease>,
    /// The version before this one.
    previous: Option<StoredLease>,
    /// The last state of the deleted object.
    gone: Option<StoredLease>,
    /// The last writer of the Lease.
    writer: Option<u8>,
    revision: u64,
    objects: u64,
    /// The greatest revision that began a term.
    fence: u64,
    /// The copied record that may be written back.
    copy: Option<Record>,
    copies: u8,
    /// The number of doubled writes, if they are limited.
    doubled: u8,
    /// The numbers of writes sent twice, and of rewinds.
    twice: u8,
    rewinds: u8,
    /// The writer of `previous`.
    previous_writer: Option<u8>,
    /// A bit for each node that has seen the last write of a candidate.
    seen: u8,
    pub(crate) nodes: Vec<Arc<Node<E>>>,
}

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wrong(pub(crate) String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn wrong<T>(what: String) -> Result<T, Wrong> {
    Err(Wrong(what))
}

/// The clocks start here, so that no moment lies before them.
const ORIGIN: Duration = Duration::from_secs(1000);

pub(crate) fn name(node: u8) -> char {
    char::from(b'A' + node)
}

impl<E: Elector> Node<E> {
    /// The work ends after its term.
    fn join(&mut self, rules: &Rules) {
        if let Some(work) = self.work.take().filter(|_| rules.more.lands) {
            self.landing = Some(work.until.after(rules.margin));
        }
    }

    /// The process is killed. Requests of its work may land for as long as those of lost work (A4).
    fn die(&mut self, rules: &Rules, now: Moment) {
        if let Some(work) = &mut self.work {
            work.until = work.until.min(now);
        }
        self.join(rules);
    }

    /// The node drops its request in flight, whose answer never arrives.
    fn hang_up(&mut self, rules: &Rules) {
        if let Some(Call::Write(write, None)) = self.flight.take().map(|flight| flight.call) {
            self.give_up(rules, write);
        }
    }

    /// The node waits for the answer no more. The write may still arrive.
    fn give_up(&mut self, rules: &Rules, write: E::Write) {
        if rules.late_writes > 0 {
            if self.late.len() >= rules.late_writes {
                self.late.remove(0);
            }
            self.late.push(write);
        }
    }
}

impl<E: Elector> World<E> {
    pub(crate) fn new(electors: impl IntoIterator<Item = E>) -> Self {
        let node = |elector| {
            Arc::new(Node {
                elector,
                flight: None,
                late: Vec::new(),
                work: None,
                landing: None,
                phase: Phase::Campaign,
                restarts: 0,
                extra: Extra::default(),
            })
        };
        Self {
            ticks: 0,
            lease: None,
            previous: None,
            gone: None,
            writer: None,
            revision: 0,
            objects: 0,
            fence: 0,
            copy: None,
            copies: 0,
            doubled: 0,
            twice: 0,
            rewinds: 0,
            previous_writer: None,
            seen: 0,
            nodes: electors.into_iter().map(node).collect(),
        }
    }

    pub(crate) fn now(&self, rules: &Rules, node: u8) -> Moment {
        Moment::from_origin(ORIGIN + rules.tick[usize::from(node)] * self.ticks)
    }

    fn at(&self, node: u8) -> &Node<E> {
        &self.nodes[usize::from(node)]
    }

    fn at_mut(&mut self, node: u8) -> &mut Node<E> {
        Arc::make_mut(&mut self.nodes[usize::from(node)])
    }

    /// Whether the work of a node may have effects now.
    pub(crate) fn acts(&self, rules: &Rules, node: u8) -> bool {
        let now = self.now(rules, node);
        let node = self.at(node);
        node.work.as_ref().is_some_and(|work| now < work.until.after(rules.margin))
            || node.landing.is_some_and(|until| now < until)
    }

    /// Whether a node's guard admits effects now.
    pub(crate) fn is_valid(&self, rules: &Rules, node: u8) -> bool {
        let now = self.now(rules, node);
        let node = self.at(node);
        node.phase == Phase::Lead && node.work.as_ref().is_some_and(|work| now < work.until)
    }

    pub(crate) fn everybody(&self) -> std::ops::Range<u8> {
        0..u8::try_from(self.nodes.len()).expect("a few")
    }

    /// Collects every step that may happen next.
    pub(crate) fn steps(&self, rules: &Rules, out: &mut Vec<Step>) {
        let mut prompt = true;
        for i in self.everybody() {
            let node = self.at(i);
            let now = self.now(rules, i);
            out.extend((0..).zip(&node.late).map(|(which, _)| Step::Late(i, which)));
            if rules.watches && node.phase != Phase::Drain {
                self.events(rules, i, out);
            }
            if rules.punctual.is_none() {
                // This covers routine reads, and reads after the watch broke.
                out.push(Step::Break(i));
            }
            match node.phase {
                Phase::Campaign | Phase::Quit | Phase::Lead | Phase::Release | Phase::Wind => {
                    if let Some(flight) = &node.flight {
                        let (arrived, is_applied, is_write) = match &flight.call {
                            Call::Read(_, answer) => (answer.is_some(), false, false),
                            Call::Write(_, answer) => {
                                (answer.is_some(), matches!(answer, Some(Ok(_))), true)
                            }
                        };
                        out.push(if arrived { Step::Answer(i) } else { Step::Arrive(i) });
                        if is_applied && is_left(rules.doubled_writes, self.doubled) {
                            out.push(Step::Doubt(i));
                        }
                        if rules.twice > 0 && is_write && !arrived {
                            out.push(Step::Refuse(i));
                            out.extend((self.twice < rules.twice).then_some(Step::Twice(i)));
                        }
                        out.push(Step::Lose(i));
                        if rules.late_writes > 0 && is_write && !arrived {
                            out.push(Step::GiveUp(i));
                        }
                        prompt &=
                            rules.punctual.is_none_or(|longest| now < flight.sent.after(longest));
                    } else if self.may_look(i)
                        || node.phase != Phase::Wind && node.elector.todo(now).is_some()
                    {
                        out.push(Step::Send(i));
                        prompt = false;
                    }
                    if node.elector.clone().tick(now) == Told::Over {
                        out.push(Step::Wake(i));
                        prompt = false;
                    }
                }
                Phase::Drain => {
                    out.push(Step::Join(i));
                    let done =
                        node.work.as_ref().is_none_or(|work| now >= work.until.after(rules.margin));
                    prompt &= !done;
                }
            }
            match node.phase {
                Phase::Lead if rules.work_ends => out.push(Step::Finish(i)),
                Phase::Wind | Phase::Release | Phase::Quit => out.push(Step::Leave(i)),
                _ => {}
            }
            if node.restarts < rules.restarts && (!rules.deletions || self.may_start(rules, i)) {
                out.push(Step::Restart(i));
            }
        }
        if let Some(lease) = &self.lease {
            let seen = |node: &Arc<Node<E>>| {
                node.elector.known().is_some_and(|k| k.version == lease.version)
            };
            if rules.touches && self.nodes.iter().any(seen) {
                out.push(Step::Touch);
            }
            if rules.strangers && lease.record.holder != STRANGER {
                out.push(Step::Stranger);
            }
            if rules.deletions && self.may_be_deleted(rules) {
                out.push(Step::Delete);
            }
            if self.rewinds < rules.rewinds && self.may_go_back(rules) {
                out.push(Step::Rewind);
            }
            if self.copies < rules.restores && self.copy.is_none() {
                out.push(Step::Copy);
            }
            if self.copy.as_ref().is_some_and(|copy| *copy != lease.record)
                && self.nobody_may_lead(rules, None, |shown| shown.version == lease.version)
            {
                out.push(Step::Restore);
            }
        }
        self.more_steps(rules, out);
        if prompt || rules.punctual.is_none() {
            out.push(Step::Tick);
        }
    }

    fn events(&self, rules: &Rules, i: u8, out: &mut Vec<Step>) {
        let node = self.at(i);
        let known = node.elector.known().map(|known| &known.version);
        match &self.lease {
            Some(lease) if known != Some(&lease.version) => out.push(Step::Hear(i)),
            _ => {}
        }
        if self.lease.is_none() && self.gone.is_some() || rules.stale_events && self.gone.is_some()
        {
            out.extend([Step::HearGone(i, true), Step::HearGone(i, false)]);
        }
        if rules.stale_events && self.previous.is_some() {
            out.push(Step::HearOld(i));
        }
    }

    /// The assumption about deletions (A7). Each candidate has seen the Lease or knows of it, and
    /// no creation is in flight. A creation is exempt if its sender has stood still for more than a
    /// lease since.
    fn may_be_deleted(&self, rules: &Rules) -> bool {
        self.everybody().all(|i| {
            let node = self.at(i);
            let creates = |write: &E::Write| E::draft(write).1.is_none();
            // An elector that saw the Lease or knows of it does not count on earlier creations.
            let met = node.elector.knows_of_another() || node.elector.known().is_some();
            let (created, away) = match &node.flight {
                Some(Flight { call: Call::Write(write, answer), sent }) if creates(write) => {
                    let lease = E::draft(write).2.lease_duration_seconds.unsigned_abs();
                    let heard =
                        node.elector.missing_since().map_or(*sent, |since| since.min(*sent));
                    let away =
                        self.now(rules, i).since(heard) > Duration::from_secs(u64::from(lease));
                    (answer.is_none() && !away, away)
                }
                _ => (false, false),
            };
            let late = !met && node.late.iter().any(creates);
            (met || away || self.writer == Some(i)) && !created && !late
        })
    }

    /// No node acts, or will lead by an answer that it is about to read. A7 assumes this when a
    /// record is written back. It also assumes it when a candidate starts that cannot know of a
    /// deleted Lease.
    fn nobody_may_lead(
        &self,
        rules: &Rules,
        besides: Option<u8>,
        by: impl Fn(&StoredLease) -> bool,
    ) -> bool {
        self.everybody().filter(|i| besides != Some(*i)).all(|i| {
            let shown = match self.at(i).flight.as_ref().map(|flight| &flight.call) {
                Some(Call::Read(_, Some(Some(shown))) | Call::Write(_, Some(Ok(shown)))) => {
                    Some(shown)
                }
                _ => None,
            };
            !self.acts(rules, i) && !shown.is_some_and(&by)
        })
    }

    /// The assumption about a rewind: no node leads, or will lead by a request in flight.
    fn may_go_back(&self, rules: &Rules) -> bool {
        let is_object = self.lease.as_ref().zip(self.previous.as_ref());
        is_object.is_some_and(|(lease, previous)| lease.version.uid == previous.version.uid)
            && self.nobody_may_lead(rules, None, |_| true)
            && self.nodes.iter().all(|node| {
                let flight = node.flight.as_ref().map(|flight| &flight.call);
                node.late.is_empty() && !matches!(flight, Some(Call::Write(..)))
            })
    }

    /// Whether each node that leads, or will by an answer in flight, does so by the present Lease.
    /// A starting candidate can know of no other.
    fn may_start(&self, rules: &Rules, i: u8) -> bool {
        let Some(lease) = &self.lease else {
            return self.nobody_may_lead(rules, Some(i), |_| true);
        };
        let is_another = |other: &StoredLease| other.version.uid != lease.version.uid;
        self.everybody().filter(|j| *j != i).all(|j| {
            let node = self.at(j);
            let by_another = node.elector.known().is_some_and(is_another) && self.acts(rules, j);
            let shown = match node.flight.as_ref().map(|flight| &flight.call) {
                Some(Call::Read(_, Some(Some(shown))) | Call::Write(_, Some(Ok(shown)))) => {
                    Some(shown)
                }
                _ => None,
            };
            !by_another && !shown.is_some_and(is_another)
        })
    }

    /// Does a step.
    ///
    /// # Errors The step breaks an invariant.
    pub(crate) fn step(
        &mut self,
        rules: &Rules,
        step: Step,
        restart: &dyn Fn(u8, u8) -> E,
    ) -> Result<(), Wrong> {
        self.change(rules, step, restart)?;
        if let Step::Lose(i)
        | Step::Refuse(i)
        | Step::Late(i, _)
        | Step::Answer(i)
        | Step::Leave(i) = step
        {
            let names = self.names(rules);
            self.at_mut(i).elector.forget_lost(&names);
        }
        if rules.more.grants {
            self.note_who_saw();
        }
        Ok(())
    }

    fn change(
        &mut self,
        rules: &Rules,
        step: Step,
        restart: &dyn Fn(u8, u8) -> E,
    ) -> Result<(), Wrong> {
        match step {
            Step::Tick => {
                self.ticks += 1;
                Ok(())
            }
            Step::Send(i) => self.send(rules, i),
            Step::Arrive(i) => self.arrive(rules, i),
            Step::Answer(i)
            | Step::Doubt(i)
            | Step::Lose(i)
            | Step::GiveUp(i)
            | Step::Refuse(i) => self.answer(rules, step, i),
            Step::Twice(i) => {
                self.twice += 1;
                let node = self.at_mut(i);
                if let Some(Flight { call: Call::Write(write, _), .. }) = &node.flight {
                    node.late.push(write.clone());
                }
                Ok(())
            }
            Step::Late(i, which) => {
                let write = self.at_mut(i).late.remove(usize::from(which));
                let _ = self.apply(rules, i, &write)?;
                Ok(())
            }
            Step::Hear(i) => self.hear(rules, i, self.lease.clone().map(LeaseEvent::Changed)),
            Step::HearOld(i) => self.hear(rules, i, self.previous.clone().map(LeaseEvent::Changed)),
            Step::HearGone(i, told) => {
                let last = if told { self.gone.clone() } else { None };
                self.hear(rules, i, Some(LeaseEvent::Deleted(last)))
            }
            Step::Break(i) => {
                self.at_mut(i).elector.distrust();
                Ok(())
            }
            Step::Wake(i) => {
                let now = self.now(rules, i);
                let told = self.at_mut(i).elector.tick(now);
                self.take_in(rules, i, told)
            }
            Step::Join(i) => {
                let now = self.now(rules, i);
                let node = self.at_mut(i);
                node.join(rules);
                node.extra.stopping = false;
                node.phase = Phase::Campaign;
                node.elector.abdicate(now);
                Ok(())
            }
            Step::Finish(i) => {
                self.at_mut(i).elector.name_successor("");
                self.finish(rules, i);
                Ok(())
            }
            Step::Leave(i) => {
                let now = self.now(rules, i);
                let node = self.at_mut(i);
                node.hang_up(rules);
                node.phase = Phase::Campaign;
                node.elector.resume(now);
                Ok(())
            }
            Step::Restart(i) => {
                let now = self.now(rules, i);
                let node = self.at_mut(i);
                let lives = node.restarts + 1;
                node.hang_up(rules);
                node.die(rules, now);
                let (late, landing) = (std::mem::take(&mut node.late), node.landing);
                let (elector, extra) = (restart(i, lives), Extra::default());
                *node = Node {
                    elector,
                    flight: None,
                    late,
                    work: None,
                    landing,
                    phase: Phase::Campaign,
                    restarts: lives,
                    extra,
                };
                self.seen &= !(1 << i);
                Ok(())
            }
            Step::Touch => {
                if let Some(lease) = self.lease.clone() {
                    let writer = self.writer;
                    self.put(lease.record, writer);
                }
                Ok(())
            }
            Step::Stranger => {
                self.put(stranger(self.revision), None);
                Ok(())
            }
            Step::Copy => {
                self.copy = self.lease.as_ref().map(|lease| lease.record.clone());
                self.copies += 1;
                Ok(())
            }
            Step::Restore => {
                if let Some(copy) = self.copy.take() {
                    self.put(copy, None);
                }
                Ok(())
            }
            Step::Delete => {
                if let Some(lease) = self.lease.take() {
                    self.revision += 1;
                    let version = Version::new(lease.version.uid, self.revision.to_string());
                    self.gone = Some(StoredLease { version, record: lease.record });
                    self.previous = None;
                    self.writer = None;
                    self.forget_hopeless(rules);
                }
                Ok(())
            }
            Step::Rewind => {
                if let Some(previous) = self.previous.take() {
                    self.rewinds += 1;
                    self.revision = revision(&previous.version);
                    // Fence tokens do not survive a restore (docs/safety.md).
                    self.fence = self.fence.min(self.revision);
                    self.writer = self.previous_writer.take();
                    self.lease = Some(previous);
                }
                Ok(())
            }
            step => self.do_more(rules, step),
        }
    }

    /// The work of a term ends by itself.
    fn finish(&mut self, rules: &Rules, i: u8) {
        let (valid, now) = (self.is_valid(rules, i), self.now(rules, i));
        let node = self.at_mut(i);
        node.extra.stopping = false;
        // The driver joins the work first.
        if rules.joins && valid {
            node.work = None;
        } else if rules.joins {
            node.join(rules);
        }
        if valid && node.flight.is_some() {
            node.phase = Phase::Wind;
        } else if valid {
            node.phase = Phase::Release;
            node.elector.leave();
        } else {
            node.phase = Phase::Campaign;
            node.elector.abdicate(now);
        }
    }

    fn send(&mut self, rules: &Rules, i: u8) -> Result<(), Wrong> {
        let now = self.now(rules, i);
        let node = self.at_mut(i);
        let told = node.elector.tick(now);
        if told == Told::Over {
            return self.take_in(rules, i, told);
        }
        let todo =
            if node.phase == Phase::Quit { Some(Todo::Read) } else { node.elector.todo(now) };
        let call = match todo {
            Some(Todo::Read) => Call::Read(node.elector.begin_read(now), None),
            Some(Todo::Write(kind)) => {
                self.may_send(i, kind)?;
                Call::Write(self.at_mut(i).elector.begin_write(now, kind), None)
            }
            None => return Ok(()),
        };
        let node = self.at_mut(i);
        node.flight = Some(Flight { call, sent: now });
        Ok(())
    }

    fn arrive(&mut self, rules: &Rules, i: u8) -> Result<(), Wrong> {
        let Some(mut flight) = self.at_mut(i).flight.take() else { return Ok(()) };
        match &mut flight.call {
            Call::Read(_, answer) => *answer = Some(self.lease.clone()),
            Call::Write(write, answer) => *answer = Some(self.apply(rules, i, write)?),
        }
        self.at_mut(i).flight = Some(flight);
        Ok(())
    }

    fn answer(&mut self, rules: &Rules, step: Step, i: u8) -> Result<(), Wrong> {
        let now = self.now(rules, i);
        let (mut doubled, mut looked) = (0, false);
        let node = self.at_mut(i);
        let Some(flight) = node.flight.take() else { return Ok(()) };
        let told = match flight.call {
            Call::Read(read, answer) => {
                let answer = answer.filter(|_| matches!(step, Step::Answer(_)));
                if let (Some(Some(shown)), true) = (&answer, rules.rewinds > 0) {
                    node.extra.shown = Some(shown.clone());
                }
                looked = answer.is_some();
                node.elector.read(now, read, answer.ok_or_else(no_answer))
            }
            Call::Write(write, answer) => {
                let answer = match (step, answer) {
                    (Step::Answer(_), Some(answer)) => answer,
                    (Step::Doubt(_), _) => {
                        doubled = u8::from(rules.doubled_writes != OFTEN);
                        Err(StoreError::Conflict)
                    }
                    (Step::Refuse(_), _) => Err(StoreError::TooManyRequests { retry_after: None }),
                    _ => Err(no_answer()),
                };
                if let (Ok(shown), true) = (&answer, rules.rewinds > 0) {
                    node.extra.shown = Some(shown.clone());
                }
                if matches!(step, Step::GiveUp(_)) {
                    node.give_up(rules, write.clone());
                }
                node.elector.wrote(now, &write, answer)
            }
        };
        self.doubled += doubled;
        self.forget_hopeless(rules);
        self.take_in(rules, i, told)?;
        if looked {
            self.has_looked(rules, i);
        }
        Ok(())
    }

    fn hear(&mut self, rules: &Rules, i: u8, event: Option<LeaseEvent>) -> Result<(), Wrong> {
        let now = self.now(rules, i);
        let Some(event) = event else { return Ok(()) };
        let told = self.at_mut(i).elector.heard(now, event);
        self.take_in(rules, i, told)
    }

    /// Applies the effect of an input, and checks that it is allowed.
    fn take_in(&mut self, rules: &Rules, i: u8, told: Told) -> Result<(), Wrong> {
        let now = self.now(rules, i);
        let was_valid = self.is_valid(rules, i);
        let fence = self.fence;
        let phase = self.at(i).phase;
        let declines = self.declines(i);
        // With deletions, a write of its own may have created the Lease again.
        let loses_to_itself = rules.twice > 0 && !rules.deletions && self.writer == Some(i);
        let node = self.at_mut(i);
        match told {
            Told::Nothing => {}
            Told::Unpreferred => node.extra.stopping |= phase == Phase::Lead,
            Told::Began(revision, _)
                if declines && matches!(phase, Phase::Campaign | Phase::Quit) =>
            {
                node.phase = Phase::Release;
                node.elector.name_successor("");
                node.elector.leave();
                self.fence = self.fence.max(revision);
            }
            Told::Began(revision, until) => {
                if phase != Phase::Campaign {
                    return wrong(format!("{} begins a term in the middle of another", name(i)));
                }
                if revision <= fence {
                    return wrong(format!(
                        "{}'s term has the fence {revision}, and there was one with {fence}",
                        name(i)
                    ));
                }
                node.phase = Phase::Lead;
                node.work = Some(Work { until });
                node.extra.stopping = node.elector.is_unpreferred();
                self.fence = revision;
            }
            Told::Extended(until) => match &mut node.work {
                Some(work) if was_valid => work.until = work.until.max(until),
                _ if phase == Phase::Wind => {}
                _ => return wrong(format!("{}'s term is extended after its end", name(i))),
            },
            Told::Over if phase == Phase::Lead && was_valid && loses_to_itself => {
                return wrong(format!(
                    "{} takes what it wrote itself for another's, and loses its term",
                    name(i)
                ));
            }
            Told::Over if phase == Phase::Lead => {
                node.phase = Phase::Drain;
                node.hang_up(rules);
                if let Some(work) = &mut node.work {
                    work.until = work.until.min(now);
                }
            }
            Told::Over | Told::Released => {
                node.extra.stopping = false;
                node.phase = Phase::Campaign;
                node.flight = None;
                node.elector.abdicate(now);
            }
        }
        let node = self.at_mut(i);
        if node.phase == Phase::Wind && node.flight.is_none() {
            if node.elector.leads() {
                node.phase = Phase::Release;
                node.elector.leave();
            } else {
                node.phase = Phase::Campaign;
                node.elector.abdicate(now);
            }
        }
        self.nobody_else_acts(rules, i, "leads")
    }

    fn nobody_else_acts(&self, rules: &Rules, i: u8, what: &str) -> Result<(), Wrong> {
        if what == "leads" && !self.acts(rules, i) {
            return Ok(());
        }
        match self.everybody().find(|other| *other != i && self.acts(rules, *other)) {
            Some(other) if what == "leads" => {
                wrong(format!("{} and {} lead at the same time", name(other), name(i)))
            }
            Some(other) => wrong(format!("{} {what} while {} acts", name(i), name(other))),
            None => Ok(()),
        }
    }

    /// Applies a write as the server does.
    fn apply(
        &mut self,
        rules: &Rules,
        i: u8,
        write: &E::Write,
    ) -> Result<Result<StoredLease, StoreError>, Wrong> {
        let (kind, base, record) = E::draft(write);
        let refused = match (base, &self.lease) {
            (None, Some(_)) => Some(StoreError::Conflict),
            (Some(_), None) => Some(StoreError::NotFound),
            (Some(base), Some(lease)) if *base != lease.version => Some(StoreError::Conflict),
            // The write is conditional on a reissued version, whose record its sender has not read.
            // Only the server can prevent that.
            (Some(_), Some(lease)) if self.at(i).extra.has_read_another(lease) => {
                Some(StoreError::Conflict)
            }
            _ => None,
        };
        if let Some(refused) = refused {
            return Ok(Err(refused));
        }
        if rules.punctual.is_none() {
            let own = self.writer == Some(i);
            match kind {
                // An acquisition on which its writer counts no more makes no leader.
                Kind::Acquire if !self.at(i).elector.counts_on(self.now(rules, i), write) => {}
                Kind::Acquire => self.nobody_else_acts(rules, i, "takes the lease")?,
                Kind::Renew if !own => {
                    return wrong(format!("{} renews what it did not write", name(i)));
                }
                // `i` releases a grant that it will not use. Candidates that elect alone take the
                // lease at once.
                Kind::Release if !own && rules.more.grants && self.is_named(i) => {
                    self.nobody_else_acts(rules, i, "gives back what it was granted")?;
                }
                // `i` had the right to acquire the lease, and may have acquired it.
                Kind::Release if !own && (rules.more.stops > 0 || rules.more.maintenance) => {
                    self.nobody_else_acts(rules, i, "gives back what it may have acquired")?;
                }
                Kind::Release if !own => {
                    return wrong(format!("{} empties what it did not write", name(i)));
                }
                Kind::Release
                    if self.at(i).work.is_some() && !matches!(self.at(i).phase, Phase::Lead) =>
                {
                    return wrong(format!(
                        "{} gives the lease back while its work goes on",
                        name(i)
                    ));
                }
                Kind::Renew | Kind::Release => {}
            }
        }
        if kind != Kind::Release {
            self.seen = 0;
        }
        Ok(Ok(self.put(record.clone(), Some(i))))
    }

    fn put(&mut self, record: Record, writer: Option<u8>) -> StoredLease {
        self.revision += 1;
        let uid = match &self.lease {
            Some(lease) => {
                self.gone = None;
                lease.version.uid.clone()
            }
            None => {
                self.objects += 1;
                format!("u{}", self.objects)
            }
        };
        let lease = StoredLease { version: Version::new(uid, self.revision.to_string()), record };
        self.previous = self.lease.replace(lease.clone());
        self.previous_writer = self.writer;
        self.writer = writer;
        for node in 0..self.nodes.len() {
            if self.nodes[node].late.iter().any(|write| E::draft(write).1.is_some()) {
                Arc::make_mut(&mut self.nodes[node])
                    .late
                    .retain(|write| E::draft(write).1.is_none());
            }
        }
        lease
    }

    /// Drops late writes that can never be applied.
    fn forget_hopeless(&mut self, rules: &Rules) {
        for node in 0..self.nodes.len() {
            let lease = self.lease.as_ref();
            let hopeless = |write: &E::Write| match (E::draft(write).1, lease) {
                (Some(base), Some(lease)) => *base != lease.version,
                (Some(_), None) => true,
                (None, lease) => lease.is_some() && !rules.deletions,
            };
            if self.nodes[node].late.iter().any(hopeless) {
                Arc::make_mut(&mut self.nodes[node]).late.retain(|write| !hopeless(write));
            }
        }
    }

    /// Plays on without faults. Requests in flight are lost; answers, and events of a watch, come
    /// at once.
    ///
    /// # Errors At some tick from `patience` to `2 * patience` no node leads.
    pub(crate) fn settle(mut self, rules: &Rules, patience: u32) -> Result<(), Wrong> {
        let nobody = |_, _| unreachable!("nobody is killed while all is well");
        self.settle_more(rules);
        for i in self.everybody() {
            self.at_mut(i).late.clear();
            if self.at(i).flight.is_some() {
                self.change(rules, Step::Lose(i), &nobody)?;
            }
            let now = self.now(rules, i);
            self.at_mut(i).elector.be_patient(now);
        }
        for tick in 0..2 * patience {
            self.elect(rules)?;
            // A node may have several requests to send at one moment, but at most four.
            for i in self
                .everybody()
                .chain(self.everybody())
                .chain(self.everybody())
                .chain(self.everybody())
            {
                let now = self.now(rules, i);
                let known = self.at(i).elector.known().map(|known| known.version.clone());
                if rules.watches
                    && self.lease.is_some()
                    && known != self.lease.as_ref().map(|l| l.version.clone())
                {
                    self.change(rules, Step::Hear(i), &nobody)?;
                }
                if self.at(i).elector.clone().tick(now) == Told::Over {
                    self.change(rules, Step::Wake(i), &nobody)?;
                }
                if self.at(i).phase == Phase::Drain {
                    self.change(rules, Step::Join(i), &nobody)?;
                }
                if self.at(i).phase == Phase::Lead && self.at(i).extra.stopping {
                    self.change(rules, Step::Finish(i), &nobody)?;
                }
                if self.at(i).elector.todo(now).is_some() {
                    for step in [Step::Send(i), Step::Arrive(i), Step::Answer(i)] {
                        self.change(rules, step, &nobody)?;
                    }
                }
            }
            if tick >= patience && !self.everybody().any(|i| self.is_valid(rules, i)) {
                return wrong(format!("nobody leads {tick} ticks after all was well"));
            }
            self.ticks += 1;
        }
        Ok(())
    }

    /// The versions that the server may still show.
    fn stored(&self, rules: &Rules) -> [Option<&StoredLease>; 3] {
        let gone = self.gone.as_ref().filter(|_| rules.watches);
        [
            self.lease.as_ref(),
            self.previous.as_ref().filter(|_| rules.stale_events || self.rewinds < rules.rewinds),
            gone.filter(|_| rules.stale_events || self.lease.is_none()),
        ]
    }

    /// Names among the records that a node may still see.
    fn names(&self, rules: &Rules) -> Names {
        let mut alive: Vec<&Record> = Vec::with_capacity(8);
        alive.extend(&self.copy);
        alive.extend(self.stored(rules).into_iter().flatten().map(|lease| &lease.record));
        for node in &self.nodes {
            match &node.flight {
                Some(Flight { call: Call::Write(write, answer), .. }) => {
                    alive.push(E::draft(write).2);
                    alive.extend(answer.iter().flatten().map(|lease| &lease.record));
                }
                Some(Flight { call: Call::Read(_, Some(Some(lease))), .. }) => {
                    alive.push(&lease.record)
                }
                _ => {}
            }
            alive.extend(node.late.iter().map(|write| E::draft(write).2));
        }
        // A controller also reads the time in a record.
        let times_count = rules.more.grants;
        let forestalled = rules.more.stops > 0 || rules.more.maintenance;
        Names::among(alive)
            .with_times(times_count.then(|| self.now(rules, 0)))
            .with_forestalls(forestalled)
    }

    /// Writes everything that decides about later steps as numbers.
    pub(crate) fn outlook(&self, rules: &Rules, out: &mut Vec<u64>) {
        let mut names = self.names(rules);
        let mut known = vec![self.fence];
        let stored = self.stored(rules);
        known.extend(stored.iter().flatten().map(|lease| revision(&lease.version)));
        for node in &self.nodes {
            node.elector.revisions(&names, &mut known);
            let under_way = match &node.flight {
                Some(Flight { call: Call::Write(write, answer), .. }) => {
                    if let Some(Ok(lease)) = answer {
                        known.push(revision(&lease.version));
                    }
                    Some(write)
                }
                Some(Flight { call: Call::Read(_, Some(Some(lease))), .. }) => {
                    known.push(revision(&lease.version));
                    None
                }
                _ => None,
            };
            known.extend(node.extra.revisions());
            let writes = under_way.into_iter().chain(&node.late);
            known.extend(writes.filter_map(|write| E::draft(write).1).map(revision));
        }
        names.rank(known);
        for lease in stored {
            stored_outlook(lease, &mut names, out);
        }
        if rules.restores > 0 {
            out.extend([u64::from(self.copies), u64::from(self.copy.is_some())]);
            if let Some(copy) = &self.copy {
                names.record(copy, out);
            }
        }
        if rules.doubled_writes != OFTEN {
            out.push(u64::from(self.doubled));
        }
        if rules.twice > 0 {
            out.push(u64::from(self.twice));
        }
        if rules.rewinds > 0 {
            out.extend([u64::from(self.rewinds), self.previous_writer.map_or(NOBODY, u64::from)]);
        }
        out.push(self.writer.map_or(NOBODY, u64::from));
        self.outlook_of_more(rules, &mut names, out);
        names.version(&Version::new("", self.fence.to_string()), out);
        for (i, node) in (0..).zip(&self.nodes) {
            let now = self.now(rules, i);
            node.elector.outlook(now, &mut names, out);
            out.push(node.phase as u64);
            out.push(u64::from(node.restarts));
            out.push(
                node.work.as_ref().map_or(0, |work| 1 + distance(work.until, now, rules.margin)),
            );
            if let Some(until) = node.landing.filter(|until| now < *until) {
                out.extend([LANDING, distance(until, now, Duration::ZERO)]);
            }
            match &node.flight {
                None => out.push(IDLE),
                Some(Flight { call: Call::Read(read, answer), sent }) => {
                    out.push(READS);
                    let finds = match answer {
                        Some(found) => found.is_some(),
                        None => self.lease.is_some() && !rules.deletions,
                    };
                    node.elector.outlook_of_read(read, finds, now, out);
                    out.push(rules.punctual.map_or(0, |longest| distance(*sent, now, longest)));
                    match answer {
                        None => out.push(UNANSWERED),
                        Some(lease) => stored_outlook(lease.as_ref(), &mut names, out),
                    }
                }
                Some(Flight { call: Call::Write(write, answer), sent }) => {
                    out.push(WRITES);
                    node.elector.outlook_of_write(write, now, &mut names, out);
                    out.push(rules.punctual.map_or(0, |longest| distance(*sent, now, longest)));
                    match answer {
                        None => out.push(UNANSWERED),
                        Some(Ok(lease)) => stored_outlook(Some(lease), &mut names, out),
                        Some(Err(StoreError::Conflict)) => out.push(CONFLICT),
                        // `apply` refuses in two ways only: this is `NotFound`.
                        Some(Err(_)) => out.push(NOT_FOUND),
                    }
                }
            }
            out.push(node.late.len() as u64);
            for write in &node.late {
                node.elector.outlook_of_write(write, now, &mut names, out);
            }
        }
    }
}

/// In an outlook, the number of a writer that is no node: an outside client, the controller, or
/// none.
const NOBODY: u64 = 9;
/// In an outlook, marks a landing. Otherwise a flight follows here, which begins with one of the
/// next three.
const LANDING: u64 = 1 << 41;
const IDLE: u64 = 0;
const READS: u64 = 1;
const WRITES: u64 = 2;
/// In an outlook, the answer of a request so far, and the Lease of a server.
const UNANSWERED: u64 = 0;
const NO_LEASE: u64 = 1;
const A_LEASE: u64 = 2;
const CONFLICT: u64 = 3;
const NOT_FOUND: u64 = 4;

fn stored_outlook(lease: Option<&StoredLease>, names: &mut Names, out: &mut Vec<u64>) {
    match lease {
        None => out.push(NO_LEASE),
        Some(lease) => {
            out.push(A_LEASE);
            names.version(&lease.version, out);
            names.record(&lease.record, out);
        }
    }
}

/// Whether a step that happened `times` times may happen once more.
fn is_left(most: u8, times: u8) -> bool {
    most == OFTEN || times < most
}

fn no_answer() -> StoreError {
    StoreError::unknown("no answer")
}

pub(crate) const STRANGER: &str = "x";

/// A record of a client that ignores the rules, with a duration as long as the electors'.
fn stranger(revision: u64) -> Record {
    let written = jiff::Timestamp::from_second(i64::try_from(revision).unwrap_or(0)).ok();
    Record {
        holder: STRANGER.to_owned(),
        lease_duration_seconds: 4,
        acquire_time: written,
        renew_time: written,
        ..Record::default()
    }
}
