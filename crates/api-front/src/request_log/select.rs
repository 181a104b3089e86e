//! Questions to the log: a selection by user, verb and resource, its counts, its entries, its
//! assertions.

use super::entry::{Counts, Entry, Series};
use super::filter::Filter;
use super::log::RequestLog;
use super::ring::{Forgotten, Ring};
use crate::request_info::Verb;
use std::fmt;
use std::time::{Instant, SystemTime};

impl RequestLog {
    /// All requests; narrow it down with the methods of [`Selection`].
    pub fn all(&self) -> Selection {
        Selection { log: self.clone(), filter: Filter::default() }
    }

    /// The requests of one user.
    pub fn by(&self, user: impl Into<String>) -> Selection {
        self.all().by(user)
    }

    /// The requests with this verb.
    pub fn verb(&self, verb: Verb) -> Selection {
        self.all().verb(verb)
    }

    /// Creates, updates, patches and deletes of a resource, its subresources included. See
    /// [`Selection::resource`] for the words.
    pub fn writes_to(&self, resource: impl Into<String>) -> Selection {
        self.all().writes().resource(resource)
    }

    /// Gets, lists and watches of a resource, its subresources included.
    pub fn reads_of(&self, resource: impl Into<String>) -> Selection {
        self.all().reads().resource(resource)
    }
}

/// The requests of a log that meet all conditions given so far.
///
/// Counts come from counters that never drop. Entries come from the bounded ring: questions about a
/// point in time answer [`Forgotten`] when the ring no longer reaches back that far, never a wrong
/// entry.
#[derive(Clone)]
#[must_use = "a selection does nothing until it is counted, listed or asserted"]
pub struct Selection {
    log: RequestLog,
    filter: Filter,
}

impl Selection {
    /// Only requests of this user; several calls admit several users.
    pub fn by(mut self, user: impl Into<String>) -> Self {
        self.filter.users.push(user.into());
        self
    }

    /// Only this verb; several calls admit several verbs.
    pub fn verb(mut self, verb: Verb) -> Self {
        self.filter.verbs.push(verb);
        self
    }

    /// Only create, update, patch, delete and deletecollection.
    pub fn writes(mut self) -> Self {
        self.filter.writes = Some(true);
        self
    }

    /// Only what changes nothing: get, list and watch.
    pub fn reads(mut self) -> Self {
        self.filter.writes = Some(false);
        self
    }

