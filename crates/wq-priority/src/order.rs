//! `Order`: priority and group of an add, and the merge of two orders.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A group of items that shares a priority's hand-outs with other groups: a tenant, a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId {
    // Two halves have the alignment of a priority. That keeps `Order` at 20 bytes.
    high: u32,
    low: u32,
}

impl GroupId {
    /// The group with this number. The program decides what the number means.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        Self { high: (number >> 32) as u32, low: number as u32 }
    }

    /// The group with this name, as a 64-bit `SipHash` that is the same in every run. Two names
    /// with equal hashes share one group's turns.
    ///
    /// ```
    /// use wq_priority::GroupId;
    ///
    /// assert_eq!(GroupId::of("tenant-a"), GroupId::of(&String::from("tenant-a")));
    /// assert_ne!(GroupId::of("tenant-a"), GroupId::of("tenant-b"));
    /// ```
    #[must_use]
    pub fn of<N: Hash + ?Sized>(name: &N) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self::new(hasher.finish())
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// How an add changes the priority of an item that already waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnMerge {
    /// The higher priority wins, as in controller-runtime's priority queue.
    #[default]
    Raise,
    /// The priority of the newest add wins, also if it is lower.
    Set,
}

/// The priority and the group of an add.
///
/// ```
/// use wq_priority::{GroupId, Order};
///
/// let order = Order::priority(10).in_group(GroupId::of("tenant-a"));
/// assert_eq!(order.priority, 10);
/// assert_eq!(Order::default().priority, 0);
/// ```
///
/// # Merging
///
/// Adds that lead to one hand-out merge their orders, whether the item is queued, delayed or in
/// flight. The [`on_merge`](Self::on_merge) of the newer order decides about the priority. The
/// newest group that an add names wins. Merging two orders first and applying the result later has
/// the same effect as applying them one by one.
///
/// An item leaves the backlog with [`OnMerge::Raise`]. So an add with the order of a guard keeps
/// the item's priority and never lowers a newer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[doc(alias = "AddOpts")]
pub struct Order {
    /// Higher comes first. The default is 0.
    #[doc(alias = "Priority")]
    pub priority: i32,
    /// The item's group, if any.
    pub group: Option<GroupId>,
    /// How this add changes the priority of an item that already waits.
    pub on_merge: OnMerge,
}

impl Order {
    /// An order with this priority, without a group, that raises.
    #[must_use]
    pub const fn priority(priority: i32) -> Self {
        Self { priority, group: None, on_merge: OnMerge::Raise }
    }

    /// Sets the group.
    #[must_use]
    pub const fn in_group(mut self, group: GroupId) -> Self {
        self.group = Some(group);
        self
    }

    /// Sets the effect on an item that already waits.
    #[must_use]
    pub const fn on_merge(mut self, on_merge: OnMerge) -> Self {
        self.on_merge = on_merge;
        self
    }

    #[inline]
    pub(crate) fn merge(&mut self, new: Self) {
        match new.on_merge {
            OnMerge::Raise => self.priority = self.priority.max(new.priority),
            OnMerge::Set => (self.priority, self.on_merge) = (new.priority, OnMerge::Set),
        }
        self.group = new.group.or(self.group);
    }
}
