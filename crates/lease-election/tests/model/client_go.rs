//! client-go: its rules (v0.37, `tools/leaderelection`) in the world of the model. The deadline
//! counts from the answer of the last renewal. A round of renewals goes on until its own deadline,
//! whatever it reads.

use std::time::Duration;

use jiff::Timestamp;

use crate::names::{Names, distance, revision};
use crate::world::{Elector, Kind, Todo, Told};
use crate::{LeaseEvent, Moment, Record, StoreError, StoredLease, Version};

#[derive(Clone, Debug)]
pub(crate) struct ClientGo {
    identity: &'static str,
    lease: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
    observed: Option<StoredLease>,
    observed_time: Option<Moment>,
    leads: bool,
    /// The end of the present round of renewals.
    round: Option<Moment>,
    attempt: Option<Moment>,
    next: Option<Moment>,
    /// Whether the next request of this attempt is the write.
    put: bool,
    serial: i64,
}

/// A write, and the version that it is conditional on.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    kind: Kind,
    base: Option<Version>,
    record: Record,
    /// Whether the write takes the fast path, without a read before it.
    fast: bool,
}

impl ClientGo {
    /// LeaseDuration, RenewDeadline and RetryPeriod.
    pub(crate) fn new(
        identity: &'static str,
        lease: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Self {
        Self {
            identity,
            lease,
            renew_deadline,
            retry_period,
            observed: None,
            observed_time: None,
            leads: false,
            round: None,
            attempt: None,
            next: None,
            put: false,
            serial: 0,
        }
    }

    fn is_lease_valid(&self, now: Moment) -> bool {
        match (&self.observed, self.observed_time) {
            (Some(lease), Some(time)) => {
                let seconds = u64::from(lease.record.lease_duration_seconds.unsigned_abs());
                time.after(Duration::from_secs(seconds)) > now
            }
            _ => false,
        }
    }

    fn observe(&mut self, now: Moment, lease: StoredLease) {
        self.observed = Some(lease);
        self.observed_time = Some(now);
    }

    /// This attempt failed.
    fn retry(&mut self, now: Moment) {
        let begun = self.attempt.take().unwrap_or(now);
        // A leader polls from start to start, a candidate waits after each attempt.
        let from = if self.leads { begun } else { now };
        self.next = Some(from.after(self.retry_period).max(now));
        self.put = self.leads;
    }

    fn is_fast(&self) -> bool {
        self.leads && self.attempt.is_none()
    }
}

impl Elector for ClientGo {
    type Read = ();
    type Write = Put;

    fn todo(&self, now: Moment) -> Option<Todo> {
        if self.next.is_some_and(|next| now < next) {
            return None;
        }
        let kind = if self.leads { Kind::Renew } else { Kind::Acquire };
        Some(if self.put { Todo::Write(kind) } else { Todo::Read })
    }

    fn begin_read(&mut self, now: Moment) {
        self.attempt.get_or_insert(now);
    }

    fn begin_write(&mut self, now: Moment, kind: Kind) -> Put {
        let fast = self.is_fast();
        self.attempt.get_or_insert(now);
        if self.leads && self.round.is_none() {
            self.round = Some(now.after(self.renew_deadline));
        }
        self.serial += 1;
        let record = Record {
            holder: self.identity.to_owned(),
            lease_duration_seconds: i32::try_from(self.lease.as_secs()).unwrap_or(i32::MAX),
            renew_time: Timestamp::from_second(self.serial).ok(),
            write_id: Some(format!("{}.{}", self.identity, self.serial)),
            ..Record::default()
        };
        Put { kind, base: self.observed.as_ref().map(|lease| lease.version.clone()), record, fast }
    }

    fn draft(write: &Put) -> (Kind, Option<&Version>, &Record) {
        (write.kind, write.base.as_ref(), &write.record)
    }

    fn tick(&mut self, now: Moment) -> Told {
        match self.round {
            Some(deadline) if self.leads && now >= deadline => {
                self.abdicate(now);
                Told::Over
            }
            _ => Told::Nothing,
        }
    }

    fn read(
        &mut self,
        now: Moment,
        (): (),
        answer: Result<Option<StoredLease>, StoreError>,
    ) -> Told {
        match answer {
            Err(_) => self.retry(now),
            Ok(None) => {
                self.observed = None;
                self.put = true;
            }
            Ok(Some(lease)) => {
                if self.observed.as_ref().map(|known| &known.record) != Some(&lease.record) {
                    self.observe(now, lease);
                }
                let record = self
                    .observed
                    .as_ref()
                    .map(|lease| lease.record.holder.as_str())
                    .unwrap_or_default();
                if !record.is_empty() && record != self.identity && self.is_lease_valid(now) {
                    self.retry(now);
                } else {
                    self.put = true;
                }
            }
        }
        Told::Nothing
    }

    fn wrote(&mut self, now: Moment, write: &Put, answer: Result<StoredLease, StoreError>) -> Told {
        match answer {
            Ok(lease) => {
                let began = revision(&lease.version);
                self.observe(now, lease);
                let forever = Moment::from_origin(Duration::MAX);
                self.round = None;
                self.attempt = None;
                self.put = true;
                if self.leads {
                    self.next = Some(now.after(self.retry_period));
                    return Told::Extended(forever);
                }
                self.leads = true;
                self.next = None;
                Told::Began(began, forever)
            }
            Err(_) => {
                if write.fast {
                    // The same attempt goes on with a read.
                    self.put = false;
                } else {
                    self.retry(now);
                }
                Told::Nothing
            }
        }
    }

    fn heard(&mut self, _: Moment, _: LeaseEvent) -> Told {
        Told::Nothing
    }

    fn distrust(&mut self) {}

    fn abdicate(&mut self, _: Moment) {
        self.leads = false;
        self.round = None;
        self.attempt = None;
        self.next = None;
        self.put = false;
    }

    fn leave(&mut self) {}

    fn be_patient(&mut self, _: Moment) {}

    fn identity(&self) -> &str {
        self.identity
    }

    fn leads(&self) -> bool {
        self.leads
    }

    fn known(&self) -> Option<&StoredLease> {
        self.observed.as_ref()
    }

    fn counts_on(&self, _: Moment, _: &Self::Write) -> bool {
        true
    }

    fn knows_of_another(&self) -> bool {
        false
    }

    fn missing_since(&self) -> Option<Moment> {
        None
    }

    fn forget_lost(&mut self, _: &Names) {}

    fn revisions(&self, _: &Names, out: &mut Vec<u64>) {
        out.extend(self.observed.iter().map(|lease| revision(&lease.version)));
    }

    fn outlook(&self, now: Moment, names: &mut Names, out: &mut Vec<u64>) {
        let away = |moment: Option<Moment>, horizon| {
            moment.map_or(0, |moment| 1 + distance(moment, now, horizon))
        };
        out.extend([u64::from(self.leads), u64::from(self.put)]);
        out.push(away(self.round, Duration::ZERO));
        out.push(away(self.next, Duration::ZERO));
        out.push(away(self.attempt, self.retry_period));
        out.push(away(self.observed_time, self.lease));
        if let Some(lease) = &self.observed {
            names.version(&lease.version, out);
            names.record(&lease.record, out);
        }
    }

    fn outlook_of_read(&self, (): &(), _: bool, _: Moment, _: &mut Vec<u64>) {}

    fn outlook_of_write(&self, write: &Put, _: Moment, names: &mut Names, out: &mut Vec<u64>) {
        out.extend([write.kind as u64, u64::from(write.fast)]);
        if let Some(base) = &write.base {
            names.version(base, out);
        }
        names.record(&write.record, out);
    }
}
