//! Objects and their recent history: plain data behind the store's lock. Each write increases the
//! revision.

pub(crate) mod changes_since;
pub(crate) mod follow;
mod restore;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::task::Waker;

use crate::store::stored::{Key, Stored};
use crate::store::watcher_index::{Interest, WatcherId, WatcherIndex};

/// The change of one object by one write.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    /// The version before. `None` for a create.
    pub(crate) before: Option<Arc<Stored>>,
    /// The version after. For a delete, the last content at the revision of the delete.
    pub(crate) object: Arc<Stored>,
    pub(crate) removed: bool,
}

impl Change {
    /// The size of the version that only the history holds.
    fn weight(&self) -> usize {
        let before = self.before.as_ref().map_or(0, |before| before.size());
        before.saturating_add(if self.removed { self.object.size() } else { 0 })
    }
}

/// The history that each table keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// The number of changes.
    pub(crate) changes: usize,
    /// The size of replaced and deleted versions, in bytes.
    pub(crate) bytes: usize,
}

/// The requested history is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expired {
    /// The oldest revision from which a watch can resume.
    pub(crate) oldest: u64,
}

/// Orders objects by key.
#[derive(Debug)]
struct ByKey(Arc<Stored>);

impl Borrow<Key> for ByKey {
    fn borrow(&self) -> &Key {
        &self.0.key
    }
}

impl Ord for ByKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for ByKey {}

#[derive(Debug, Default)]
struct Table {
    objects: BTreeSet<ByKey>,
    /// Ordered by revision.
    history: VecDeque<Change>,
    /// The revision of the newest change.
    changed: u64,
    /// The total weight of the history.
    weight: usize,
    /// New readers must start at this revision or later. Earlier changes may be gone.
    forgotten: u64,
    /// The newest change that is gone from `history`. A compaction may raise `forgotten` beyond it;
    /// open watches are unaffected by that.
    lost: u64,
}

/// A batch of changes, oldest first.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) changes: Vec<Change>,
    /// The revision up to which the batch is complete.
    pub(crate) upto: u64,
    /// Whether the batch is the last one for now.
    pub(crate) all: bool,
    /// Whether other watches may show the same changes.
    pub(crate) shared: bool,
}

/// A part of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) table: &'a str,
    /// `None`: every namespace, or cluster scope.
    pub(crate) namespace: Option<&'a str>,
    /// The first key, or the place where it would be.
    pub(crate) from: Option<&'a Key>,
}

/// The result of a visit, and its revision.
#[derive(Debug)]
pub(crate) struct Visited<T> {
    pub(crate) found: T,
    pub(crate) revision: u64,
}

#[derive(Debug)]
pub(crate) struct State {
    revision: u64,
    /// The compacted revision, for all tables, also later ones.
    compacted: u64,
    tables: HashMap<Arc<str>, Table>,
    window: Window,
    watchers: WatcherIndex,
    /// To be woken when the lock is released.
    woken: Vec<Waker>,
}

/// The foreign changes that one read skips under the lock.
const SCAN: usize = 1_024;

impl State {
    pub(crate) fn new(window: Window) -> Self {
        // Upstream never shows revision 0, which means "any" in requests.
        Self {
            revision: 1,
            compacted: 0,
            tables: HashMap::new(),
            window,
            watchers: WatcherIndex::default(),
            woken: Vec::new(),
        }
    }

    /// Returns the wakers that the writes since the last call affect. Wake them after the lock is
    /// released.
    pub(crate) fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision of the next write.
    pub(crate) fn next_revision(&self) -> u64 {
        self.revision.saturating_add(1)
    }

    pub(crate) fn get(&self, table: &str, key: &Key) -> Option<&Arc<Stored>> {
        self.tables.get(table)?.objects.get(key).map(|found| &found.0)
    }

    /// The revision of the newest change of a table.
    pub(crate) fn last_change(&self, table: &str) -> u64 {
        self.tables.get(table).map_or(0, |table| table.changed)
    }

