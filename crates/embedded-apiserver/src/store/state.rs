//! The objects and their recent history: plain data behind the store's lock. One revision counts every write.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use crate::stored::{Key, Stored};

/// What one write did to one object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    /// The version before, unless the write created the object.
    pub(crate) before: Option<Arc<Stored>>,
    /// The version after, or, if the write removed the object, its last content at the removal's revision.
    pub(crate) object: Arc<Stored>,
    pub(crate) removed: bool,
}

/// A range of history that was asked for is no longer kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expired {
    /// The oldest revision that can still be resumed from.
    pub(crate) oldest: u64,
}

#[derive(Debug, Default)]
struct Table {
    objects: BTreeMap<Key, Arc<Stored>>,
    /// Ordered by revision.
    history: VecDeque<Change>,
    /// Nobody may begin to read the history before this revision: changes up to it may be gone.
    forgotten: u64,
    /// The newest change that is really gone from `history`. Lower than `forgotten` where a compaction passed over
    /// revisions of other tables: who was reading here before it has missed nothing of those.
    lost: u64,
}

/// Some changes in order, and the revision up to which they are all.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) changes: Vec<Change>,
    pub(crate) upto: u64,
}

/// A part of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) table: &'a str,
    /// Nothing: every namespace, or cluster scope.
    pub(crate) namespace: Option<&'a str>,
    /// Begins after this key.
    pub(crate) after: Option<&'a Key>,
}

/// What a visitor made of a part of a table, and the revision it was shown at.
#[derive(Debug)]
pub(crate) struct Visited<T> {
    pub(crate) found: T,
    pub(crate) revision: u64,
}

/// A part of a table as it was at one revision.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) revision: u64,
}

#[derive(Debug)]
pub(crate) struct State {
    revision: u64,
    /// History up to here was thrown away on request, in every table, those still to come included.
    compacted: u64,
    tables: HashMap<Arc<str>, Table>,
    window: usize,
}

impl State {
    pub(crate) fn new(window: usize) -> Self {
        // The real server never shows revision 0: it stands for "any" in requests.
        Self { revision: 1, compacted: 0, tables: HashMap::new(), window }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision that the next write will have.
    pub(crate) fn next_revision(&self) -> u64 {
        self.revision.saturating_add(1)
    }

    pub(crate) fn get(&self, table: &str, key: &Key) -> Option<&Arc<Stored>> {
        self.tables.get(table)?.objects.get(key)
    }

    /// Puts a version that was written down at [`next_revision`](Self::next_revision).
    pub(crate) fn put(&mut self, table: &Arc<str>, object: Arc<Stored>) {
        debug_assert_eq!(object.revision, self.next_revision(), "a version is written at the next revision");
        self.revision = object.revision;
        let window = self.window;
        let table = self.table(table);
        let before = table.objects.insert(object.key.clone(), Arc::clone(&object));
        table.record(Change { revision: object.revision, before, object, removed: false }, window);
    }

    /// Removes an object; `last` is its content at the removal's own revision.
    pub(crate) fn remove(&mut self, table: &Arc<str>, last: Arc<Stored>) {
        debug_assert_eq!(last.revision, self.next_revision(), "a removal is written at the next revision");
        let window = self.window;
        let removed = self.table(table).objects.remove(&last.key);
        debug_assert!(removed.is_some(), "only what is there is removed");
        self.revision = last.revision;
        let change = Change { revision: last.revision, before: removed, object: last, removed: true };
        self.table(table).record(change, window);
    }

    fn table(&mut self, table: &Arc<str>) -> &mut Table {
        let compacted = self.compacted;
        self.tables
            .entry(Arc::clone(table))
            .or_insert_with(|| Table { forgotten: compacted, ..Table::default() })
    }

    /// Throws all history away.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
        for table in self.tables.values_mut() {
            table.lost = table.history.back().map_or(table.lost, |newest| newest.revision);
            table.history.clear();
            table.forgotten = self.revision;
        }
    }

    fn forgotten(&self, table: &str) -> u64 {
        self.tables.get(table).map_or(self.compacted, |t| t.forgotten)
    }

    /// Whether somebody may begin to read the changes after a revision.
    pub(crate) fn can_resume(&self, table: &str, after: u64) -> Result<(), Expired> {
        let forgotten = self.forgotten(table);
        if after < forgotten { Err(Expired { oldest: forgotten }) } else { Ok(()) }
    }

