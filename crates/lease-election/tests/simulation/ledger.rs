//! Ledger: the writer of the present record, the announced terms, and the requests of each elector.
//!
//! Each entry must obey a rule. No write empties or replaces another's live record, each term ends
//! once, and requests have a bound.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use lease_election::{Announced, FenceToken, Record};
use tokio::time::Instant;

/// The fastest clock gains less than one part in this many.
const DRIFT: u32 = 1000;

const SECOND: Duration = Duration::from_secs(1);

/// The longest lease that electors grant to others.
const CAP: Duration = Duration::from_mins(10);

/// The window in which an elector's requests are counted.
const STRETCH: Duration = Duration::from_secs(10);

/// The most requests of an elector in one window, with renewals each second. Its pace of half a
/// retry period makes twenty. Reads after failures and reopened watches may make as many. The first
/// attempts of a new campaign come quicker. (The highest count so far is 33.)
const REQUESTS: usize = 50;

/// The same for its LeaseCandidate, which it keeps up, and reads where it may not watch. (The
/// highest count so far is 29.)
const CANDIDATE_REQUESTS: usize = 50;

/// The object of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    any(not(feature = "kube"), wq_plant),
    allow(dead_code, reason = "there are none without a server")
)]
pub(crate) enum About {
    Lease,
    Candidate,
}

#[derive(Default)]
pub(crate) struct Ledger {
    standing: Option<Entry>,
    /// Terms that were announced as begun and not yet as ended, by link.
    begun: BTreeMap<String, FenceToken>,
    /// The term count of each elector when its work last began.
    counted: BTreeMap<String, u64>,
    /// The requests, by object and by link.
    sent: [BTreeMap<String, VecDeque<Instant>>; 2],
    /// When the write of each mark got its time, until it is carried out.
    writes: BTreeMap<String, Instant>,
    /// A controller writes too, and judges by the times in records.
    pub(crate) is_coordinated: bool,
    /// The shortest lease of all electors.
    pub(crate) own: Duration,
    /// The longest lease of all electors.
    pub(crate) longest: Duration,
    /// The shortest renewal period of each node, by a right clock.
    pub(crate) renewals: Vec<Duration>,
    /// The node whose clock A2 excludes.
    pub(crate) off_beat: Option<u64>,
    /// The sender of each record, until it is carried out.
    senders: HashMap<Record, String>,
}

/// A record, its writer's link (empty for a stranger), and since when it counts, if it does.
struct Entry {
    record: Record,
    writer: String,
    since: Option<Instant>,
    /// When it got its time.
    named: Instant,
    /// The record that a controller replaced by this grant: its writer may not have heard.
    below: Option<Box<Self>>,
}

/// Whether this link is a controller's.
pub(crate) fn is_controller(link: &str) -> bool {
    link.starts_with('c')
}

/// The node of this link, if it is an elector's.
fn node_of(link: &str) -> Option<u64> {
    link.strip_prefix('n')?.split('.').next()?.parse().ok()
}

/// Whether this process has this identity, with or without the number of its life.
fn is_called(link: &str, identity: &str) -> bool {
    link == identity || link.split_once('.').is_some_and(|(node, _)| node == identity)
}

impl Entry {
    fn is_live(&self, own: Duration) -> bool {
        // The documented rule: a duration of zero or less counts as the electors' own lease. None
        // counts for longer than the cap.
        let lease = match u64::try_from(self.record.lease_duration_seconds) {
            Ok(0) | Err(_) => own,
            Ok(seconds) => Duration::from_secs(seconds).min(CAP),
        };
        !self.record.is_free()
            && self.since.is_some_and(|since| since.elapsed() < lease - lease / DRIFT)
    }

    /// Checks that this writer may replace this record.
    fn is_taken_by(
        &self,
        writer: &str,
        record: &Record,
        ended: &BTreeSet<String>,
        own: Duration,
    ) -> Result<(), String> {
        // A grant belongs to its candidate at once; the record that it replaced does not.
        let is_granted = is_controller(&self.writer) && is_called(writer, &self.record.holder);
        let foreign = self.writer != writer && !ended.contains(&self.writer) && !is_granted;
        if foreign && self.is_live(own) {
            let (holder, age) = (&self.record.holder, self.since.map(|since| since.elapsed()));
            let deed = if record.is_free() { "empties" } else { "overwrites" };
            let age = age.unwrap_or_default();
            return Err(format!("{writer} {deed} the record of {holder}, which is {age:?} old"));
        }
        self.below.as_ref().map_or(Ok(()), |below| below.is_taken_by(writer, record, ended, own))
    }

    /// The record that remains below a grant. A controller judges its expiry by the time in it.
    fn granted_away(mut self) -> Option<Box<Self>> {
        if is_controller(&self.writer) {
            // No candidate has claimed the grant.
            return self.below;
        }
        self.since = self.since.map(|since| since.min(self.named));
        (!self.record.is_free()).then(|| Box::new(self))
    }
}

/// Whether the records differ only in a controller's notes on a held Lease.
fn is_noted(before: &Record, after: &Record) -> bool {
    let notes = |record: &Record| Record {
        strategy: after.strategy.clone(),
        preferred_holder: after.preferred_holder.clone(),
        ..record.clone()
    };
    notes(before) == *after
}