    /// Stores a version with [`next_revision`](Self::next_revision).
    pub(crate) fn put(&mut self, table: &Arc<str>, object: Arc<Stored>) {
        debug_assert_eq!(
            object.revision,
            self.next_revision(),
            "a version is written at the next revision"
        );
        self.revision = object.revision;
        let before =
            self.table(table).objects.replace(ByKey(Arc::clone(&object))).map(|before| before.0);
        self.record(table, Change { revision: object.revision, before, object, removed: false });
    }

    /// Removes an object. `last` is its content at the revision of the removal.
    pub(crate) fn remove(&mut self, table: &Arc<str>, last: Arc<Stored>) {
        debug_assert_eq!(
            last.revision,
            self.next_revision(),
            "a removal is written at the next revision"
        );
        let removed = self.table(table).objects.take(&last.key).map(|removed| removed.0);
        debug_assert!(removed.is_some(), "only what is there is removed");
        self.revision = last.revision;
        let change =
            Change { revision: last.revision, before: removed, object: last, removed: true };
        self.record(table, change);
    }

    fn record(&mut self, table: &Arc<str>, change: Change) {
        self.watchers.announce(table, &change.object.key, change.revision, &mut self.woken);
        let window = self.window;
        self.table(table).record(change, window);
    }

    fn table(&mut self, table: &Arc<str>) -> &mut Table {
        let compacted = self.compacted;
        self.tables
            .entry(Arc::clone(table))
            .or_insert_with(|| Table { forgotten: compacted, ..Table::default() })
    }

