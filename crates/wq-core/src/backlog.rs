//! Backlog: the extension point for the order of hand-outs, and [`Fifo`], the default.
//!
//! A backlog knows ids only. Items, phases and holders are in `state`.

use std::collections::VecDeque;
use std::fmt;

/// The id of an item in the queue: a small index, dense from zero, reused after the item has left.
///
/// A backlog can keep its data of an item in a `Vec` indexed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(u32);

impl SlotId {
    /// The id with this index. Only tests of a backlog need it.
    #[must_use]
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The index, dense from zero.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// The order in which queued items are handed out.
///
/// A backlog holds ids, never items. The queue pushes an id when its item becomes queued, and pops
/// one for each hand-out. An id is in the backlog at most once.
///
/// All methods run under the queue's lock: they must be quick and must not call the queue.
///
/// `wq_contract::backlog::check` tests a backlog for each rule that the queue relies on. That crate
/// is not published: take it as a dev-dependency from git.
///
/// ```
/// use wq_core::{Backlog, SlotId, WorkQueue};
///
/// /// Last in, first out. A second add brings an item to the top; the order counts its adds.
/// #[derive(Default)]
/// struct Stack(Vec<(SlotId, u32)>);
///
/// impl Backlog for Stack {
///     type Order = u32;
///
///     fn merge(held: &mut u32, new: u32) {
///         *held = held.saturating_add(new);
///     }
///
///     fn push(&mut self, id: SlotId, order: u32) {
///         self.0.push((id, order));
///     }
///
///     fn touch(&mut self, id: SlotId, order: &u32) {
///         if let Some(mut held) = self.remove(id) {
///             Self::merge(&mut held, *order);
///             self.push(id, held);
///         }
///     }
///
///     fn pop(&mut self) -> Option<(SlotId, u32)> {
///         self.0.pop()
///     }
///
///     fn remove(&mut self, id: SlotId) -> Option<u32> {
///         let place = self.0.iter().position(|(other, _)| *other == id)?;
///         Some(self.0.remove(place).1)
///     }
///
///     fn len(&self) -> usize {
///         self.0.len()
///     }
///
///     fn shrink(&mut self) {
///         self.0.shrink_to_fit();
///     }
/// }
///
/// // In a test:
/// wq_contract::backlog::check(Stack::default, &[1, 2, 5]);
///
/// let queue = WorkQueue::builder().backlog(Stack::default()).build()?;
/// for item in ["a", "b", "a"] {
///     queue.add_with(item, 1);
/// }
/// let top = queue.try_get()?;
/// assert_eq!((*top.item(), *top.order()), ("a", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A backlog that breaks the rules can lose an item. It cannot make the queue hand one item to two
/// holders: the queue ignores a popped id whose item is not queued.
///
/// # Panics
///
/// A panic in a method reaches the caller of the queue, which stays usable. Items of that call may
/// be lost, or stay in flight until [`abandon`](crate::WorkQueue::abandon).
#[doc(alias = "Queue")]
pub trait Backlog {
    /// Data that an item keeps from its add to its hand-out: a priority, a group, reasons. `()` for
    /// [`Fifo`].
    ///
    /// Its code runs under the queue's lock, `Drop` too: it must be quick and must not call the
    /// queue.
    type Order: Clone + Default + Send;

    /// Merges the order of a second add into the order of the first, if both lead to one hand-out.
    ///
    /// The item is then queued, delayed, or marked to run again.
    fn merge(held: &mut Self::Order, new: Self::Order);

    /// Inserts an id that is not in the backlog.
    fn push(&mut self, id: SlotId, order: Self::Order);

    /// Called after another add of a queued item. [Merges](Self::merge) `order` into the held
    /// order, and moves the id if that changes its place.
    #[doc(alias = "Touch")]
    fn touch(&mut self, id: SlotId, order: &Self::Order);

    /// Removes the next id, and returns it with its merged order. `None` exactly if the backlog is
    /// empty.
    fn pop(&mut self) -> Option<(SlotId, Self::Order)>;

    /// Removes this id. `None` if it is not in the backlog.
    fn remove(&mut self, id: SlotId) -> Option<Self::Order>;

    /// The number of ids.
    fn len(&self) -> usize;

    /// Whether the backlog has no ids.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Releases unused memory. The queue calls it after a while of low occupancy.
    fn shrink(&mut self) {}
}

/// A backlog that can count its items by kind, such as priority, for metrics.
pub trait Survey: Backlog {
    /// The result. `Default` is the result of an empty backlog.
    type Found: Default;

    /// Adds the ids of this backlog to `found`, and the orders of items in flight that will run
    /// again.
    ///
    /// `found` may hold earlier results, also of other backlogs. The method runs under the queue's
    /// lock: it must be quick and must not call the queue.
    fn survey<'a>(
        &'a self,
        to_run_again: impl Iterator<Item = &'a Self::Order>,
        found: &mut Self::Found,
    );
}

/// First in, first out: the item that was queued first comes next.
///
/// `push`, `touch` and `pop` take constant time, `remove` takes linear time.
#[derive(Clone, Default)]
pub struct Fifo {
    ids: VecDeque<u32>,
}

impl Backlog for Fifo {
    type Order = ();

    #[inline]
    fn merge(_held: &mut (), _new: ()) {}

    #[inline(always)]
    fn push(&mut self, id: SlotId, _order: ()) {
        self.ids.push_back(id.0);
    }

    #[inline]
    fn touch(&mut self, _id: SlotId, _order: &()) {}

    #[inline(always)]
    fn pop(&mut self) -> Option<(SlotId, ())> {
        self.ids.pop_front().map(|index| (SlotId(index), ()))
    }

    fn remove(&mut self, id: SlotId) -> Option<()> {
        let place = self.ids.iter().position(|&index| index == id.0)?;
        self.ids.remove(place).map(|_| ())
    }

    #[inline]
    fn len(&self) -> usize {
        self.ids.len()
    }

    fn shrink(&mut self) {
        self.ids.shrink_to_fit();
    }
}

impl fmt::Debug for Fifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo").field("len", &self.ids.len()).finish()
    }
}
