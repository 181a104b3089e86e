//! List, then watch, then watch again: which request is next and how long to pause before it. Pure.
//!
//! Not kube-runtime's `watcher`, for three reasons, each by its source (5.0.0): a watch that the
//! server closes at once is opened again without any pause; a start answered with 410 is repeated
//! for ever with the same version; and one object that cannot be decoded fails every list of its
//! kind. Decoding stays kube's.

use std::time::Duration;

/// First pause after a failure. client-go's reflector begins at 800 ms; a pause this short is still
/// one request a second per watch on average while a server is down, because it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause, as client-go's reflector.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A watch that ends as it should, but sooner than this and without an event, counts as a failure.
const SHORT_WATCH: Duration = Duration::from_secs(1);
/// This many refused starts of a watch in a row, and the version is suspected: list again.
const REFUSED_STARTS: u32 = 3;
/// This many older lists in a row, and they are believed: the cluster was restored.
const BACKWARD_LISTS: u32 = 3;

/// The longest a page is waited for, however often pages came too late. (Unless the configured time
/// is longer.)
const LONGEST_ANSWER: Duration = Duration::from_secs(60);

/// How long an answer is waited for: short, so that one lost answer costs little, and longer after
/// each that did not come in time, so that a list that really takes its time comes through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    base: Duration,
    now: Duration,
}

impl Patience {
    pub(crate) fn new(base: Duration) -> Self {
        Self { base, now: base }
    }

    /// For a page of a list, with its body.
    pub(crate) fn for_page(self) -> Duration {
        self.now
    }

    /// For the first sign of a watch, which needs no time to prepare.
    pub(crate) fn for_watch(self) -> Duration {
        self.base
    }

    /// A page came after this time.
    pub(crate) fn answered(&mut self, took: Duration) {
        self.now = took.saturating_mul(2).clamp(self.base, LONGEST_ANSWER.max(self.base));
    }

    /// A page did not come in time.
    pub(crate) fn unanswered(&mut self) {
        self.now = self.now.saturating_mul(2).clamp(self.base, LONGEST_ANSWER.max(self.base));
    }
}

/// The next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// A page of the list; the first one without a token.
    List { token: Option<String> },
    /// A watch from this version.
    Watch { version: String },
}

/// Why a request or a stream failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The version or the token is too old, or from the future: 410, or 504 "too large resource
    /// version".
    Expired,
    /// The server asks for patience: 429 and 5xx, with the time it named.
    Busy(Option<Duration>),
    /// The server refused for another reason: 4xx.
    Refused,
    /// No answer: connection, time-out, cut stream.
    Unreachable,
    /// An answer that does not decode.
    Undecodable,
}

/// What to do with a complete list that is older than what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnBackwards {
    /// Drop it, pause, list again.
    ListAgain(Duration),
    /// It insisted: take it over.
    Believe,
}

/// The state of one watch.
#[derive(Debug, Clone)]
pub(crate) struct Protocol {
    next: Next,
    /// Failures since the last progress.
    failures: u32,
    /// A version expired since the last watch that lasted.
    expired_early: bool,
    /// Refused starts of a watch since the last one that began.
    refused: u32,
    /// Lists in a row that were older than what was seen.
    backwards: u32,
    /// The highest version seen, of a list, an event or a bookmark.
    newest: Option<u64>,
}

impl Protocol {
    pub(crate) fn new() -> Self {
        Self {
            next: Next::List { token: None },
            failures: 0,
            expired_early: false,
            refused: 0,
            backwards: 0,
            newest: None,
        }
    }

    /// The request to send now.
    pub(crate) fn next(&self) -> &Next {
        &self.next
    }

    /// A page came and more follow.
    pub(crate) fn page(&mut self, token: String) {
        self.next = Next::List { token: Some(token) };
    }

