//! Publication: when a LeaseCandidate is created, renewed, corrected and deleted. No clock, no I/O.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::deed::{Answer, ApiState, Deed};
use super::lease_candidate::{Seen, Wanted};
use crate::clock::Moment;
use crate::draws::{draw, fraction};
use crate::error::StoreError;
use crate::record::to_micros;
use crate::version::compare_resource_versions;

/// The period of renewals. The server forgets candidates that are silent for half an hour.
pub(crate) const RENEWAL: Duration = Duration::from_secs(300);

/// The period of probes for an absent API.
pub(crate) const LOOK: Duration = Duration::from_secs(60);

/// The least time between two creations or corrections, so that a client that undoes each of them
/// causes no hot loop.
const PACE: Duration = Duration::from_secs(1);

/// The longest time between two reads without a watch, and between two tries of which the next may
/// succeed: the server waits 5 s for an answer.
const SOON: Duration = Duration::from_secs(2);

/// The pause after the first failure, less a random part, and the longest one, after refusals.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// The pause after a 429 without a readable delay: API Priority and Fairness asks for a second, in
/// a header.
const UNSAID: Duration = Duration::from_secs(1);

/// How far a ping may be ahead of the wall clock to be answered in its own time.
const FARTHEST_AHEAD: SignedDuration = SignedDuration::from_hours(24);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Known {
    Unknown,
    Absent,
    Present(Seen),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Publication {
    wanted: Wanted,
    known: Known,
    api: ApiState,
    /// When the last successful write was sent.
    renewed: Option<Moment>,
    /// When the last successful creation or correction was sent.
    mended: Option<Moment>,
    /// The last ping that was answered. A ping from the far future stays open after every answer,
    /// and is answered once.
    answered: Option<Timestamp>,
    /// Whether a probe must tell if the API is there.
    doubtful: bool,
    /// A LeaseCandidate of this name for another Lease was deleted. If one appears again, another
    /// elector keeps it up.
    cleared: bool,
    not_before: Moment,
    /// The server asked for no request before this moment.
    silent_until: Moment,
    /// Failed reads in a row.
    unread: u32,
    /// Other failures in a row; reads in between do not end the row.
    undone: u32,
    /// The seed of the random pauses.
    random: u64,
    /// The period of reads without a watch.
    poll: Duration,
    /// When the last successful read or write was sent.
    looked: Moment,
    watch: Watch,
    /// Watches in a row that did not open, or ended at once.
    unwatched: u32,
    withdrawing: bool,
}

/// Whether the watch is open, or when to open it again.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Watch {
    Open(Moment),
    Closed { not_before: Moment },
}

const ORIGIN: Moment = Moment::from_origin(Duration::ZERO);

impl Publication {
    /// `poll`: the period of reads without a watch. `seed`: of the random pauses.
    pub(crate) fn new(wanted: Wanted, poll: Duration, seed: u64) -> Self {
        Self {
            wanted,
            known: Known::Unknown,
            api: ApiState::Unknown,
            renewed: None,
            mended: None,
            answered: None,
            doubtful: false,
            cleared: false,
            not_before: ORIGIN,
            silent_until: ORIGIN,
            unread: 0,
            undone: 0,
            random: seed,
            poll: poll.min(SOON),
            looked: ORIGIN,
            watch: Watch::Closed { not_before: ORIGIN },
            unwatched: 0,
            withdrawing: false,
        }
    }

    pub(crate) fn api(&self) -> ApiState {
        self.api
    }

