//! What is on record: who wrote the Lease as it stands and since when, whose terms were announced,
//! and how often each elector asks. Each entry is held against a rule: nobody empties or overwrites
//! another's live record, each term that began ends once, and requests have a bound.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use lease_election::{Announced, FenceToken, Record};
use tokio::time::Instant;

/// By so much the fastest clock is ahead of a lease, and a little.
const DRIFT: u32 = 1000;

const SECOND: Duration = Duration::from_secs(1);

/// What electors grant to others at the most.
const CAP: Duration = Duration::from_mins(10);

/// An elector's requests are counted in stretches of this length.
const STRETCH: Duration = Duration::from_secs(10);

/// How many it sends in one at the most, with renewals each second: twenty at its pace of half a
/// retry period, as many to read what a failure left unknown and to open its watch again, and the
/// first attempts of a campaign that begins anew, which come quicker. (The most that was seen is
/// 33.)
const REQUESTS: usize = 50;

/// The same of its LeaseCandidate, which it keeps up, and reads where it may not be watched. (The
/// most that was seen is 29.)
const CANDIDATE_REQUESTS: usize = 50;

/// What a request is about.
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
    /// Terms that were said to begin and not yet to end, by link.
    begun: BTreeMap<String, FenceToken>,
    /// How many terms each elector had counted when its work began last.
    counted: BTreeMap<String, u64>,
    /// By what they are about, and by link.
    sent: [BTreeMap<String, VecDeque<Instant>>; 2],
    /// When the write of this mark got its time, until it is carried out.
    writes: BTreeMap<String, Instant>,
    /// A record may be judged by the time that it names, which is that of its making.
    pub(crate) by_wall: bool,
    /// A controller writes too, and judges by the times that records name.
    pub(crate) is_coordinated: bool,
    /// The shortest lease that an elector has for its own.
    pub(crate) own: Duration,
    /// And the longest.
    pub(crate) longest: Duration,
    /// How often each node renews at the most, by a clock that is right.
    pub(crate) renewals: Vec<Duration>,
    /// The clock of this node runs at another speed than A2 allows.
    pub(crate) off_beat: Option<u64>,
    /// Who has sent this, until it is carried out.
    senders: HashMap<Record, String>,
}

/// A record, the link it came by (none of a stranger), and from when on it counts, if it does.
struct Entry {
    record: Record,
    writer: String,
    since: Option<Instant>,
    /// When it got its time.
    named: Instant,
    /// What a controller granted away when it wrote this: whoever wrote that may not have heard.
    below: Option<Box<Self>>,
}

/// Whether this link is of a process that elects for others.
pub(crate) fn is_controller(link: &str) -> bool {
    link.starts_with('c')
}

/// Of which node this link's process is, if it is an elector's.
fn node_of(link: &str) -> Option<u64> {
    link.strip_prefix('n')?.split('.').next()?.parse().ok()
}

/// Whether this process has this identity: with the number of its life, or without.
fn is_called(link: &str, identity: &str) -> bool {
    link == identity || link.split_once('.').is_some_and(|(node, _)| node == identity)
}

impl Entry {
    fn is_live(&self, own: Duration) -> bool {
        // As it is stated: one that names no duration above zero holds for a lease of the electors'
        // own, and none for longer than the cap.
        let lease = match u64::try_from(self.record.lease_duration_seconds) {
            Ok(0) | Err(_) => own,
            Ok(seconds) => Duration::from_secs(seconds).min(CAP),
        };
        !self.record.is_free()
            && self.since.is_some_and(|since| since.elapsed() < lease - lease / DRIFT)
    }

