//! The ledger: what is known of each permission, from refused requests and from the server's
//! answers. Pure: `now` is an argument.

use std::time::Duration;

use tokio::time::Instant;

use super::PERMISSIONS;

/// Where the server cannot be asked, a refusal counts this long: it may have had another reason, or
/// may have ended unseen.
pub(super) const REFUSAL_COUNTS: Duration = Duration::from_secs(60);

/// What is known of all permissions.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: [Entry; PERMISSIONS.len()],
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    missing: bool,
    /// The server's last word was no, and no request has passed since that the server could not be
    /// asked about.
    denied: bool,
    /// The server gave no word when it was last asked: its treatment of requests counts.
    unknown: bool,
    /// The last refusal that no answer of the server has explained.
    refused: Option<Instant>,
}

/// What the server said of a permission when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Allowed,
    Denied,
    /// No word this time: until there is one, what becomes of requests counts.
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
            entry.denied &= !entry.unknown;
        }
    }

    /// The server was asked, and it knows the question.
    pub(super) fn reviewed(&mut self, answers: &[(usize, Answer)]) -> Changes {
        let mut changes = Changes::default();
        for (place, answer) in answers {
            let Some(entry) = self.entries.get_mut(*place) else { continue };
            entry.unknown = *answer == Answer::Unknown;
            let missing = match answer {
                Answer::Allowed => false,
                Answer::Denied => true,
                Answer::Unknown => continue,
            };
            if !missing && !entry.missing && entry.refused.is_some() {
                changes.mended.push(*place);
            }
            entry.refused = None;
            entry.denied = missing;
            changes.turn(entry, *place, missing);
        }
        changes
    }

    /// The server does not know the question.
    pub(super) fn unreviewed(&mut self) {
        for entry in &mut self.entries {
            entry.unknown = true;
        }
    }

    /// Where the server gave no word, what it denied before or refused lately is missing, and what
    /// it let through is not.
    pub(super) fn settle(&mut self, now: Instant, changes: &mut Changes) {
        for (place, entry) in self.entries.iter_mut().enumerate().filter(|(_, entry)| entry.unknown)
        {
            entry.refused = entry
                .refused
                .filter(|refused| now.saturating_duration_since(*refused) < REFUSAL_COUNTS);
            changes.turn(entry, place, entry.denied || entry.refused.is_some());
        }
    }

    /// What is worth a question again, of what the server could answer the last time: what is
    /// missing, and if asked for, what was refused.
    pub(super) fn questions(&self, refused_too: bool) -> Vec<usize> {
        let asked = |entry: &Entry| {
            !entry.unknown && (entry.missing || (refused_too && entry.refused.is_some()))
        };
        let entries = self.entries.iter().enumerate();
        entries.filter(|(_, entry)| asked(entry)).map(|(place, _)| place).collect()
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
        assert_eq!(
            ledger.reviewed(&[(1, Answer::Denied), (2, Answer::Denied)]),
            places(&[1, 2], &[], &[])
        );
        assert_eq!(ledger.missing(), [1, 2]);
        assert_eq!(
            ledger.reviewed(&[(1, Answer::Allowed), (2, Answer::Unknown)]),
            places(&[], &[1], &[])
        );
        assert_eq!(ledger.missing(), [2]);
    }

    fn settled(ledger: &mut Ledger, now: Instant) -> Changes {
        let mut changes = Changes::default();
        ledger.settle(now, &mut changes);
        changes
    }

    #[test]
    fn where_the_server_cannot_be_asked_what_it_refused_lately_counts() {
        let (mut ledger, now) = (Ledger::default(), Instant::now());
        ledger.refused(5, now);
        ledger.refused(6, now);
        ledger.unreviewed();
        assert_eq!(settled(&mut ledger, now), places(&[5, 6], &[], &[]));
        ledger.passed(5);
        assert_eq!(settled(&mut ledger, now), places(&[], &[5], &[]));
        let later = now + REFUSAL_COUNTS;
        assert_eq!(settled(&mut ledger, later), places(&[], &[6], &[]));
        assert!(!ledger.is_uneasy());
    }

    #[test]
    fn a_refusal_counts_where_the_server_gave_no_word_and_only_there() {
        let (mut ledger, now) = (Ledger::default(), Instant::now());
        assert_eq!(
            ledger.reviewed(&[(1, Answer::Unknown), (2, Answer::Allowed)]),
            Changes::default()
        );
        ledger.refused(1, now);
        ledger.refused(2, now);
        assert_eq!(settled(&mut ledger, now), places(&[1], &[], &[]));
        assert!(ledger.questions(false).is_empty(), "no word was had on 1");
        assert_eq!(ledger.questions(true), [2]);
        assert_eq!(ledger.reviewed(&[(1, Answer::Allowed)]), places(&[], &[1], &[]));
    }

    #[test]
    fn what_was_denied_stands_without_a_word_until_a_request_passes() {
        let (mut ledger, now) = (Ledger::default(), Instant::now());
        ledger.reviewed(&[(4, Answer::Denied)]);
        ledger.passed(4);
        assert_eq!(
            settled(&mut ledger, now),
            Changes::default(),
            "the server's word counts while there is one"
        );
        assert_eq!(ledger.reviewed(&[(4, Answer::Unknown)]), Changes::default());
        assert_eq!(settled(&mut ledger, now + REFUSAL_COUNTS), Changes::default());
        assert_eq!(ledger.missing(), [4]);
        ledger.passed(4);
        assert_eq!(settled(&mut ledger, now), places(&[], &[4], &[]));
    }
}