    /// Whether a refusal may mean that the API is absent.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.doubtful && self.api == ApiState::Unknown
    }

    /// The other Lease, if another elector keeps up a LeaseCandidate of this name for it.
    pub(crate) fn taken_by(&self) -> Option<&str> {
        self.anothers().filter(|_| self.cleared)
    }

    /// The other Lease that the LeaseCandidate of this name stands for.
    fn anothers(&self) -> Option<&str> {
        match &self.known {
            Known::Present(seen) if seen.says.lease != self.wanted.lease => Some(&seen.says.lease),
            _ => None,
        }
    }

    /// Whether the server has the LeaseCandidate with the wanted fields, renewed by this
    /// publication.
    pub(crate) fn stands(&self) -> bool {
        matches!(&self.known, Known::Present(seen) if seen.says == self.wanted)
            && self.renewed.is_some()
    }

    /// The version to open a watch from now, if none is open.
    pub(crate) fn to_watch(&self, now: Moment) -> Option<&str> {
        match self.watch {
            Watch::Closed { not_before } if now >= not_before && !self.withdrawing => {
                self.version()
            }
            _ => None,
        }
    }

    pub(crate) fn watching(&mut self, now: Moment) {
        self.watch = Watch::Open(now);
    }

    /// The watch did not open, or ended, with this error if there was one. It opens again at once
    /// if it lasted `PACE`, otherwise after growing pauses.
    pub(crate) fn unwatched(&mut self, now: Moment, error: Option<&StoreError>) {
        let opened = match self.watch {
            Watch::Open(since) => Some(since),
            Watch::Closed { .. } => None,
        };
        if opened.is_some() || error == Some(&StoreError::Expired) {
            // Events may be missed: a read follows.
            self.known = Known::Unknown;
        }
        let pause = if opened.is_some_and(|since| now >= since.after(PACE)) {
            self.unwatched = 0;
            Duration::ZERO
        } else {
            self.unwatched = self.unwatched.saturating_add(1);
            self.pause(self.unwatched, PAUSES.1).max(error.map_or(Duration::ZERO, asked))
        };
        self.watch = Watch::Closed { not_before: now.after(pause) };
    }

    /// The last known version.
    fn version(&self) -> Option<&str> {
        match &self.known {
            Known::Present(seen) => Some(&seen.resource_version),
            _ => None,
        }
    }

    /// From now on the LeaseCandidate is to be absent.
    pub(crate) fn withdraw(&mut self) {
        if !self.withdrawing {
            self.withdrawing = true;
            self.succeeded();
            self.not_before = ORIGIN;
        }
    }

    pub(crate) fn next(&self, now: Moment, wall: Timestamp) -> Deed {
        let done = self.known == Known::Absent
            || self.api == ApiState::Absent
            || self.anothers().is_some();
        if self.withdrawing && done {
            return Deed::Done;
        }
        let not_before = self.not_before.max(self.silent_until);
        if now < not_before {
            return Deed::Wait(not_before);
        }
        if self.withdrawing {
            return match &self.known {
                Known::Present(seen) => Deed::Delete(seen.uid.clone()),
                _ => Deed::Read,
            };
        }
        if self.doubtful || self.api == ApiState::Absent {
            return Deed::Probe;
        }
        let mend = self.mended.map_or(now, |mended| mended.after(PACE));
        let mending = |deed| if now < mend { Deed::Wait(mend) } else { deed };
        match &self.known {
            Known::Unknown => Deed::Read,
            Known::Absent => mending(Deed::Create(to_micros(wall))),
            // `leaseName` cannot be changed. The first LeaseCandidate for another Lease may be a
            // leftover of an earlier process, and is deleted; a second one is left alone.
            Known::Present(_) if self.taken_by().is_some() => {
                self.look_again(now, Moment::from_origin(Duration::MAX))
            }
            Known::Present(seen) if self.anothers().is_some() => {
                mending(Deed::Delete(seen.uid.clone()))
            }
            Known::Present(seen) => {
                let due = self.renewed.map_or(now, |renewed| renewed.after(RENEWAL));
                let asked = seen.is_asked() && self.answered != seen.ping;
                if asked || now >= due {
                    return Deed::Update(self.time(seen, wall));
                }
                if seen.says != self.wanted {
                    return mending(Deed::Update(self.time(seen, wall)));
                }
                self.look_again(now, due)
            }
        }
    }

    /// Until `due` it only learns of changes: by the watch, or else by reads.
    fn look_again(&self, now: Moment, due: Moment) -> Deed {
        let Watch::Closed { not_before } = self.watch else { return Deed::Wait(due) };
        let poll = self.looked.after(self.poll);
        if now >= poll {
            return Deed::Read;
        }
        let watch = if now < not_before { not_before } else { due };
        Deed::Wait(due.min(poll).min(watch))
    }

    /// The renewal time: the wall clock's, but later than the ping, which has the server's time. So
    /// a candidate whose clock is behind answers too.
    fn time(&self, seen: &Seen, wall: Timestamp) -> Timestamp {
        let wall = to_micros(wall);
        let farthest = wall.checked_add(FARTHEST_AHEAD).unwrap_or(Timestamp::MAX);
        match seen.ping {
            Some(ping) if ping <= farthest => {
                let after = ping.checked_add(SignedDuration::from_micros(1)).unwrap_or(ping);
                wall.max(to_micros(after))
            }
            _ => wall,
        }
    }

    /// Takes in the answer to a deed that was sent at `sent`.
    pub(crate) fn done(&mut self, sent: Moment, now: Moment, deed: &Deed, answer: Answer) {
        match answer {
            Answer::Found(Some(seen)) => {
                self.api = ApiState::Present;
                self.unread = 0;
                self.looked = sent;
                if *deed != Deed::Read {
                    self.succeeded();
                }
                if matches!(deed, Deed::Create(_) | Deed::Update(_)) {
                    let mended = match &self.known {
                        Known::Present(known) => known.says != self.wanted,
                        _ => true,
                    };
                    if mended {
                        self.mended = Some(sent);
                    }
                    self.renewed = Some(sent);
                    self.answered = seen.ping;
                }
                self.known = Known::Present(seen);
            }
            Answer::Found(None) => self.known = Known::Absent,
            Answer::Deleted => {
                self.succeeded();
                self.cleared |= !self.withdrawing;
                self.known = Known::Absent;
            }
            Answer::Api(true) => {
                if self.api == ApiState::Absent {
                    self.known = Known::Unknown;
                    self.succeeded();
                }
                self.api = ApiState::Present;
                self.doubtful = false;
            }
            Answer::Api(false) => {
                self.api = ApiState::Absent;
                self.doubtful = false;
                self.known = Known::Unknown;
                self.renewed = None;
                self.not_before = sent.after(LOOK);
            }
            Answer::Failed(error) => self.failed(sent, now, deed, &error),
        }
    }

    fn failed(&mut self, sent: Moment, now: Moment, deed: &Deed, error: &StoreError) {
        let failures = if *deed == Deed::Read { &mut self.unread } else { &mut self.undone };
        *failures = failures.saturating_add(1);
        let failures = *failures;
        match (error, deed) {
            (StoreError::NotFound, Deed::Update(_) | Deed::Delete(_)) => {
                self.known = Known::Absent;
                return;
            }
            // Another object or version: the first such conflict is read at once.
            (StoreError::Conflict, _) => {
                self.known = Known::Unknown;
                if failures == 1 {
                    return;
                }
            }
            // A 403 or 404 may mean that the API is absent.
            (StoreError::NotFound | StoreError::Rejected { code: 403 | 404, .. }, _)
                if *deed != Deed::Probe =>
            {
                self.doubtful = true;
                // A probe comes next; a withdrawal does not probe, and tries again.
                if self.api == ApiState::Unknown && !self.withdrawing {
                    return;
                }
            }
            // A refused probe proves no absence: the refused request is tried again.
            (StoreError::Rejected { .. }, Deed::Probe) => self.doubtful = false,
            // Only a read tells whether the write was applied.
            (StoreError::Unknown { .. }, Deed::Create(_) | Deed::Update(_) | Deed::Delete(_)) => {
                self.known = Known::Unknown;
            }
            _ => {}
        }
        let longest = match error {
            StoreError::Unknown { .. } | StoreError::Conflict => SOON,
            _ => PAUSES.1,
        };
        self.not_before = sent.after(self.pause(failures, longest));
        self.silent_until = self.silent_until.max(now.after(asked(error)));
    }

    fn succeeded(&mut self) {
        (self.unread, self.undone) = (0, 0);
    }

    /// The pause after this many failures in a row, less a random part, so that the candidates of
    /// one outage do not come back together.
    fn pause(&mut self, failures: u32, longest: Duration) -> Duration {
        let doubled = PAUSES.0.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(longest);
        doubled.saturating_sub(fraction(doubled / 4, draw(&mut self.random)))
    }

    /// The watch reports a state of the LeaseCandidate.
    pub(crate) fn changed(&mut self, seen: Seen) {
        if !self.is_behind(&seen.resource_version) {
            self.known = Known::Present(seen);
        }
    }

    /// The watch reports the deletion of the LeaseCandidate.
    pub(crate) fn deleted(&mut self, last: &Seen) {
        if !self.is_behind(&last.resource_version) {
            self.known = Known::Absent;
        }
    }

    fn is_behind(&self, version: &str) -> bool {
        self.version()
            .and_then(|known| compare_resource_versions(version, known))
            .is_some_and(std::cmp::Ordering::is_lt)
    }
}

/// How long the server asks for no request.
fn asked(error: &StoreError) -> Duration {
    match error {
        StoreError::TooManyRequests { retry_after } => retry_after.unwrap_or(UNSAID).min(RENEWAL),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
