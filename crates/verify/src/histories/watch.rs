//! What a watch promises: ordered, unique, reliable, resumable, bookmarkable, filterable.

use std::collections::BTreeMap;

use serde_json::Value;

/// What an event says of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is there now, for this watch.
    Added,
    /// It is another one now.
    Modified,
    /// It is gone, for this watch.
    Deleted,
    /// Nothing but how far the watch has come.
    Bookmark,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its type.
    pub kind: Kind,
    /// The object's name; empty for a bookmark.
    pub name: String,
    /// The revision of the write.
    pub version: u64,
    /// The object as it was shown.
    pub object: Value,
}

impl Change {
    /// Reads an event of a watch.
    ///
    /// # Errors
    ///
    /// What is no event about an object, with the whole of it.
    pub fn read(event: &Value) -> Result<Self, String> {
        let kind = match event["type"].as_str() {
            Some("ADDED") => Kind::Added,
            Some("MODIFIED") => Kind::Modified,
            Some("DELETED") => Kind::Deleted,
            Some("BOOKMARK") => Kind::Bookmark,
            _ => return Err(format!("no event about an object: {event}")),
        };
        let metadata = &event["object"]["metadata"];
        let version = metadata["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let version = version.ok_or_else(|| format!("no version: {event}"))?;
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        Ok(Self { kind, name, version, object: event["object"].clone() })
    }
}

/// Which objects a watch is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// Those with this label.
    Label(&'static str, &'static str),
    /// The one of this name.
    Name(&'static str),
}

impl Selection {
    /// Whether an object is among them.
    #[must_use]
    pub fn has(self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        match self {
            Self::All => true,
            Self::Label(label, value) => metadata["labels"][label] == value,
            Self::Name(name) => metadata["name"] == name,
        }
    }

    /// The parameter of a request for it.
    #[must_use]
    pub fn query(self) -> String {
        match self {
            Self::All => String::new(),
            Self::Label(label, value) => format!("labelSelector={label}%3D{value}"),
            Self::Name(name) => format!("fieldSelector=metadata.name%3D{name}"),
        }
    }
}

/// What one watcher saw since a list, over all the watches that it opened one after the other, each
/// from where the last one ended.
#[derive(Debug, Clone)]
pub struct Seen {
    /// What it asked for.
    pub selection: Selection,
    /// The revision from which it was told before this list that the history is gone; nothing if
    /// it begins here.
    pub expired_at: Option<u64>,
    /// Whether it saw all there was to see; if not, it was told in the end that the history is
    /// gone.
    pub is_whole: bool,
    /// The revision of the list that it began with.
    pub from: u64,
    /// The list.
    pub state: BTreeMap<String, Value>,
    /// Everything it was shown since, in order.
    pub changes: Vec<Change>,
}

impl Seen {
    /// How far it has come.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.changes.last().map_or(self.from, |change| change.version)
    }
}

/// Checks what a watcher saw against `truth`: every change since before the watcher began, in
/// order, as the one watcher saw it that asked for everything and met no fault.
///
/// # Errors
///
/// The promise that is broken, and where.
pub fn judge(truth: &Seen, seen: &Seen) -> Result<(), String> {
    if seen.expired_at.is_some_and(|expired| seen.from <= expired) {
        return Err(format!(
            "resumable: the history is gone at {:?}, but nothing came after it",
            seen.from
        ));
    }
    judge_list(truth, seen)?;
    let all = &truth.changes;
    let until = if seen.is_whole { u64::MAX } else { seen.last() };
    let mut last = seen.from;
    for change in &seen.changes {
        let (kind, version) = (change.kind, change.version);
        if kind == Kind::Bookmark {
            if version < last {
                return Err(format!("bookmarkable: a bookmark at {version} comes after {last}"));
            }
        } else if version <= last {
            let promise = if version == last { "unique" } else { "ordered" };
            return Err(format!(
                "{promise}: {kind:?} {} at {version} comes after {last}",
                change.name
            ));
        }
        last = version;
    }
    // What had to be shown: the selected part of everything, with objects that begin or cease to
    // match.
    let mut wanted = Vec::new();
    let mut state = seen.state.clone();
    let due = |change: &&Change| {
        change.kind != Kind::Bookmark && change.version > seen.from && change.version <= until
    };
    for change in all.iter().filter(due) {
        let matches = change.kind != Kind::Deleted && seen.selection.has(&change.object);
        let kind = match (state.contains_key(&change.name), matches) {
            (false, true) => Kind::Added,
            (true, true) => Kind::Modified,
            (true, false) => Kind::Deleted,
            (false, false) => continue,
        };
        if matches {
            state.insert(change.name.clone(), change.object.clone());
        } else {
            state.remove(&change.name);
        }
        wanted.push((kind, change));
    }
    let shown = seen.changes.iter().filter(|change| change.kind != Kind::Bookmark);
    let mut shown = shown.peekable();
    for (kind, change) in wanted {
        let at = format!("{kind:?} {} at {}", change.name, change.version);
        let Some(next) = shown.peek() else { return Err(format!("reliable: {at} is never shown")) };
        if next.version > change.version {
            return Err(format!(
                "reliable: {at} is not shown, but {:?} {} at {}",
                next.kind, next.name, next.version
            ));
        }
        if (next.version, &next.name) != (change.version, &change.name) {
            return Err(format!(
                "filterable: {:?} {} at {} is shown, {at} comes next",
                next.kind, next.name, next.version
            ));
        }
        if next.kind != kind {
            return Err(format!("filterable: {at} is shown as {:?}", next.kind));
        }
        if kind != Kind::Deleted && next.object != change.object {
            return Err(format!(
                "reliable: {at} is shown as another object: {} for {}",
                next.object, change.object
            ));
        }
        shown.next();
    }
    match shown.next() {
        Some(more) => Err(format!(
            "filterable: {:?} {} at {} never happened",
            more.kind, more.name, more.version
        )),
        None => Ok(()),
    }
}

/// The list is what was there at its revision, no more and no less.
fn judge_list(truth: &Seen, seen: &Seen) -> Result<(), String> {
    let mut there = truth.state.clone();
    for change in truth.changes.iter().take_while(|change| change.version <= seen.from) {
        match change.kind {
            Kind::Bookmark => {}
            Kind::Deleted => _ = there.remove(&change.name),
            Kind::Added | Kind::Modified => {
                _ = there.insert(change.name.clone(), change.object.clone())
            }
        }
    }
    there.retain(|_, object| seen.selection.has(object));
    // An item of a list does not say of what kind it is.
    let told = |objects: &BTreeMap<String, Value>| {
        let parts = |object: &Value| (object["metadata"].clone(), object["data"].clone());
        objects
            .iter()
            .map(|(name, object)| (name.clone(), parts(object)))
            .collect::<BTreeMap<_, _>>()
    };
    let (there, listed) = (told(&there), told(&seen.state));
    if there == listed {
        return Ok(());
    }
    Err(format!("listed: at {} there was {there:?}, but {listed:?} is shown", seen.from))
}
