//! An index of the open watches of every table. Plain data behind the store's lock.
//!
//! A write touches only the watches that its object concerns: it marks them as unread and takes
//! their wakers. The caller wakes them after it has released the lock.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::task::Waker;

use crate::store::stored::Key;

/// The part of a table that a watch covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interest {
    /// The whole table.
    Everything,
    /// One namespace.
    Namespace(Box<str>),
    /// Objects of this name, in any namespace or in cluster scope.
    Name(Box<str>),
    /// One object.
    Object(Key),
}

impl Interest {
    pub(crate) fn new(namespace: Option<&str>, name: Option<&str>) -> Self {
        match (namespace, name) {
            (None, None) => Self::Everything,
            (Some(namespace), None) => Self::Namespace(namespace.into()),
            (None, Some(name)) => Self::Name(name.into()),
            (Some(namespace), Some(name)) => Self::Object(Key::new(namespace, name)),
        }
    }

    /// Whether it covers the object at `key`.
    pub(crate) fn covers(&self, key: &Key) -> bool {
        match self {
            Self::Everything => true,
            Self::Namespace(namespace) => key.namespace() == &**namespace,
            Self::Name(name) => key.name() == &**name,
            Self::Object(object) => key == object,
        }
    }
}

/// Identifies a registered watch.
#[derive(Debug)]
pub(crate) struct WatcherId {
    pub(crate) table: Arc<str>,
    pub(crate) interest: Interest,
    number: u64,
}

#[derive(Debug, Default)]
struct Watcher {
    /// The first unread revision that concerns the watch. `None` if it has read everything.
    unread: Option<u64>,
    /// Set while the watch waits.
    waker: Option<Waker>,
}

/// In the order of registration, so that wake-ups are reproducible.
type Row = BTreeMap<u64, Watcher>;

/// The watches of one table, by their interest.
#[derive(Debug, Default)]
struct Rows {
    everything: Row,
    namespaces: HashMap<Box<str>, Row>,
    names: HashMap<Box<str>, Row>,
    objects: HashMap<Key, Row>,
}

impl Rows {
    fn row(&self, interest: &Interest) -> Option<&Row> {
        match interest {
            Interest::Everything => Some(&self.everything),
            Interest::Namespace(namespace) => self.namespaces.get(namespace),
            Interest::Name(name) => self.names.get(name),
            Interest::Object(key) => self.objects.get(key),
        }
    }

    /// The row of an interest. Creates it if it is missing.
    fn row_mut(&mut self, interest: &Interest) -> &mut Row {
        match interest {
            Interest::Everything => &mut self.everything,
            Interest::Namespace(namespace) => self.namespaces.entry(namespace.clone()).or_default(),
            Interest::Name(name) => self.names.entry(name.clone()).or_default(),
            Interest::Object(key) => self.objects.entry(key.clone()).or_default(),
        }
    }

    fn forget_row(&mut self, interest: &Interest) {
        match interest {
            Interest::Everything => {}
            Interest::Namespace(namespace) => drop(self.namespaces.remove(namespace)),
            Interest::Name(name) => drop(self.names.remove(name)),
            Interest::Object(key) => drop(self.objects.remove(key)),
        }
    }

    /// All watches that a change of an object concerns.
    fn concerned(&mut self, key: &Key) -> impl Iterator<Item = &mut Watcher> {
        let namespace = self.namespaces.get_mut(key.namespace());
        let name = self.names.get_mut(key.name());
        let rows = [Some(&mut self.everything), namespace, name, self.objects.get_mut(key)];
        rows.into_iter().flatten().flat_map(Row::values_mut)
    }

    /// All watches, in no order.
    fn all(&mut self) -> impl Iterator<Item = (&u64, &mut Watcher)> {
        let rows = self
            .namespaces
            .values_mut()
            .chain(self.names.values_mut())
            .chain(self.objects.values_mut());
        rows.chain([&mut self.everything]).flatten()
    }

    fn is_empty(&self) -> bool {
        self.everything.is_empty()
            && self.namespaces.is_empty()
            && self.names.is_empty()
            && self.objects.is_empty()
    }
}

#[derive(Debug, Default)]
pub(crate) struct WatcherIndex {
    tables: HashMap<Arc<str>, Rows>,
    next: u64,
    count: usize,
}

impl WatcherIndex {
    /// Registers a watch that has read everything before `unread`.
    pub(crate) fn register(
        &mut self,
        table: &Arc<str>,
        interest: Interest,
        unread: Option<u64>,
    ) -> WatcherId {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        self.count = self.count.saturating_add(1);
        let rows = self.tables.entry(Arc::clone(table)).or_default();
        rows.row_mut(&interest).insert(number, Watcher { unread, waker: None });
        WatcherId { table: Arc::clone(table), interest, number }
    }

    /// Unregisters a watch. Returns its waker, to be dropped after the lock is released.
    pub(crate) fn unregister(&mut self, id: &WatcherId) -> Option<Waker> {
        let rows = self.tables.get_mut(&id.table)?;
        let row = rows.row_mut(&id.interest);
        let removed = row.remove(&id.number);
        if row.is_empty() {
            rows.forget_row(&id.interest);
        }
        if rows.is_empty() {
            self.tables.remove(&id.table);
        }
        let removed = removed?;
        self.count = self.count.saturating_sub(1);
        removed.waker
    }

    /// The number of registered watches, in all tables.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// Marks the watches of the object at `key` as unread. Adds the wakers of waiting ones to
    /// `woken`.
    pub(crate) fn announce(
        &mut self,
        table: &str,
        key: &Key,
        revision: u64,
        woken: &mut Vec<Waker>,
    ) {
        let Some(rows) = self.tables.get_mut(table) else { return };
        for watcher in rows.concerned(key) {
            if watcher.unread.is_none() {
                watcher.unread = Some(revision);
            }
            woken.extend(watcher.waker.take());
        }
    }

    /// Marks every watch of every table as unread, in the order of registration.
    pub(crate) fn announce_to_all(&mut self, revision: u64, woken: &mut Vec<Waker>) {
        let mut waiting = BTreeMap::new();
        for (number, watcher) in self.tables.values_mut().flat_map(Rows::all) {
            if watcher.unread.is_none() {
                watcher.unread = Some(revision);
            }
            waiting.extend(watcher.waker.take().map(|waker| (*number, waker)));
        }
        woken.extend(waiting.into_values());
    }

    /// The first unread revision of the watch.
    pub(crate) fn unread(&self, id: &WatcherId) -> Option<u64> {
        self.tables.get(&id.table)?.row(&id.interest)?.get(&id.number)?.unread
    }

    /// Records the progress of a watch and its waker. Returns the waker before, to be dropped after
    /// the lock is released.
    pub(crate) fn wait(
        &mut self,
        id: &WatcherId,
        unread: Option<u64>,
        waker: Option<Waker>,
    ) -> Option<Waker> {
        let row = self.tables.get_mut(&id.table)?.row_mut(&id.interest);
        let watcher = row.get_mut(&id.number)?;
        watcher.unread = unread;
        std::mem::replace(&mut watcher.waker, waker)
    }
}
