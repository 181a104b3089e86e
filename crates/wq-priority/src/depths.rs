//! `Depths`: how many items are queued under each priority, with a bounded number of labels. Pure.

/// As in controller-runtime: new priorities must not create new metric series without end.
const LABELS: usize = 25;
/// The label of all other priorities, as in controller-runtime.
const OVERFLOW: &str = "exceeded_cardinality_limit";

/// The items that still have to be handed out under each priority: queued, or to run again.
///
/// [`QueueReader::survey`](wq_core::QueueReader::survey) fills it. All figures are of one moment.
/// At most 25 priorities have a label of their own, all others share one.
///
/// To keep the labels between scrapes, reuse the value and call [`begin`](Self::begin) before each
/// survey. A priority keeps its label as long as the value lives. A survey gives free labels to the
/// highest priorities in use.
///
/// A survey looks up at most 50 priorities and the items in flight. It allocates nothing.
///
/// ```
/// use wq_core::WorkQueue;
/// use wq_priority::{Depths, Order, Priority};
///
/// let queue = WorkQueue::builder().backlog(Priority::new()).build()?;
/// queue.add_with("event", Order::priority(10));
/// queue.add_with("resync-1", Order::priority(-100));
/// queue.add_with("resync-2", Order::priority(-100));
///
/// let (reader, mut depths) = (queue.reader(), Depths::default());
/// reader.survey(&mut depths);
/// assert_eq!(depths.labels().collect::<Vec<_>>(), [("10".to_owned(), 1), ("-100".to_owned(), 2)]);
///
/// depths.begin();
/// queue.try_get()?.done();
/// reader.survey(&mut depths);
/// assert_eq!((depths.of(10), depths.of(-100), depths.total()), (Some(0), Some(2), 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Depths {
    /// At most [`LABELS`], in the order in which they got their labels.
    own: Vec<(i32, usize)>,
    /// `None` as long as every priority had a label of its own.
    others: Option<usize>,
}

impl Depths {
    /// Sets all figures to 0 and keeps the labels.
    pub fn begin(&mut self) {
        self.own.iter_mut().for_each(|(_, count)| *count = 0);
        self.others = self.others.map(|_| 0);
    }

    /// Returns the number of items under a priority. `None` if it has no label of its own.
    #[must_use]
    pub fn of(&self, priority: i32) -> Option<usize> {
        self.own.iter().find(|(own, _)| *own == priority).map(|(_, count)| *count)
    }

    /// Returns the number of items under priorities without a label of their own. `None` if there
    /// never was such a priority.
    #[must_use]
    pub const fn others(&self) -> Option<usize> {
        self.others
    }

    /// Returns the number of items under all priorities: the depth.
    #[must_use]
    pub fn total(&self) -> usize {
        self.own.iter().map(|(_, count)| count).sum::<usize>() + self.others.unwrap_or_default()
    }

    /// Returns each label with its number of items. The shared label `exceeded_cardinality_limit`
    /// comes last.
    pub fn labels(&self) -> impl Iterator<Item = (String, usize)> {
        let own = self.own.iter().map(|(priority, count)| (priority.to_string(), *count));
        own.chain(self.others.map(|count| (OVERFLOW.to_owned(), count)))
    }

    pub(crate) fn own_mut(&mut self) -> impl Iterator<Item = (i32, &mut usize)> {
        self.own.iter_mut().map(|(priority, count)| (*priority, count))
    }

    pub(crate) fn has_room(&self) -> bool {
        self.own.len() < LABELS
    }

    /// Counts items under a priority, which gets a label if one is free.
    pub(crate) fn add(&mut self, priority: i32, count: usize) {
        if let Some((_, own)) = self.own.iter_mut().find(|(own, _)| *own == priority) {
            *own += count;
        } else if self.has_room() {
            self.own.push((priority, count));
        } else {
            self.add_others(count);
        }
    }

    /// Counts items under the shared label.
    pub(crate) fn add_others(&mut self, count: usize) {
        if count > 0 {
            *self.others.get_or_insert_default() += count;
        }
    }
}

impl Default for Depths {
    fn default() -> Self {
        Self { own: Vec::with_capacity(LABELS), others: None }
    }
}
