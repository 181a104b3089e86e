//! Event lines that were written a moment ago, for the next watch that shows the same event.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use crate::api::media::Form;

/// What a watch says of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Added,
    Modified,
    /// The object was removed.
    Deleted,
    /// The object no longer matches the selector: it looks deleted.
    Left,
}

impl Event {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted | Self::Left => "DELETED",
        }
    }
}

/// Which line: a revision is one change of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    pub(crate) revision: u64,
    pub(crate) event: Event,
    pub(crate) form: Form,
}

/// How many lines are kept: what a watch reads at once, and as much again for those that are a
/// little behind.
const MOST_LINES: usize = 512;
/// How many bytes of lines are kept, if they are more than one.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The newest lines, oldest first out. Bounded by count and bytes.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    lines: HashMap<Line, Shown>,
    order: VecDeque<Line>,
    bytes: usize,
}

#[derive(Debug)]
struct Shown {
    /// Of the kind that was shown: the versions of a kind share their objects.
    prefix: Arc<str>,
    bytes: Bytes,
}

impl Lines {
    pub(crate) fn get(&self, line: &Line, prefix: &Arc<str>) -> Option<Bytes> {
        let shown = self.lines.get(line)?;
        Arc::ptr_eq(&shown.prefix, prefix).then(|| shown.bytes.clone())
    }

    pub(crate) fn keep(&mut self, line: Line, prefix: &Arc<str>, bytes: Bytes) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        match self.lines.insert(line, Shown { prefix: Arc::clone(prefix), bytes }) {
            // Two versions of a kind are watched: the last one that was shown stays.
            Some(other) => self.bytes = self.bytes.saturating_sub(other.bytes.len()),
            None => self.order.push_back(line),
        }
        while self.order.len() > MOST_LINES || (self.bytes > MOST_BYTES && self.order.len() > 1) {
            let oldest = self.order.pop_front().and_then(|oldest| self.lines.remove(&oldest));
            self.bytes = self.bytes.saturating_sub(oldest.map_or(0, |shown| shown.bytes.len()));
        }
    }
}
