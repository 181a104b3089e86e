//! Publication: when the LeaseCandidate of a candidate is made, renewed, mended and taken back.
//! Facts in, deeds out: no clock, no I/O, no waiting.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::clock::Moment;
use crate::draws::{draw, fraction};
use crate::error::StoreError;
use crate::record::to_micros;
use crate::version::compare_resource_versions;

/// How often it is renewed although nobody asks; the server forgets candidates that are silent for
/// half an hour.
pub(crate) const RENEWAL: Duration = Duration::from_secs(300);

/// How often the API is looked for where it is not.
pub(crate) const LOOK: Duration = Duration::from_secs(60);

/// From one making or mending to the next: whoever deletes or changes it as often as it is made is
/// not fought at full speed.
const PACE: Duration = Duration::from_secs(1);

/// The longest time between two reads where it is not watched, and between two tries where the next
/// may succeed: the server waits 5 s for an answer.
const SOON: Duration = Duration::from_secs(2);

/// The pause after the first failure, less a random part, and the longest: after refusals.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// For how long a server is left alone that asks for it and whose time was not heard: API Priority
/// and Fairness asks for a second, in a header.
const UNSAID: Duration = Duration::from_secs(1);

/// How far a question's time may be ahead of the wall clock to be answered in its own time.
const FARTHEST_AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// What the LeaseCandidate is to say.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Wanted {
    pub(crate) lease: String,
    pub(crate) binary_version: String,
    pub(crate) emulation_version: String,
    pub(crate) strategy: String,
}

/// What the LeaseCandidate on the server says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) says: Wanted,
    /// When the server asked whether the candidate is there.
    pub(crate) ping: Option<Timestamp>,
    /// When the candidate last said so.
    pub(crate) renew: Option<Timestamp>,
}

impl Seen {
    /// Whether the server waits for an answer: it counts one that is not before its question.
    fn is_asked(&self) -> bool {
        self.ping.is_some_and(|ping| self.renew.is_none_or(|renew| renew < ping))
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Known {
    Unknown,
    Absent,
    Present(Seen),
}

/// Whether the API server has LeaseCandidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ApiState {
    Unknown,
    Present,
    Absent,
}

/// What to do now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    /// Read the LeaseCandidate.
    Read,
    /// Make it, renewed at this time.
    Create(Timestamp),
    /// Write it, renewed at this time.
    Update(Timestamp),
    /// Delete the object of this uid.
    Delete(String),
    /// Ask the server whether it has the API.
    Probe,
    Wait(Moment),
    /// It is taken back, or there is nothing to take back.
    Done,
}

/// What came of a deed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// To a read, a create, an update: what there is.
    Found(Option<Seen>),
    Deleted,
    /// To a probe: whether the API is there.
    Api(bool),
    Failed(StoreError),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Publication {
    wanted: Wanted,
    known: Known,
    api: ApiState,
    /// When the last write was sent that succeeded.
    renewed: Option<Moment>,
    /// When it was last made or mended.
    mended: Option<Moment>,
    /// The last question that was answered: one from the far future stays open whatever is
    /// answered, and is answered once.
    answered: Option<Timestamp>,
    /// To be asked whether the API is there.
    doubtful: bool,
    /// One of this name that stood for another Lease was deleted. If there is one again, somebody
    /// keeps it up.
    cleared: bool,
    not_before: Moment,
    /// Until when the server asked to be left alone.
    silent_until: Moment,
    /// Reads that failed, in a row.
    unread: u32,
    /// What else failed, in a row, whatever was read in between.
    undone: u32,
    /// Of random numbers.
    random: u64,
    /// How often it is read where it is not watched.
    poll: Duration,
    /// When it was last read or written.
    looked: Moment,
    watch: Watch,
    /// Watches in a row that did not open, or ended at once.
    unwatched: u32,
    withdrawing: bool,
}

/// Whether changes are told, or when to try that again.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Watch {
    Open(Moment),
    Closed { not_before: Moment },
}

const ORIGIN: Moment = Moment::from_origin(Duration::ZERO);

