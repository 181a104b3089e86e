//! The ledger: what is known of each permission, from refused requests and from the server's answers. Pure: `now` is an argument.

use std::time::Duration;

use tokio::time::Instant;

use super::PERMISSIONS;

/// Where the server cannot be asked, a refusal counts this long: it may have had another reason, or may have ended unseen.
pub(super) const REFUSAL_COUNTS: Duration = Duration::from_secs(60);

/// What is known of all permissions.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: [Entry; PERMISSIONS.len()],
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    missing: bool,
    /// The last refusal that no answer of the server has explained.
    refused: Option<Instant>,
}

/// What the server said of a permission when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Allowed,
    Denied,
    /// No answer this time: what is known stands.
    Unknown,
}

/// Something that changed, by places in [`PERMISSIONS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// These began to be missing.
    pub(super) began: Vec<usize>,
    /// These are granted now.
    pub(super) ended: Vec<usize>,
    /// These were refused, and are allowed by the time the server was asked.
    pub(super) mended: Vec<usize>,
}

impl Ledger {
    /// A request was refused. Returns whether that is news worth asking the server about.
    pub(super) fn refused(&mut self, place: usize, now: Instant) -> bool {
        let Some(entry) = self.entries.get_mut(place) else { return false };
        let known = entry.missing || entry.refused.is_some();
        entry.refused = Some(now);
        !known
    }

    /// A request was let through.
    pub(super) fn passed(&mut self, place: usize) {
        if let Some(entry) = self.entries.get_mut(place) {
            entry.refused = None;
        }
    }

    /// The server was asked, and it knows the question.
    pub(super) fn reviewed(&mut self, answers: &[(usize, Answer)]) -> Changes {
        let mut changes = Changes::default();
        for (place, answer) in answers {
            let Some(entry) = self.entries.get_mut(*place) else { continue };
            let missing = match answer {
                Answer::Allowed => false,
                Answer::Denied => true,
                Answer::Unknown => continue,
            };
            if !missing && !entry.missing && entry.refused.is_some() {
                changes.mended.push(*place);
            }
            entry.refused = None;
            changes.turn(entry, *place, missing);
        }
        changes
    }

    /// The server does not know the question: what it refused lately is missing.
    pub(super) fn unreviewed(&mut self, now: Instant) -> Changes {
        let mut changes = Changes::default();
        for (place, entry) in self.entries.iter_mut().enumerate() {
            entry.refused =
                entry.refused.filter(|refused| now.saturating_duration_since(*refused) < REFUSAL_COUNTS);
            changes.turn(entry, place, entry.refused.is_some());
        }
        changes
    }

    /// What is missing, by places in [`PERMISSIONS`].
    pub(super) fn missing(&self) -> Vec<usize> {
        let entries = self.entries.iter().enumerate();
        entries.filter(|(_, entry)| entry.missing).map(|(place, _)| place).collect()
    }

    /// Whether anything is missing, or was refused and not explained yet.
    pub(super) fn is_uneasy(&self) -> bool {
        self.entries.iter().any(|entry| entry.missing || entry.refused.is_some())
    }
}

impl Changes {
    fn turn(&mut self, entry: &mut Entry, place: usize, missing: bool) {
        if entry.missing != missing {
            entry.missing = missing;
            if missing { &mut self.began } else { &mut self.ended }.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(began: &[usize], ended: &[usize], mended: &[usize]) -> Changes {
        Changes { began: began.to_vec(), ended: ended.to_vec(), mended: mended.to_vec() }
    }

    #[test]
    fn a_refusal_is_news_once_until_the_server_has_explained_it() {
        let (mut ledger, now) = (Ledger::default(), Instant::now());
        assert!(ledger.refused(3, now));
        assert!(!ledger.refused(3, now));
        assert!(ledger.is_uneasy());
        assert_eq!(ledger.reviewed(&[(3, Answer::Denied)]), places(&[3], &[], &[]));
        assert!(!ledger.refused(3, now), "it is known to be missing");
        assert!(!ledger.refused(PERMISSIONS.len(), now), "no such permission");
    }

    #[test]
    fn the_servers_word_counts_and_not_the_refusal() {
        let (mut ledger, now) = (Ledger::default(), Instant::now());
        ledger.refused(1, now);
        assert_eq!(ledger.reviewed(&[(1, Answer::Allowed)]), places(&[], &[], &[1]));
        assert!(ledger.missing().is_empty() && !ledger.is_uneasy());
        assert_eq!(ledger.reviewed(&[(1, Answer::Denied), (2, Answer::Denied)]), places(&[1, 2], &[], &[]));
        assert_eq!(ledger.missing(), [1, 2]);
        assert_eq!(ledger.reviewed(&[(1, Answer::Allowed), (2, Answer::Unknown)]), places(&[], &[1], &[]));
        assert_eq!(ledger.missing(), [2]);
    }

    #[test]
    fn where_the_server_cannot_be_asked_what_it_refused_lately_counts() {
        let (mut ledger, now) = (Ledger::default(), Instant::now());
        ledger.refused(5, now);
        ledger.refused(6, now);
        assert_eq!(ledger.unreviewed(now), places(&[5, 6], &[], &[]));
        ledger.passed(5);
        assert_eq!(ledger.unreviewed(now), places(&[], &[5], &[]));
        let later = now + REFUSAL_COUNTS;
        assert_eq!(ledger.unreviewed(later), places(&[], &[6], &[]));
        assert!(!ledger.is_uneasy());
    }
}
