//! A cache of the newest event lines, for watches that show the same event.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use crate::api::media::Form;

/// The type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Added,
    Modified,
    /// The object was deleted.
    Deleted,
    /// The object no longer matches the selector. The watch shows it as deleted.
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

/// The key of a line. A revision is one change of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    pub(crate) revision: u64,
    pub(crate) event: Event,
    pub(crate) form: Form,
}

/// The largest number of lines: two batches of a watch.
const MOST_LINES: usize = 512;
/// The largest size of all lines together. One line may exceed it.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The newest lines, bounded by count and bytes. The oldest is evicted first.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    lines: HashMap<Line, Shown>,
    order: VecDeque<Line>,
    bytes: usize,
}

#[derive(Debug)]
struct Shown {
    /// The shown kind: the versions of a kind share their objects.
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
            // With two watched versions of a kind, the line of the last one stays.
            Some(other) => self.bytes = self.bytes.saturating_sub(other.bytes.len()),
            None => self.order.push_back(line),
        }
        while self.order.len() > MOST_LINES || (self.bytes > MOST_BYTES && self.order.len() > 1) {
            let oldest = self.order.pop_front().and_then(|oldest| self.lines.remove(&oldest));
            self.bytes = self.bytes.saturating_sub(oldest.map_or(0, |shown| shown.bytes.len()));
        }
    }
}
