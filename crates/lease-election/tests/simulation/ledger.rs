//! What is on record: who wrote the Lease as it stands and since when, whose terms were announced, and how often each elector asks. Each entry is
//! held against a rule: nobody empties or overwrites another's live record, each term that began ends once, and requests have a bound.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use lease_election::{Announced, Announcement, FenceToken, Record};
use tokio::time::Instant;

/// By so much the fastest clock is ahead of a lease, and a little.
const DRIFT: u32 = 1000;

const SECOND: Duration = Duration::from_secs(1);

/// What electors have, and what they grant to others at the most.
const OWN: Duration = Duration::from_secs(5);
const CAP: Duration = Duration::from_mins(10);

/// An elector's requests are counted in stretches of this length.
const STRETCH: Duration = Duration::from_secs(10);

/// How many it sends in one at the most: twenty at its pace of half a renew interval, as many to read what a failure left unknown and to open its watch again, and
/// the first attempts of a campaign that begins anew, which come quicker. (The most that was seen is 32.)
const REQUESTS: usize = 50;

#[derive(Default)]
pub(crate) struct Ledger {
    standing: Option<Entry>,
    /// Terms that were said to begin and not yet to end, by link.
    begun: BTreeMap<String, FenceToken>,
    sent: BTreeMap<String, VecDeque<Instant>>,
    /// When the write of this mark got its time, until it is carried out.
    writes: BTreeMap<String, Instant>,
    /// A record may be judged by the time that it names, which is that of its making.
    pub(crate) by_wall: bool,
}

/// A record, the link it came by (none of a stranger), and from when on it counts, if it does.
struct Entry {
    record: Record,
    writer: String,
    since: Option<Instant>,
}

impl Entry {
    fn is_live(&self) -> bool {
        // As it is stated: one that names no duration above zero holds for a lease of the electors' own, and none for longer than the cap.
        let lease = match u64::try_from(self.record.lease_duration_seconds) {
            Ok(0) | Err(_) => OWN,
            Ok(seconds) => Duration::from_secs(seconds).min(CAP),
        };
        !self.record.is_free() && self.since.is_some_and(|since| since.elapsed() < lease - lease / DRIFT)
    }
}

impl Ledger {
    /// A write by this link (none: the operator's or a stranger's, who may do anything) was carried out; those in `ended` have ended for good.
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
        if let Some(standing) = self.standing.as_ref() {
            if standing.record == *record {
                // A label: the record goes on as it was.
                return Ok(());
            }
            // client-go sees that a record changed by its whole seconds alone.
            let second = |record: &Record| record.renew_time.map(|time| time.as_second());
            if !writer.is_empty() && standing.writer == writer && second(&standing.record) == second(record) {
                return Err(format!("{writer} writes twice within one second"));
            }
            let foreign =
                !writer.is_empty() && standing.writer != writer && !ended.contains(&standing.writer);
            if foreign && standing.is_live() {
                let (holder, age) = (&standing.record.holder, standing.since.map(|since| since.elapsed()));
                let deed = if record.is_free() { "empties" } else { "overwrites" };
                return Err(format!(
                    "{writer} {deed} the record of {holder}, which is {:?} old",
                    age.unwrap_or_default()
                ));
            }
        }
        let sent = record.write_id.as_ref().and_then(|mark| self.writes.remove(mark));
        // A stranger names whole seconds.
        let named = sent.unwrap_or_else(|| Instant::now().checked_sub(SECOND).unwrap_or_else(Instant::now));
        let since = Some(if self.by_wall { named } else { Instant::now() });
        self.standing = Some(Entry { record: record.clone(), writer: writer.to_owned(), since });
        Ok(())
    }

    /// What stands there was put back when no lease held.
    pub(crate) fn went_back(&mut self) {
        if let Some(standing) = &mut self.standing {
            standing.since = None;
        }
    }

    /// A write is about to be sent: its time stands in it.
    pub(crate) fn stamped(&mut self, record: &Record) {
        if let (true, Some(mark)) = (self.by_wall, &record.write_id) {
            self.writes.insert(mark.clone(), Instant::now());
        }
    }

    /// Each term that begins ends once, and before the next of the same elector.
    pub(crate) fn announced(&mut self, link: &str, said: &Announcement) -> Result<(), String> {
        let (open, right) = match said.what {
            Announced::BecameLeader => {
                let open = self.begun.insert(link.to_owned(), said.fence.clone());
                let right = open.is_none();
                (open, right)
            }
            _ => {
                let open = self.begun.remove(link);
                let right = open.as_ref() == Some(&said.fence);
                (open, right)
            }
        };
        if right {
            Ok(())
        } else {
            Err(format!("{link} said {:?} of {} within {open:?}", said.what, said.fence))
        }
    }

    /// The run is over, and so are all terms.
    pub(crate) fn all_ended(&self) -> Result<(), String> {
        if self.begun.is_empty() { Ok(()) } else { Err(format!("began and never ended: {:?}", self.begun)) }
    }

    /// One more request of this elector.
    pub(crate) fn asks(&mut self, link: &str) -> Result<(), String> {
        if !self.sent.contains_key(link) {
            self.sent.insert(link.to_owned(), VecDeque::new());
        }
        let Some(sent) = self.sent.get_mut(link) else { return Ok(()) };
        while sent.front().is_some_and(|at| at.elapsed() >= STRETCH) {
            sent.pop_front();
        }
        sent.push_back(Instant::now());
        if sent.len() > REQUESTS {
            return Err(format!("{link} sent {} requests within {STRETCH:?}", sent.len()));
        }
        Ok(())
    }
}