impl Ledger {
    /// Enters a write that was carried out. An empty link is the operator or a stranger, which may
    /// write anything. The processes in `ended` run no more.
    pub(crate) fn wrote(
        &mut self,
        writer: &str,
        record: Option<&Record>,
        ended: &BTreeSet<String>,
    ) -> Result<(), String> {
        let Some(record) = record else {
            self.standing = None;
            return Ok(());
        };
        let grants = self.is_coordinated && is_controller(writer);
        let (own, may_rob) = (self.own, !self.keeps_time(writer) && !record.is_free());
        if let Some(standing) = self.standing.as_mut() {
            if standing.record == *record {
                // A label changed, and the record goes on.
                return Ok(());
            }
            if grants && is_noted(&standing.record, record) {
                // A controller's notes leave its age as it is.
                standing.record = record.clone();
                return Ok(());
            }
            // client-go detects a changed record by its whole seconds only.
            let second = |record: &Record| record.renew_time.map(|time| time.as_second());
            let repeats = !writer.is_empty()
                && standing.writer == writer
                && second(&standing.record) == second(record);
            if repeats {
                return Err(format!("{writer} writes twice within one second"));
            }
            // Controllers go by wall clocks, and are no electors. By a clock that is too fast,
            // leases expire early.
            if !writer.is_empty() && !grants && !may_rob {
                standing.is_taken_by(writer, record, ended, own)?;
            }
        }
        let sent = record.write_id.as_ref().and_then(|mark| self.writes.remove(mark));
        // A stranger's record has whole seconds.
        let named =
            sent.unwrap_or_else(|| Instant::now().checked_sub(SECOND).unwrap_or_else(Instant::now));
        let since = Some(Instant::now());
        let below = self.standing.take().filter(|_| grants).and_then(Entry::granted_away);
        self.standing =
            Some(Entry { record: record.clone(), writer: writer.to_owned(), since, named, below });
        Ok(())
    }

    /// Whether A2 allows the clock of this process.
    pub(crate) fn keeps_time(&self, link: &str) -> bool {
        self.off_beat.is_none() || self.off_beat != node_of(link)
    }

    /// Whether a stranger wrote the present record.
    pub(crate) fn is_a_strangers(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| standing.writer.is_empty())
    }

    /// Notes the sender of a record, which the server does not report.
    #[cfg_attr(
        any(not(feature = "kube"), wq_plant),
        allow(dead_code, reason = "there is no server")
    )]
    pub(crate) fn sends(&mut self, link: &str, record: Record) {
        self.senders.insert(record, link.to_owned());
    }

    /// Takes the sender of a record that is carried out, once: a restored record is the operator's.
    #[cfg_attr(
        any(not(feature = "kube"), wq_plant),
        allow(dead_code, reason = "there is no server")
    )]
    pub(crate) fn sender(&mut self, record: &Record) -> Option<String> {
        self.senders.remove(record)
    }

    /// The present record was restored while no lease held.
    pub(crate) fn went_back(&mut self) {
        if let Some(standing) = &mut self.standing {
            standing.since = None;
        }
    }

    /// Notes that a write has its time, before it is sent.
    pub(crate) fn stamped(&mut self, record: &Record) {
        if let (true, Some(mark)) = (self.is_coordinated, &record.write_id) {
            self.writes.insert(mark.clone(), Instant::now());
        }
    }

    /// Checks that each term ends once, and before the same elector's next term.
    pub(crate) fn announced(
        &mut self,
        link: &str,
        what: Announced,
        fence: &FenceToken,
    ) -> Result<(), String> {
        let (open, right) = match what {
            Announced::BecameLeader => {
                let open = self.begun.insert(link.to_owned(), fence.clone());
                let right = open.is_none();
                (open, right)
            }
            _ => {
                let open = self.begun.remove(link);
                let right = open.as_ref() == Some(fence);
                (open, right)
            }
        };
        if right { Ok(()) } else { Err(format!("{link} said {what:?} of {fence} within {open:?}")) }
    }

    /// Checks the term count of an elector whose work begins: each term is counted, and works once.
    pub(crate) fn counted(&mut self, link: &str, terms: u64) -> Result<(), String> {
        let before = self.counted.insert(link.to_owned(), terms).unwrap_or(0);
        if before < terms {
            Ok(())
        } else {
            Err(format!("{link} works again in its term number {terms}"))
        }
    }

    /// Checks that every term has ended with the run.
    pub(crate) fn all_ended(&self) -> Result<(), String> {
        if self.begun.is_empty() {
            Ok(())
        } else {
            Err(format!("began and never ended: {:?}", self.begun))
        }
    }

    /// Counts one more request of this elector.
    pub(crate) fn asks(&mut self, link: &str, about: About) -> Result<(), String> {
        let (all, most) = match about {
            About::Lease => {
                let renewals = node_of(link).and_then(|node| self.renewals.get(node as usize));
                let millis = renewals.map_or(1000, Duration::as_millis).max(1);
                (&mut self.sent[0], REQUESTS * 1000 / millis as usize)
            }
            About::Candidate => (&mut self.sent[1], CANDIDATE_REQUESTS),
        };
        if !all.contains_key(link) {
            all.insert(link.to_owned(), VecDeque::new());
        }
        let Some(sent) = all.get_mut(link) else { return Ok(()) };
        while sent.front().is_some_and(|at| at.elapsed() >= STRETCH) {
            sent.pop_front();
        }
        sent.push_back(Instant::now());
        if sent.len() > most {
            return Err(format!(
                "{link} sent {} requests about its {about:?} within {STRETCH:?}",
                sent.len()
            ));
        }
        Ok(())
    }
}
