//! `Depths`: how many items are under which priority, with a label of its own for few. Pure.

/// At most so many priorities have a label of their own, as in controller-runtime: a program that makes up ever new
/// priorities does not make ever new series.
const LABELS: usize = 25;
/// The label of all others, controller-runtime's.
const OVERFLOW: &str = "exceeded_cardinality_limit";

/// How many items still have to be handed out under each priority, queued or to run again, all of one moment: what a
/// [survey](wq_core::WorkQueue::survey) of a queue with priorities finds.
///
/// The first 25 priorities that are found have a label of their own, of those found queued in one queue together the highest; it is theirs for as long as
/// the value lives, which may be filled again and again ([`begin`](Self::begin), then
/// [`survey_into`](wq_core::WorkQueue::survey_into)). All others share one. A survey looks at 34 priorities at most, however many
/// are queued, and at the items in hand: [`survey_into`](wq_core::WorkQueue::survey_into) says at which. It allocates nothing.
///
/// ```
/// use wq_core::WorkQueue;
/// use wq_priority::{Order, Priority};
///
/// let queue = WorkQueue::builder().backlog(Priority::new()).build()?;
/// queue.add_with("event", Order::priority(10));
/// queue.add_with("resync-1", Order::priority(-100));
/// queue.add_with("resync-2", Order::priority(-100));
///
/// let mut depths = queue.survey();
/// assert_eq!(depths.labels().collect::<Vec<_>>(), [("10".to_owned(), 1), ("-100".to_owned(), 2)]);
///
/// depths.begin();
/// queue.try_get()?.done();
/// queue.survey_into(&mut depths);
/// assert_eq!((depths.of(10), depths.of(-100), depths.total()), (Some(0), Some(2), 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Depths {
    /// Never more than [`LABELS`], in the order in which they were found.
    own: Vec<(i32, usize)>,
    /// `None` as long as every priority had a label of its own.
    others: Option<usize>,
}

impl Depths {
    /// Nothing under any priority. Those that have a label keep it.
    pub fn begin(&mut self) {
        self.own.iter_mut().for_each(|(_, count)| *count = 0);
        self.others = self.others.map(|_| 0);
    }

    /// How many items are under this priority. `None` if it has no label of its own.
    #[must_use]
    pub fn of(&self, priority: i32) -> Option<usize> {
        self.own.iter().find(|(own, _)| *own == priority).map(|(_, count)| *count)
    }

    /// How many items are under priorities that have no label of their own. `None` if there never were any.
    #[must_use]
    pub const fn others(&self) -> Option<usize> {
        self.others
    }

    /// How many items are under any priority: the depth.
    #[must_use]
    pub fn total(&self) -> usize {
        self.own.iter().map(|(_, count)| count).sum::<usize>() + self.others.unwrap_or_default()
    }

    /// Every label with its items, those of the others last: `exceeded_cardinality_limit`, as in controller-runtime.
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

    /// So many items more under this priority, which gets a label if there is one left.
    pub(crate) fn add(&mut self, priority: i32, count: usize) {
        if let Some((_, own)) = self.own.iter_mut().find(|(own, _)| *own == priority) {
            *own += count;
        } else if self.has_room() {
            self.own.push((priority, count));
        } else {
            self.add_others(count);
        }
    }

    /// So many items more under priorities that have no label.
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
