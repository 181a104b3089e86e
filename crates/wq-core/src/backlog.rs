//! Backlog: the one extension point, which decides the order in which queued items come out; and [`Fifo`], the default.
//!
//! What an item is, whether it is queued and who holds it is not known here: that is `state`.

use std::collections::VecDeque;
use std::fmt;

/// The queue's name for one of the items it holds: a small index, dense from zero, reused after the item has left.
///
/// A backlog may keep whatever it knows of an item in a `Vec` indexed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(u32);

impl SlotId {
    /// The id with this index. Only the tests of a backlog need it; the queue makes its own.
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
/// A backlog holds ids, never items. The queue pushes an id when its item becomes queued, and pops one for each
/// item that it hands out; an id is in the backlog at most once. All methods run under the queue's lock: they must
/// be quick, and must not call back into the queue.
///
/// The repository's crate `wq-contract` asks yours for every rule that the queue rests on. It is not published: take it as a
/// dev-dependency from git.
///
/// ```
/// use wq_core::{Backlog, SlotId, WorkQueue};
///
/// /// Last in, first out. A second add brings an item to the top; what rides along counts its adds.
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
/// A backlog that breaks the rules can lose an item, but cannot make the queue hand one item to two holders: a get that is
/// given an id whose item is not queued finds nothing.
///
/// # Panics
///
/// A panic in a method reaches the caller of the queue, which stays usable. Items that the call was about may be lost, or stay
/// in flight until [`abandon`](crate::WorkQueue::abandon).
#[doc(alias = "Queue")]
pub trait Backlog {
    /// What rides with an item from its add to its hand-out: a priority, a group, the reasons of the trigger. `()` for
    /// [`Fifo`].
    ///
    /// Its code runs under the queue's lock, `Drop` too: it must be quick, and must not call the queue.
    type Order: Clone + Default + Send;

    /// Joins the order of a second add into the order held from the first, wherever both adds end in one hand-out: while
    /// the item is queued, delayed, or marked to run again.
    fn merge(held: &mut Self::Order, new: Self::Order);

    /// Takes in an id that is not here.
    fn push(&mut self, id: SlotId, order: Self::Order);

    /// The item of an id that is here was added once more, with `order`: [`merge`](Self::merge) it into what is held,
    /// and move the id if that changes its place.
    #[doc(alias = "Touch")]
    fn touch(&mut self, id: SlotId, order: &Self::Order);

    /// Takes out the id whose turn it is, with its merged order. `None` exactly when nothing is here.
    fn pop(&mut self) -> Option<(SlotId, Self::Order)>;

    /// Takes out this id, wherever it is. `None` if it is not here.
    fn remove(&mut self, id: SlotId) -> Option<Self::Order>;

    /// How many ids are here.
    fn len(&self) -> usize;

    /// Whether no id is here.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives back memory that is not in use.
    fn shrink(&mut self) {}
}

/// A backlog that can tell what is queued by kind, as by priority: what a scrape of metrics reads of it.
pub trait Survey: Backlog {
    /// What it tells. `Default` is what there is to tell of nothing.
    type Found: Default;

    /// Adds to `found` what is here, together with the orders of those items in hand that will run again. What `found` holds
    /// already is what this one or another told before. Runs under the queue's lock: it must be quick, and must not call
    /// the queue.
    fn survey<'a>(&'a self, to_run_again: impl Iterator<Item = &'a Self::Order>, found: &mut Self::Found);
}

/// First in, first out: the item that has been queued for the longest time comes next.
///
/// `push`, `touch` and `pop` take constant time, `remove` looks through the ids.
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
        // Half of it is left free: who shrinks often does not copy often.
        if self.ids.capacity() / 4 > self.ids.len() {
            self.ids.shrink_to(2 * self.ids.len());
        }
    }
}

impl fmt::Debug for Fifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo").field("len", &self.ids.len()).finish()
    }
}