    /// Whether this writer may put another record in its place.
    fn is_taken_by(
        &self,
        writer: &str,
        record: &Record,
        ended: &BTreeSet<String>,
        own: Duration,
    ) -> Result<(), String> {
        // A grant is its electee's at once, and what was granted away is not.
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

    /// What remains of it below a grant: a controller finds that it has run out by the time that it
    /// names.
    fn granted_away(mut self) -> Option<Box<Self>> {
        if is_controller(&self.writer) {
            // Nobody has claimed it.
            return self.below;
        }
        self.since = self.since.map(|since| since.min(self.named));
        (!self.record.is_free()).then(|| Box::new(self))
    }
}

/// Whether nothing differs but what a controller notes on a Lease in force.
fn is_noted(before: &Record, after: &Record) -> bool {
    let notes = |record: &Record| Record {
        strategy: after.strategy.clone(),
        preferred_holder: after.preferred_holder.clone(),
        ..record.clone()
    };
    notes(before) == *after
}

impl Ledger {
    /// A write by this link (none: the operator's or a stranger's, who may do anything) was carried
    /// out; those in `ended` have ended for good.
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
                // A label: the record goes on as it was.
                return Ok(());
            }
            if grants && is_noted(&standing.record, record) {
                // And so it does with a controller's notes.
                standing.record = record.clone();
                return Ok(());
            }
            // client-go sees that a record changed by its whole seconds alone.
            let second = |record: &Record| record.renew_time.map(|time| time.as_second());
            let repeats = !writer.is_empty()
                && standing.writer == writer
                && second(&standing.record) == second(record);
            if repeats {
                return Err(format!("{writer} writes twice within one second"));
            }
            // Controllers go by wall clocks, and are no electors. And whoever's clock is too fast
            // finds that leases run out early.
            if !writer.is_empty() && !grants && !may_rob {
                standing.is_taken_by(writer, record, ended, own)?;
            }
        }
        let sent = record.write_id.as_ref().and_then(|mark| self.writes.remove(mark));
        // A stranger names whole seconds.
        let named =
            sent.unwrap_or_else(|| Instant::now().checked_sub(SECOND).unwrap_or_else(Instant::now));
        let since = Some(if self.by_wall { named } else { Instant::now() });
        let below = self.standing.take().filter(|_| grants).and_then(Entry::granted_away);
        self.standing =
            Some(Entry { record: record.clone(), writer: writer.to_owned(), since, named, below });
        Ok(())
    }

    /// Whether the clock of this process is one that A2 allows.
    pub(crate) fn keeps_time(&self, link: &str) -> bool {
        self.off_beat.is_none() || self.off_beat != node_of(link)
    }

    /// Whether the record that stands there is no elector's.
    pub(crate) fn is_a_strangers(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| standing.writer.is_empty())
    }

    /// This link sends this, and the server will not say who it was.
    #[cfg_attr(
        any(not(feature = "kube"), wq_plant),
        allow(dead_code, reason = "there is no server")
    )]
    pub(crate) fn sends(&mut self, link: &str, record: Record) {
        self.senders.insert(record, link.to_owned());
    }

    /// Who has sent what is carried out now; once, for what is put back later is the operator's.
    #[cfg_attr(
        any(not(feature = "kube"), wq_plant),
        allow(dead_code, reason = "there is no server")
    )]
    pub(crate) fn sender(&mut self, record: &Record) -> Option<String> {
        self.senders.remove(record)
    }

    /// What stands there was put back when no lease held.
    pub(crate) fn went_back(&mut self) {
        if let Some(standing) = &mut self.standing {
            standing.since = None;
        }
    }

    /// A write is about to be sent: its time stands in it.
    pub(crate) fn stamped(&mut self, record: &Record) {
        if let (true, Some(mark)) = (self.by_wall || self.is_coordinated, &record.write_id) {
            self.writes.insert(mark.clone(), Instant::now());
        }
    }

    /// Each term that begins ends once, and before the next of the same elector.
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

    /// Work begins when this elector has counted so many terms: each is counted, and works once.
    pub(crate) fn counted(&mut self, link: &str, terms: u64) -> Result<(), String> {
        let before = self.counted.insert(link.to_owned(), terms).unwrap_or(0);
        if before < terms {
            Ok(())
        } else {
            Err(format!("{link} works again in its term number {terms}"))
        }
    }

    /// The run is over, and so are all terms.
    pub(crate) fn all_ended(&self) -> Result<(), String> {
        if self.begun.is_empty() {
            Ok(())
        } else {
            Err(format!("began and never ended: {:?}", self.begun))
        }
    }

    /// One more request of this elector.
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
