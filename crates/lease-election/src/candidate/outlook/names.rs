//! Names for what a model's world is full of: versions, objects, records, moments, each told apart
//! from its kind and from nothing else.

use std::time::Duration;

use crate::fnv::Fnv;
use crate::{Moment, Record, Version};

/// Names for versions, objects and records that do not depend on how many there were before.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Known revisions in order: a revision is named by its place.
    revisions: Vec<u64>,
    objects: Vec<u64>,
    records: Vec<u64>,
    /// Records that may still be read: those of the server, and of writes under way.
    alive: Vec<u64>,
    /// The time, where that of a record counts.
    now: Option<Moment>,
    /// Whether candidates write in the place of acquisitions of which they do not know what
    /// became.
    forestalled: bool,
}

impl Names {
    /// Names for a world in which these records may still be read.
    pub(crate) fn among<'r>(alive: impl IntoIterator<Item = &'r Record>) -> Self {
        Self { alive: alive.into_iter().map(essence).collect(), ..Self::default() }
    }

    /// The same where the time in a record counts.
    pub(crate) fn with_times(self, now: Option<Moment>) -> Self {
        Self { now, ..self }
    }

    /// Whether the time in a record counts.
    pub(crate) fn times_count(&self) -> bool {
        self.now.is_some()
    }

    /// The same where candidates are stopped, or under maintenance.
    pub(crate) fn with_forestalls(self, forestalled: bool) -> Self {
        Self { forestalled, ..self }
    }

    /// Whether an acquisition that was lost on its way still decides what its sender does.
    pub(crate) fn are_forestalled(&self) -> bool {
        self.forestalled
    }

    /// Sets the known revisions.
    pub(crate) fn rank(&mut self, mut revisions: Vec<u64>) {
        revisions.sort_unstable();
        revisions.dedup();
        self.revisions = revisions;
    }

    /// Whether this record may still be read.
    pub(crate) fn is_alive(&self, record: &Record) -> bool {
        self.alive.contains(&essence(record))
    }

    /// Which object a version is of.
    pub(crate) fn object(&mut self, version: &Version, out: &mut Vec<u64>) {
        out.push(place(&mut self.objects, digest(version.uid.as_bytes())));
    }

    pub(crate) fn version(&mut self, version: &Version, out: &mut Vec<u64>) {
        self.object(version, out);
        let revision = revision(version);
        out.push(self.revisions.partition_point(|known| *known < revision) as u64);
    }

    /// Adds what tells records apart: the write, or its time if it has no name, the holder and the
    /// duration.
    pub(crate) fn record(&mut self, record: &Record, out: &mut Vec<u64>) {
        out.push(place(&mut self.records, essence(record)));
        out.push(digest(record.holder.as_bytes()));
        out.push(u64::from(record.lease_duration_seconds.unsigned_abs()));
        if let (Some(now), Some(time)) = (self.now, record.renew_time) {
            out.push(seconds_off(time, now));
        }
        // A grant of the controller, a hint, its notes: what few records have.
        let is_grant = !record.is_free() && record.acquire_time.is_none();
        let notes = [&record.successor, &record.strategy, &record.preferred_holder];
        if is_grant || notes.iter().any(|note| !note.is_empty()) {
            out.extend([2 << 40, u64::from(is_grant)]);
            out.extend(notes.map(|note| digest(note.as_bytes())));
        }
    }
}

/// What tells a record from all others.
fn essence(record: &Record) -> u64 {
    match &record.write_id {
        Some(id) => digest(id.as_bytes()),
        None => record.renew_time.map_or(0, |time| digest(&time.as_microsecond().to_le_bytes())),
    }
}

/// The place of `one` in `known`, behind which it is put if it is new.
fn place(known: &mut Vec<u64>, one: u64) -> u64 {
    let place = known.iter().position(|other| *other == one);
    place.unwrap_or_else(|| {
        known.push(one);
        known.len() - 1
    }) as u64
}

pub(crate) fn revision(version: &Version) -> u64 {
    version.resource_version.parse().expect("the versions of the model are numbers")
}

/// The seconds from a wall clock at `now` to `time`, plus 60. A time over a minute ago counts as 0.
pub(crate) fn seconds_off(time: jiff::Timestamp, now: Moment) -> u64 {
    let now =
        i64::try_from(now.since(Moment::from_origin(Duration::ZERO)).as_secs()).unwrap_or(i64::MAX);
    time.as_second().saturating_sub(now).saturating_add(60).max(0).unsigned_abs()
}

pub(crate) fn digest(bytes: &[u8]) -> u64 {
    Fnv::new().with(bytes).finish()
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4)
}

/// The distance from `now` to `moment`. A moment longer ago than `horizon` counts as `horizon`.
pub(crate) fn distance(moment: Moment, now: Moment, horizon: Duration) -> u64 {
    if moment > now {
        millis(moment.since(now)) * 2 + 1
    } else {
        millis(now.since(moment).min(horizon)) * 2
    }
}