    /// Only this resource: `leases` (any group, subresources included),
    /// `leases.coordination.k8s.io` (that group) or `pods/status` (that subresource alone).
    /// Several calls admit several resources.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.filter.resources.push(resource.into());
        self
    }

    /// Not this resource, in the words of [`resource`](Self::resource).
    pub fn except_resource(mut self, resource: impl Into<String>) -> Self {
        self.filter.except.push(resource.into());
        self
    }

    /// The counters of the selection, summed up. Exact since the server was built, but that of more
    /// than 8,192 different users, verbs and resources the later ones are counted under the
    /// resource `(other)`, which `resource` and `except_resource` leave out. Where that may
    /// matter the assertions fail, and say so.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts_in(&self.log.shared.ring.lock())
    }

    fn counts_in(&self, ring: &Ring) -> Counts {
        let mut sum = Counts::default();
        for (series, &at) in &ring.series {
            if self.filter.admits_series(series) {
                sum.add(&ring.counts[at]);
            }
        }
        sum
    }

    /// The counters of the selection by user, verb and resource, sorted. Exact since the server was
    /// built.
    #[must_use]
    pub fn rows(&self) -> Vec<(Series, Counts)> {
        let mut rows = self.log.counts();
        rows.retain(|(series, _)| self.filter.admits_series(series));
        rows
    }

    /// How many such requests arrived. Exact since the server was built.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts().requests
    }

    /// How many were answered with this HTTP status.
    #[must_use]
    pub fn answered_with(&self, status: u16) -> u64 {
        self.counts().answered.get(&status).copied().unwrap_or(0)
    }

    /// The entries that the ring still holds, oldest first.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let ring = self.log.shared.ring.lock();
        ring.entries.iter().filter(|entry| self.filter.admits_entry(entry)).cloned().collect()
    }

    /// All entries that arrived at `since` or later, oldest first.
    ///
    /// # Errors
    ///
    /// [`Forgotten`] if the ring has given up an entry that arrived then: the answer could be
    /// incomplete.
    pub fn entries_since(&self, since: Instant) -> Result<Vec<Entry>, Forgotten> {
        let ring = self.log.shared.ring.lock();
        ring.reaches_back_to(since)?;
        let start = ring.entries.partition_point(|entry| entry.at < since);
        Ok(ring
            .entries
            .range(start..)
            .filter(|entry| self.filter.admits_entry(entry))
            .cloned()
            .collect())
    }

    /// All entries that arrived at this wall time or later, oldest first; for other processes,
    /// which share no [`Instant`] with this one. A step of the wall clock is not corrected.
    ///
    /// # Errors
    ///
    /// [`Forgotten`] if the ring has given up an entry with such a wall time: the answer could be
    /// incomplete.
    pub fn entries_since_wall(&self, since: SystemTime) -> Result<Vec<Entry>, Forgotten> {
        let ring = self.log.shared.ring.lock();
        if ring.forgotten_wall.is_some_and(|until| until >= since) {
            return Err(ring.forgotten());
        }
        let late = ring.entries.iter().filter(|entry| entry.wall >= since);
        Ok(late.filter(|entry| self.filter.admits_entry(entry)).cloned().collect())
    }

    /// The first such request that arrived at `since` or later: with `by(user).writes()`, the first
    /// write of a user after an instant.
    ///
    /// # Errors
    ///
    /// [`Forgotten`] if the ring has given up an entry that arrived then: the true first one may be
    /// among those.
    pub fn first_since(&self, since: Instant) -> Result<Option<Entry>, Forgotten> {
        let ring = self.log.shared.ring.lock();
        ring.reaches_back_to(since)?;
        let start = ring.entries.partition_point(|entry| entry.at < since);
        Ok(ring.entries.range(start..).find(|entry| self.filter.admits_entry(entry)).cloned())
    }

    /// The entries from position `seq` on, oldest first, and the position to go on from.
    ///
    /// # Errors
    ///
    /// [`Forgotten`] if the ring no longer holds position `seq`.
    pub fn entries_from(&self, seq: u64) -> Result<(Vec<Entry>, u64), Forgotten> {
        let ring = self.log.shared.ring.lock();
        let oldest = ring.forgotten().oldest_seq;
        if seq < oldest {
            return Err(ring.forgotten());
        }
        let start = usize::try_from(seq - oldest).unwrap_or(usize::MAX).min(ring.entries.len());
        let entries = ring.entries.range(start..).filter(|entry| self.filter.admits_entry(entry));
        Ok((entries.cloned().collect(), ring.next_seq))
    }

    /// Waits until at least `count` such requests have arrived.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing: the counters stay.
    pub async fn reached(&self, count: u64) {
        loop {
            let changed = self.log.shared.changed.notified();
            tokio::pin!(changed);
            // Registered before the look at the counters, so that no arrival falls between.
            changed.as_mut().enable();
            if self.count() >= count {
                return;
            }
            changed.await;
        }
    }

    /// # Panics
    ///
    /// If more than `bound` such requests arrived; the message lists them by user, verb and
    /// resource.
    #[track_caller]
    pub fn assert_at_most(&self, bound: u64) {
        self.assert(|count| count <= bound, "at most", bound);
    }

    /// # Panics
    ///
    /// If fewer than `bound` such requests arrived; the message lists them by user, verb and
    /// resource.
    #[track_caller]
    pub fn assert_at_least(&self, bound: u64) {
        self.assert(|count| count >= bound, "at least", bound);
    }

    /// # Panics
    ///
    /// If another number than `wanted` of such requests arrived; the message lists them by user,
    /// verb and resource.
    #[track_caller]
    pub fn assert_exactly(&self, wanted: u64) {
        self.assert(|count| count == wanted, "exactly", wanted);
    }

    /// # Panics
    ///
    /// If such a request arrived; the message lists them by user, verb and resource.
    #[track_caller]
    pub fn assert_none(&self) {
        self.assert_exactly(0);
    }

    #[track_caller]
    fn assert(&self, holds: impl Fn(u64) -> bool, relation: &str, bound: u64) {
        let (seen, unknown) = {
            let ring = self.log.shared.ring.lock();
            (self.counts_in(&ring).requests, self.unknown_in(&ring))
        };
        let doubt = match unknown {
            0 => String::new(),
            _ => format!(", and {unknown} of them (no longer counted by resource) may be such"),
        };
        assert!(
            holds(seen) && holds(seen.saturating_add(unknown)),
            "expected {relation} {bound} {}, saw {seen}{doubt}:\n{}",
            self.filter,
            self.table()
        );
    }

    /// How many requests of the selection's users and verbs were counted under no resource of their
    /// own, where it asks for resources.
    fn unknown_in(&self, ring: &Ring) -> u64 {
        let others = ring.series.iter().filter(|(series, _)| self.filter.may_be_among(series));
        others.map(|(_, &at)| ring.counts[at].requests).sum()
    }

    fn table(&self) -> String {
        let mut lines = String::new();
        for (series, counts) in self.rows() {
            let subresource =
                series.subresource.as_ref().map(|sub| format!("/{sub}")).unwrap_or_default();
            lines.push_str(&format!(
                "  {:>6} {:<16} {} {}{subresource}\n",
                counts.requests, series.verb, series.user, series.resource
            ));
        }
        let entries = self.entries();
        for entry in entries.iter().rev().take(10).rev() {
            lines.push_str(&format!("  {entry}\n"));
        }
        lines
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selection({}: {})", self.filter, self.count())
    }
}
