//! List, then watch, then watch again: decides the next request and the pause before it. Pure.
//!
//! kube-runtime's `watcher` (5.0.0) does not fit, for three reasons:
//!
//! - It reopens a watch that the server closes at once without any pause.
//! - It repeats a start that was answered with 410 for ever, with the same version.
//! - One object that does not decode fails every list of its kind.
//!
//! Decoding stays kube's.

use std::time::Duration;

/// First pause after a failure. client-go's reflector begins at 800 ms. A shorter one is cheap,
/// because the pause doubles while a server is down.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause, as client-go's reflector.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A watch that ends normally, but sooner than this and without an event, counts as a failure.
const SHORT_WATCH: Duration = Duration::from_secs(1);
/// After this many refused starts of a watch in a row the version is suspect: list again.
const REFUSED_STARTS: u32 = 3;
/// After this many older lists in a row they are accepted: the cluster was restored.
const BACKWARD_LISTS: u32 = 3;
/// After this many broken streaming lists in a row the next list comes in pages: a stream that
/// cannot end within the time of a watch would start over for ever.
const BROKEN_STREAMS: u32 = 3;

/// The next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// A page of the list; the first page has no token.
    List { token: Option<String> },
    /// A watch that begins with the objects of the list. A bookmark ends them, and the watch goes
    /// on.
    StreamingList,
    /// A watch from this version.
    Watch { version: String },
}

/// Whether the next list comes as a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Streaming {
    /// The server may have streaming lists.
    Untried,
    /// The server has sent one.
    Supported,
    /// Lists come in pages: the server has no streaming lists, or none are wanted.
    Off,
}

/// Why a request or a stream failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The version or the token is too old, or from the future: 410, or 504 "too large resource
    /// version".
    Expired,
    /// The server is busy: 429 or 5xx, with the time that it named.
    Busy(Option<Duration>),
    /// The server does not know the request or one of its parameters: 400, 405 or 422.
    Invalid,
    /// The server refused for another reason: 4xx.
    Refused,
    /// No answer: connection, time-out, cut stream.
    Unreachable,
    /// An answer that does not decode.
    Undecodable,
}

/// The reaction to a complete list that is older than the versions seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnBackwards {
    /// Drop it, pause, list again.
    ListAgain(Duration),
    /// The server insists: take it over.
    TakeOver,
}

/// The state of one watch.
#[derive(Debug, Clone)]
pub(crate) struct Protocol {
    next: Next,
    streaming: Streaming,
    /// Broken streaming lists since the last complete list.
    broken: u32,
    /// Failures since the last progress.
    failures: u32,
    /// A version expired since the last watch that lasted.
    expired_early: bool,
    /// Refused starts of a watch since the last successful start.
    refused: u32,
    /// Lists in a row that were older than the versions seen.
    backwards: u32,
    /// The highest version seen, of a list, an event or a bookmark.
    newest: Option<u64>,
}

impl Protocol {
    /// Lists come as streams if `streaming` and if the server has them, and otherwise in pages.
    pub(crate) fn new(streaming: bool) -> Self {
        let streaming = if streaming { Streaming::Untried } else { Streaming::Off };
        let mut protocol = Self {
            next: Next::StreamingList,
            streaming,
            broken: 0,
            failures: 0,
            expired_early: false,
            refused: 0,
            backwards: 0,
            newest: None,
        };
        protocol.restart();
        protocol
    }

    /// The request to send now.
    pub(crate) fn next(&self) -> &Next {
        &self.next
    }

    /// A page came and more follow.
    pub(crate) fn page(&mut self, token: String) {
        self.next = Next::List { token: Some(token) };
    }

    /// The last page, or the end of a streaming list, came and was taken over, at this version.
    pub(crate) fn listed(&mut self, version: String) {
        if self.next == Next::StreamingList {
            self.streaming = Streaming::Supported;
        }
        self.broken = 0;
        // May go down, if an older list was accepted.
        self.newest = version.parse().ok();
        self.next = Next::Watch { version };
        self.backwards = 0;
        self.refused = 0;
        // `failures` stays until an event or a quiet watch: a server that lists but never watches
        // must not be listed without a pause.
    }