impl Publication {
    /// `poll`: how often it is read where it may not be watched. `seed`: of its random pauses.
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

    /// Whether what was refused may be refused because there is no such API.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.doubtful && self.api == ApiState::Unknown
    }

    /// The other Lease for which somebody else keeps one of this name up.
    pub(crate) fn taken_by(&self) -> Option<&str> {
        self.anothers().filter(|_| self.cleared)
    }

    /// The other Lease for which the one of this name stands.
    fn anothers(&self) -> Option<&str> {
        match &self.known {
            Known::Present(seen) if seen.says.lease != self.wanted.lease => Some(&seen.says.lease),
            _ => None,
        }
    }

    /// Whether the server has it as it is to be.
    pub(crate) fn stands(&self) -> bool {
        matches!(&self.known, Known::Present(seen) if seen.says == self.wanted)
            && self.renewed.is_some()
    }

    /// The version from which it is to be watched now, if it is not.
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

    /// The watch did not open, or has ended: `error` says why, if anything does. It is opened
    /// again, ever more slowly if it is of no use.
    pub(crate) fn unwatched(&mut self, now: Moment, error: Option<&StoreError>) {
        let opened = match self.watch {
            Watch::Open(since) => Some(since),
            Watch::Closed { .. } => None,
        };
        if opened.is_some() || error == Some(&StoreError::Expired) {
            // What happened meanwhile is to be read.
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

    /// The version that the server was last known to have.
    fn version(&self) -> Option<&str> {
        match &self.known {
            Known::Present(seen) => Some(&seen.resource_version),
            _ => None,
        }
    }

    /// From now on it is to be gone.
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
            // It stands for another Lease, and that cannot be changed. One that an earlier life
            // left is in the way once.
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

    /// Nothing is due before `due` but to learn what changes.
    fn look_again(&self, now: Moment, due: Moment) -> Deed {
        let Watch::Closed { not_before } = self.watch else { return Deed::Wait(due) };
        let poll = self.looked.after(self.poll);
        if now >= poll {
            return Deed::Read;
        }
        let watch = if now < not_before { not_before } else { due };
        Deed::Wait(due.min(poll).min(watch))
    }

    /// The time to say: the wall clock's, but never before the question, which is of the server's
    /// clock: a candidate whose own clock is behind has answered all the same.
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

    /// What came of a deed that was begun at `sent`.
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
            // Another object, or another version of it: the first time that may be read at once.
            (StoreError::Conflict, _) => {
                self.known = Known::Unknown;
                if failures == 1 {
                    return;
                }
            }
            // Where a thing is not there, or not allowed, it may be that there is no such thing at
            // all.
            (StoreError::NotFound | StoreError::Rejected { code: 403 | 404, .. }, _)
                if *deed != Deed::Probe =>
            {
                self.doubtful = true;
                // The question comes next; but who takes it back asks no more, and tries again.
                if self.api == ApiState::Unknown && !self.withdrawing {
                    return;
                }
            }
            // Whether there is such a thing may not be asked: then it is not taken to be absent,
            // and what was refused is tried again.
            (StoreError::Rejected { .. }, Deed::Probe) => self.doubtful = false,
            // Whether it was applied is for a read to say.
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

    /// After so many failures in a row: a random part less than it might be, so that those whom one
    /// fault met do not come back together.
    fn pause(&mut self, failures: u32, longest: Duration) -> Duration {
        let doubled = PAUSES.0.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(longest);
        doubled.saturating_sub(fraction(doubled / 4, draw(&mut self.random)))
    }

    /// The watch tells of a state of it.
    pub(crate) fn changed(&mut self, seen: Seen) {
        if !self.is_behind(&seen.resource_version) {
            self.known = Known::Present(seen);
        }
    }

    /// The watch tells that it is gone.
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

/// For how long the server asks to be left alone.
fn asked(error: &StoreError) -> Duration {
    match error {
        StoreError::TooManyRequests { retry_after } => retry_after.unwrap_or(UNSAID).min(RENEWAL),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