    /// The changes after a revision, oldest first, at most `max` of them, for a reader who has read all up to it (or
    /// who may [resume](Self::can_resume) there).
    pub(crate) fn changes(&self, table: &str, after: u64, max: usize) -> Result<Changes, Expired> {
        if self.tables.get(table).is_some_and(|table| after < table.lost) {
            return Err(Expired { oldest: self.forgotten(table) });
        }
        let complete = after.max(self.revision);
        let Some(table) = self.tables.get(table) else {
            return Ok(Changes { changes: Vec::new(), upto: complete });
        };
        let from = table.history.partition_point(|change| change.revision <= after);
        let changes: Vec<_> = table.history.range(from..).take(max).cloned().collect();
        let all = from.saturating_add(changes.len()) == table.history.len();
        let upto = if all { complete } else { changes.last().map_or(after, |change| change.revision) };
        Ok(Changes { changes, upto })
    }

    /// Shows the objects of a table (of one namespace, if one is named; after a key, if one is given) as they were at
    /// `at`, or as they are now, in order. Only those that are looked at cost anything, but for the changes since `at`.
    /// The caller makes sure that `at` is not in the future.
    pub(crate) fn visit<T>(
        &self,
        place: &Place<'_>,
        at: Option<u64>,
        visit: impl FnOnce(&mut dyn Iterator<Item = &Arc<Stored>>) -> T,
    ) -> Result<Visited<T>, Expired> {
        let revision = at.unwrap_or(self.revision).min(self.revision);
        let forgotten = self.forgotten(place.table);
        // A table that has not changed since is the same at both revisions, however little history there is.
        if revision < forgotten {
            return Err(Expired { oldest: forgotten });
        }
        let Some(table) = self.tables.get(place.table) else {
            return Ok(Visited { found: visit(&mut std::iter::empty()), revision });
        };
        let start = match (place.after, place.namespace) {
            (Some(key), Some(namespace)) if *key.namespace < *namespace => {
                Bound::Included(Key::new(namespace, ""))
            }
            (Some(key), _) => Bound::Excluded(key.clone()),
            (None, Some(namespace)) => Bound::Included(Key::new(namespace, "")),
            (None, None) => Bound::Unbounded,
        };
        let within = |key: &Key| place.namespace.is_none_or(|namespace| *key.namespace == *namespace);
        let now = table.objects.range((start.clone(), Bound::Unbounded));
        let mut now = now.take_while(|(key, _)| within(key)).map(|(_, object)| object);
        // What the objects changed since were before: the first change after the revision says it.
        let mut undone: BTreeMap<&Key, Option<&Arc<Stored>>> = BTreeMap::new();
        let from = table.history.partition_point(|change| change.revision <= revision);
        for change in table.history.range(from..) {
            undone.entry(&change.object.key).or_insert(change.before.as_ref());
        }
        if undone.is_empty() {
            return Ok(Visited { found: visit(&mut now), revision });
        }
        let mut unchanged = now.filter(|object| !undone.contains_key(&object.key)).peekable();
        let before = undone.range::<Key, _>((start.as_ref(), Bound::Unbounded));
        let before = before.take_while(|(key, _)| within(key)).filter_map(|(_, object)| *object);
        let mut before = before.peekable();
        // Both are in order, and no key is in both.
        let mut merged = std::iter::from_fn(|| match (unchanged.peek(), before.peek()) {
            (Some(one), Some(other)) if other.key < one.key => before.next(),
            (Some(_), _) => unchanged.next(),
            (None, _) => before.next(),
        });
        Ok(Visited { found: visit(&mut merged), revision })
    }

    /// All the objects that [`visit`](Self::visit) shows.
    pub(crate) fn snapshot(&self, place: &Place<'_>, at: Option<u64>) -> Result<Snapshot, Expired> {
        let all = self.visit(place, at, |objects| objects.cloned().collect())?;
        Ok(Snapshot { objects: all.found, revision: all.revision })
    }
}

impl Table {
    fn record(&mut self, change: Change, window: usize) {
        self.history.push_back(change);
        while self.history.len() > window {
            if let Some(oldest) = self.history.pop_front() {
                self.forgotten = self.forgotten.max(oldest.revision);
                self.lost = oldest.revision;
            }
        }
    }
}