    /// Whether a list of this version is older than the versions seen: the server lags behind, or
    /// the cluster was restored. A version that is not a number never is.
    pub(crate) fn is_backwards(&self, version: &str) -> bool {
        matches!((version.parse::<u64>(), self.newest), (Ok(version), Some(newest)) if version < newest)
    }

    /// The list is complete, but older than the versions seen.
    pub(crate) fn listed_backwards(&mut self, random: u64) -> OnBackwards {
        self.backwards = self.backwards.saturating_add(1);
        if self.backwards >= BACKWARD_LISTS {
            return OnBackwards::TakeOver;
        }
        self.restart();
        OnBackwards::ListAgain(self.pause(random))
    }

    /// If the server refuses the streaming list, pages come next, at once. Returns whether it does.
    /// Pages do not need the right to watch, and their error says more of a missing kind.
    pub(crate) fn fall_back(&mut self, fault: Fault) -> bool {
        if self.next != Next::StreamingList {
            return false;
        }
        match fault {
            Fault::Invalid => self.streaming = Streaming::Off,
            Fault::Refused => self.broken = BROKEN_STREAMS,
            _ => return false,
        }
        self.restart();
        true
    }

    /// The end of the streaming list does not come: pages come next, at once. Returns whether the
    /// server has sent such an end before. Otherwise it takes the request for a watch, and is not
    /// asked again.
    pub(crate) fn unended(&mut self) -> bool {
        let is_supported = self.streaming == Streaming::Supported;
        if is_supported {
            self.broken = BROKEN_STREAMS;
        } else {
            self.streaming = Streaming::Off;
        }
        self.restart();
        is_supported
    }

    /// The open watch has lasted this long. After a watch that lasted, an earlier expiry is no sign
    /// of trouble any more.
    pub(crate) fn lasted(&mut self, lasted: Duration) {
        if lasted >= SHORT_WATCH {
            self.expired_early = false;
        }
    }

    /// The watch delivered an event or a bookmark of this version, or was quiet for a while
    /// (`None`).
    pub(crate) fn progressed(&mut self, version: Option<&str>) {
        self.failures = 0;
        self.refused = 0;
        if let Some(new) = version.filter(|version| !version.is_empty()) {
            self.newest = self.newest.max(new.parse().ok());
            self.next = Next::Watch { version: new.to_owned() };
        }
    }

    /// A watch stream ended normally. Returns the pause before the next request.
    pub(crate) fn ended(&mut self, progressed: bool, lasted: Duration, random: u64) -> Duration {
        self.refused = 0;
        if lasted >= SHORT_WATCH {
            self.failures = 0;
            return Duration::ZERO;
        }
        if progressed {
            // Not a failure, but a server that closes each watch after an event must not be polled
            // without a pause either.
            self.failures = 0;
        }
        self.pause(random)
    }

    /// A request or a stream failed. Returns the pause before the next request.
    pub(crate) fn failed(&mut self, fault: Fault, random: u64) -> Duration {
        match (&self.next, fault) {
            (Next::StreamingList, _) => {
                self.broken = self.broken.saturating_add(1);
                self.restart();
            }
            // A list is taken whole, from one version: the pages of a failed list are useless.
            (Next::List { .. }, _) | (Next::Watch { .. }, Fault::Expired) => self.restart(),
            (Next::Watch { .. }, Fault::Invalid | Fault::Refused | Fault::Undecodable) => {
                self.refused = self.refused.saturating_add(1);
                if self.refused >= REFUSED_STARTS {
                    self.restart();
                }
            }
            (Next::Watch { .. }, Fault::Busy(_) | Fault::Unreachable) => {}
        }
        // A first expiry is normal (a long pause, a compaction): list at once. Another expiry
        // before a watch has lasted is not: whole lists without a pause would burden a server in
        // trouble.
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

    /// The cause of the failure is fixed: the pauses start over.
    pub(crate) fn repaired(&mut self) {
        self.failures = 0;
    }

    /// Starts over with a list.
    pub(crate) fn restart(&mut self) {
        let is_streaming = self.streaming != Streaming::Off && self.broken < BROKEN_STREAMS;
        self.next = if is_streaming { Next::StreamingList } else { Next::List { token: None } };
        self.refused = 0;
    }

    /// Doubles with each pause. The upper half is random, so that watches that were cut together
    /// spread out.
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
mod oracle;
#[cfg(test)]
mod tests;