    /// The last page came, was taken over, and holds for this version.
    pub(crate) fn listed(&mut self, version: String) {
        // Also downwards, if it was believed.
        self.newest = version.parse().ok();
        self.next = Next::Watch { version };
        self.backwards = 0;
        self.refused = 0;
        // `failures` stays until an event or a quiet watch: a server that lists but never watches
        // must not be listed without a pause.
    }

    /// Whether a list of this version comes from a server that lags behind what was seen (or from a
    /// cluster that was restored). Versions that are no numbers are taken as they come.
    pub(crate) fn is_backwards(&self, version: &str) -> bool {
        matches!((version.parse::<u64>(), self.newest), (Ok(version), Some(newest)) if version < newest)
    }

    /// The last page came, but is older than what was seen.
    pub(crate) fn listed_backwards(&mut self, random: u64) -> OnBackwards {
        self.backwards = self.backwards.saturating_add(1);
        if self.backwards >= BACKWARD_LISTS {
            return OnBackwards::Believe;
        }
        self.restart();
        OnBackwards::ListAgain(self.pause(random))
    }

    /// The watch under way has stood this long, whatever comes of it next: what expired before it
    /// is no sign of trouble any more.
    pub(crate) fn stood(&mut self, lasted: Duration) {
        if lasted >= SHORT_WATCH {
            self.expired_early = false;
        }
    }

    /// The watch showed an event or a bookmark of this version; or none, and has stood for a while.
    pub(crate) fn progressed(&mut self, version: Option<&str>) {
        self.failures = 0;
        self.refused = 0;
        if let Some(new) = version.filter(|version| !version.is_empty()) {
            self.newest = self.newest.max(new.parse().ok());
            self.next = Next::Watch { version: new.to_owned() };
        }
    }

    /// A watch stream ended as it may at any time. Returns the pause before the next request.
    pub(crate) fn ended(&mut self, progressed: bool, lasted: Duration, random: u64) -> Duration {
        self.refused = 0;
        if lasted >= SHORT_WATCH {
            self.failures = 0;
            return Duration::ZERO;
        }
        if progressed {
            // No failure, but a server that closes each watch after an event must not be asked
            // without a pause either.
            self.failures = 0;
        }
        self.pause(random)
    }

    /// A request or a stream failed. Returns the pause before the next request.
    pub(crate) fn failed(&mut self, fault: Fault, random: u64) -> Duration {
        if matches!(self.next, Next::List { .. }) {
            // A list is taken whole, from one version: pages of a failed one are of no use.
            self.restart();
        } else {
            match fault {
                Fault::Expired => self.restart(),
                Fault::Refused | Fault::Undecodable => {
                    self.refused = self.refused.saturating_add(1);
                    if self.refused >= REFUSED_STARTS {
                        self.restart();
                    }
                }
                Fault::Busy(_) | Fault::Unreachable => {}
            }
        }
        // A first expiry is ordinary (a long pause, a compaction): list at once. Another one before
        // a watch has lasted is not: whole lists without a pause would be the answer to a
        // server that has trouble already.
        if fault == Fault::Expired && self.failures == 0 && !self.expired_early {
            self.failures = 1;
            self.expired_early = true;
            return Duration::ZERO;
        }
        let pause = self.pause(random);
        match fault {
            Fault::Busy(Some(asked)) => pause.max(asked.min(LONGEST_PAUSE)),
            _ => pause,
        }
    }

    /// Told that what failed is mended: pauses begin anew.
    pub(crate) fn hurried(&mut self) {
        self.failures = 0;
    }

    /// Begins with the first page of a list.
    pub(crate) fn restart(&mut self) {
        self.next = Next::List { token: None };
        self.refused = 0;
    }

    /// Doubles from pause to pause; the upper half is random, so that watches cut together part.
    fn pause(&mut self, random: u64) -> Duration {
        let doublings = self.failures.min(16);
        self.failures = self.failures.saturating_add(1);
        let full = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
        let half = full / 2;
        let spread = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX).max(1);
        half.saturating_add(Duration::from_nanos(random % spread))
    }
}

#[cfg(test)]
mod tests;
