//! Ours: the shipped protocol in the world of the model, by the `Candidate` that the driver uses.

use std::time::Duration;

use jiff::Timestamp;

use crate::candidate::{Action, Candidate, Manner, News, Purpose, Read, Write};
use crate::config::Config;
use crate::names::{Names, revision};
use crate::observation::Observation;
use crate::world::{Elector, Kind, Todo, Told};
use crate::{LeaseEvent, Moment, Record, StoreError, StoredLease, Version};

/// Durations are in seconds, except `timeout`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) lease: u64,
    pub(crate) interval: u64,
    /// The request timeout only has to fit into the lease: answers in the model take any time.
    pub(crate) timeout: Duration,
    pub(crate) margin: u64,
    pub(crate) drift_ppm: u32,
    /// Whether a standby has no watch, and so reads sooner.
    pub(crate) polls: bool,
    /// The rank in which electors take an expired lease, one second apart.
    pub(crate) rank: Option<u8>,
    pub(crate) manner: Manner,
}

impl Terms {
    pub(crate) fn elector(self, identity: &str, seed: u64) -> Ours {
        let seconds = Duration::from_secs;
        let mut config = Config::builder("ns", "lease")
            .identity(identity)
            .lease_duration(seconds(self.lease))
            .retry_period(seconds(self.interval))
            .request_timeout(self.timeout)
            .stop_margin(seconds(self.margin))
            .clock_drift_ppm(self.drift_ppm)
            .takeover_jitter(Duration::ZERO);
        if let Some(rank) = self.rank {
            config = config.rank(rank).takeover_jitter(seconds(1));
        }
        let config = config.build().expect("a configuration that is safe");
        let mut candidate = Candidate::new(&config, seed);
        candidate.arrange(Moment::from_origin(Duration::ZERO), self.manner);
        Ours {
            candidate,
            polite: false,
            polls: self.polls,
            identity: identity.to_owned(),
            manner: self.manner,
        }
    }
}

fn kind(purpose: Purpose) -> Kind {
    match purpose {
        Purpose::Acquire => Kind::Acquire,
        Purpose::Renew => Kind::Renew,
        Purpose::Release => Kind::Release,
    }
}

fn told(news: News) -> Told {
    match news {
        News::Nothing => Told::Nothing,
        News::Unpreferred => Told::Unpreferred,
        News::Acquired(hold) => {
            let version = Version::new(hold.fence.uid, hold.fence.resource_version);
            Told::Began(revision(&version), hold.until)
        }
        News::Renewed(until) => Told::Extended(until),
        News::Ended(_) => Told::Over,
        News::Released => Told::Released,
    }
}

/// A candidate that waits out of courtesy only when it is told to: see `forget_waits`.
#[derive(Clone)]
pub(crate) struct Ours {
    candidate: Candidate,
    polite: bool,
    polls: bool,
    identity: String,
    manner: Manner,
}

/// The candidate knows of a controller that elects.
pub(crate) const ELECTED: Manner = Manner::Elected { stands: true, impatient: false };

impl Ours {
    fn after<R>(&mut self, result: R) -> R {
        if !self.polite {
            self.candidate.forget_waits();
        }
        result
    }
}

fn wall(now: Moment) -> Timestamp {
    let passed = now.since(Moment::from_origin(Duration::ZERO)).as_secs();
    let seconds = i64::try_from(passed).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

impl Elector for Ours {
    type Read = Read;
    type Write = Write;

    fn todo(&self, now: Moment) -> Option<Todo> {
        match self.candidate.action(now, !self.polls) {
            Action::Read => Some(Todo::Read),
            Action::Write(purpose) => Some(Todo::Write(kind(purpose))),
            Action::Wait(_) => None,
        }
    }

    fn begin_read(&mut self, now: Moment) -> Read {
        let read = self.candidate.begin_read(now);
        self.after(read)
    }

    fn begin_write(&mut self, now: Moment, kind: Kind) -> Write {
        let purpose = match kind {
            Kind::Acquire => Purpose::Acquire,
            Kind::Renew => Purpose::Renew,
            Kind::Release => Purpose::Release,
        };
        let write = self.candidate.begin_write(now, wall(now), purpose);
        self.after(write)
    }

    fn draft(write: &Write) -> (Kind, Option<&Version>, &Record) {
        (kind(write.purpose), write.base.as_ref(), &write.record)
    }

    fn tick(&mut self, now: Moment) -> Told {
        let news = self.candidate.tick(now);
        self.after(told(news))
    }

    fn read(
        &mut self,
        now: Moment,
        read: Read,
        answer: Result<Option<StoredLease>, StoreError>,
    ) -> Told {
        let news = self.candidate.read(now, read, answer);
        self.after(told(news))
    }

    fn wrote(
        &mut self,
        now: Moment,
        write: &Write,
        answer: Result<StoredLease, StoreError>,
    ) -> Told {
        let news = self.candidate.wrote(now, write, answer);
        self.after(told(news))
    }

    fn heard(&mut self, now: Moment, event: LeaseEvent) -> Told {
        let news = self.candidate.heard(now, event);
        self.after(told(news))
    }

    fn distrust(&mut self) {
        self.candidate.distrust();
    }

    fn abdicate(&mut self, now: Moment) {
        self.candidate.abdicate(now);
    }

    fn resume(&mut self, now: Moment) {
        self.candidate.resume(now);
        self.after(());
    }

    fn may_forestall(&self, now: Moment) -> bool {
        self.candidate.may_forestall(now)
    }

    fn leave(&mut self) {
        self.candidate.leave();
    }

    fn be_patient(&mut self, now: Moment) {
        self.polite = true;
        self.candidate.listen_from(now);
    }

    fn leads(&self) -> bool {
        self.candidate.is_leading()
    }

    fn known(&self) -> Option<&StoredLease> {
        match self.candidate.observation() {
            Observation::Present { lease, .. } => Some(lease),
            _ => None,
        }
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn name_successor(&mut self, successor: &str) {
        self.candidate.name_successor(Some(successor.to_owned()));
    }

    fn bar(&mut self, barred: bool) {
        self.candidate.bar(barred);
    }

    fn flap(&mut self, now: Moment) {
        self.manner = if self.manner == ELECTED { Manner::Alone } else { ELECTED };
        self.candidate.arrange(now, self.manner);
    }

    fn vacate(&mut self, now: Moment, version: &Version) {
        self.candidate.vacate(now, version);
    }

    fn is_unpreferred(&self) -> bool {
        self.candidate.is_unpreferred()
    }

    fn counts_on(&self, now: Moment, write: &Write) -> bool {
        self.candidate.counts_on(now, write)
    }

    fn knows_of_another(&self) -> bool {
        self.candidate.knows_of_another()
    }

    fn missing_since(&self) -> Option<Moment> {
        self.candidate.missing_since()
    }

    fn forget_lost(&mut self, names: &Names) {
        self.candidate.forget_lost(names);
    }

    fn revisions(&self, names: &Names, out: &mut Vec<u64>) {
        self.candidate.revisions(names, out);
    }

    fn outlook(&self, now: Moment, names: &mut Names, out: &mut Vec<u64>) {
        self.candidate.outlook(now, names, out);
    }

    fn outlook_of_read(&self, read: &Read, finds: bool, now: Moment, out: &mut Vec<u64>) {
        self.candidate.outlook_of_read(read, finds, now, out);
    }

    fn outlook_of_write(&self, write: &Write, now: Moment, names: &mut Names, out: &mut Vec<u64>) {
        self.candidate.outlook_of_write(write, now, names, out);
    }
}