    /// Drops the whole history.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
        for table in self.tables.values_mut() {
            table.lost = table.history.back().map_or(table.lost, |newest| newest.revision);
            table.history.clear();
            table.weight = 0;
            table.forgotten = self.revision;
        }
    }

    fn forgotten(&self, table: &str) -> u64 {
        self.tables.get(table).map_or(self.compacted, |t| t.forgotten)
    }

    /// Whether a new reader can start after a revision.
    pub(crate) fn can_resume(&self, table: &str, after: u64) -> Result<(), Expired> {
        let forgotten = self.forgotten(table);
        if after < forgotten { Err(Expired { oldest: forgotten }) } else { Ok(()) }
    }

    /// Registers a watch that has read everything up to `after`.
    pub(crate) fn register_watcher(
        &mut self,
        table: &Arc<str>,
        interest: Interest,
        after: u64,
    ) -> WatcherId {
        let unread = (after < self.revision).then(|| after.saturating_add(1));
        self.watchers.register(table, interest, unread)
    }

    pub(crate) fn unregister_watcher(&mut self, id: &WatcherId) -> Option<Waker> {
        self.watchers.unregister(id)
    }

    /// Returns the next changes for a watch that has read everything up to `after`.
    ///
    /// Contains at most `max` changes that concern it and that `shows` accepts, oldest first. If it
    /// is empty, the next such write wakes `waker`. The waker before is moved to `old`, to be
    /// dropped after the lock is released.
    pub(crate) fn read(
        &mut self,
        id: &WatcherId,
        after: u64,
        max: usize,
        shows: impl Fn(&Change) -> bool,
        waker: Option<&Waker>,
        old: &mut Option<Waker>,
    ) -> Result<Changes, Expired> {
        let complete = after.max(self.revision);
        let mut read = Changes {
            changes: Vec::new(),
            upto: complete,
            all: true,
            shared: self.watchers.len() > 1,
        };
        if let Some(unread) = self.watchers.unread(id)
            && let Some(table) = self.tables.get(&id.table)
        {
            // The changes before it concerned other watches.
            let after = after.max(unread.saturating_sub(1));
            if after < table.lost {
                return Err(Expired { oldest: self.forgotten(&id.table) });
            }
            let from = table.history.partition_point(|change| change.revision <= after);
            for (passed, change) in table.history.range(from..).enumerate() {
                if read.changes.len() >= max || passed >= SCAN {
                    read.all = false;
                    break;
                }
                read.upto = change.revision;
                if id.interest.covers(&change.object.key) && shows(change) {
                    read.changes.push(change.clone());
                }
            }
            if read.all {
                read.upto = complete;
            }
        }
        let unread = (!read.all).then(|| read.upto.saturating_add(1));
        let waits = read.all && read.changes.is_empty();
        *old = self.watchers.wait(id, unread, waker.filter(|_| waits).cloned());
        Ok(read)
    }

    /// Shows the objects of a part of a table, in order, as they were at `at`. `None`: now.
    ///
    /// The cost is linear in the visited objects and in the changes since `at`. `at` must not be in
    /// the future.
    pub(crate) fn visit<T>(
        &self,
        place: &Place<'_>,
        at: Option<u64>,
        visit: impl FnOnce(&mut dyn Iterator<Item = &Arc<Stored>>) -> T,
    ) -> Result<Visited<T>, Expired> {
        let revision = at.unwrap_or(self.revision).min(self.revision);
        let forgotten = self.forgotten(place.table);
        // An unchanged table is the same at both revisions, even without history.
        if revision < forgotten {
            return Err(Expired { oldest: forgotten });
        }
        let Some(table) = self.tables.get(place.table) else {
            return Ok(Visited { found: visit(&mut std::iter::empty()), revision });
        };
        let first = place.namespace.map(|namespace| Key::new(namespace, ""));
        let start = match first.as_ref().max(place.from) {
            Some(key) => Bound::Included(key),
            None => Bound::Unbounded,
        };
        let within =
            |key: &Key| place.namespace.is_none_or(|namespace| key.namespace() == namespace);
        let now = table.objects.range::<Key, _>((start, Bound::Unbounded)).map(|object| &object.0);
        let mut now = now.take_while(|object| within(&object.key));
        // The first change after the revision has the version at the revision.
        let mut undone: BTreeMap<&Key, Option<&Arc<Stored>>> = BTreeMap::new();
        let from = table.history.partition_point(|change| change.revision <= revision);
        for change in table.history.range(from..) {
            undone.entry(&change.object.key).or_insert(change.before.as_ref());
        }
        if undone.is_empty() {
            return Ok(Visited { found: visit(&mut now), revision });
        }
        let mut unchanged = now.filter(|object| !undone.contains_key(&object.key)).peekable();
        let before = undone.range::<Key, _>((start, Bound::Unbounded));
        let before = before.take_while(|(key, _)| within(key)).filter_map(|(_, object)| *object);
        let mut before = before.peekable();
        // Both are sorted, and share no key.
        let mut merged = std::iter::from_fn(|| match (unchanged.peek(), before.peek()) {
            (Some(one), Some(other)) if other.key < one.key => before.next(),
            (Some(_), _) => unchanged.next(),
            (None, _) => before.next(),
        });
        Ok(Visited { found: visit(&mut merged), revision })
    }

    /// All objects that [`visit`](Self::visit) shows.
    pub(crate) fn snapshot(
        &self,
        place: &Place<'_>,
        at: Option<u64>,
    ) -> Result<Vec<Arc<Stored>>, Expired> {
        Ok(self.visit(place, at, |objects| objects.cloned().collect())?.found)
    }
}

impl Table {
    fn record(&mut self, change: Change, window: Window) {
        self.changed = change.revision;
        self.weight = self.weight.saturating_add(change.weight());
        self.history.push_back(change);
        while self.history.len() > window.changes || self.weight > window.bytes {
            let Some(oldest) = self.history.pop_front() else { return };
            self.weight = self.weight.saturating_sub(oldest.weight());
            self.forgotten = self.forgotten.max(oldest.revision);
            self.lost = oldest.revision;
        }
    }
}
