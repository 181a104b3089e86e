//! `Order`: what an add asks for, and how two orders become one.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A group of items that share their priority's turns with other groups: a tenant, a namespace, a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId {
    // Halves, of the alignment of a priority: an order, which every slot of a queue has room for, is a quarter smaller.
    high: u32,
    low: u32,
}

impl GroupId {
    /// The group of this number. What the number stands for is the program's business.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        Self { high: (number >> 32) as u32, low: number as u32 }
    }

    /// The group of this name: a hash of it (SipHash of 64 bits, the same in every run of a program), so that no table of
    /// names is needed. Two names of one hash would share their turns, and nothing worse.
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

/// What an add does to the priority of an item that waits already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnMerge {
    /// The higher of both counts, as in controller-runtime's priority queue.
    #[default]
    Raise,
    /// The lower of both counts.
    Lower,
    /// The newest counts.
    Set,
    /// The priority of the order is one bound and this is the other, whichever is the higher: what is below both counts as the
    /// lower, what is above both as the higher, and what is between them stays. It is what adds that raise and lower come to
    /// together.
    Between(i32),
}

/// What an order does to the priority of an item that waits: every way of merging, one after the other too, is this.
#[derive(Clone, Copy)]
struct Bounds {
    low: i32,
    /// Not below `low`.
    high: i32,
}

impl Bounds {
    const fn of(order: &Order) -> Self {
        let Order { priority, .. } = *order;
        let (low, high) = match order.on_merge {
            OnMerge::Raise => (priority, i32::MAX),
            OnMerge::Lower => (i32::MIN, priority),
            OnMerge::Set => (priority, priority),
            OnMerge::Between(other) if other < priority => (other, priority),
            OnMerge::Between(other) => (priority, other),
        };
        Self { low, high }
    }

    fn apply(self, priority: i32) -> i32 {
        priority.clamp(self.low, self.high)
    }

    /// Both, these before `next`.
    fn then(self, next: Self) -> Self {
        Self { low: next.apply(self.low), high: next.apply(self.high) }
    }

    /// The same by name, of an order with this priority: it is one of the two, as it was one of those that these come from.
    const fn on_merge(self, priority: i32) -> OnMerge {
        match (self.low, self.high) {
            (low, high) if low == high => OnMerge::Set,
            (low, i32::MAX) if low == priority => OnMerge::Raise,
            (low, high) if low == priority => OnMerge::Between(high),
            (i32::MIN, _) => OnMerge::Lower,
            (low, _) => OnMerge::Between(low),
        }
    }
}

/// What an add asks for.
///
/// ```
/// use wq_priority::{GroupId, Order};
///
/// let order = Order::priority(10).in_group(GroupId::of("tenant-a"));
/// assert_eq!(order.priority, 10);
/// assert_eq!(Order::default().priority, 0);
/// ```
///
/// # Two orders
///
/// Orders of adds that lead to one hand-out are merged, wherever the item waits: queued, delayed, or in hand and to run again. The
/// newest decides by its [`on_merge`](Self::on_merge) what becomes of the priority, and the newest group that is named
/// counts. Adds that are merged before the item is queued do to it together exactly what they would have done one after the
/// other: of one that raises to 5 and one that lowers to 8 the merged order has the priority 5 and is
/// [`OnMerge::Between`] that and 8.
///
/// The order that leaves with a guard raises, whatever the adds before it did: who adds an item again with the order of its
/// guard keeps its priority, and lowers nothing that was asked for meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[doc(alias = "AddOpts")]
pub struct Order {
    /// Higher comes first. 0 for an add that says nothing; negative is below that.
    #[doc(alias = "Priority")]
    pub priority: i32,
    /// The group it belongs to, if any.
    pub group: Option<GroupId>,
    /// What this add does to the priority of an item that waits already.
    pub on_merge: OnMerge,
}

impl Order {
    /// An order of this priority, in no group, that raises.
    #[must_use]
    pub const fn priority(priority: i32) -> Self {
        Self { priority, group: None, on_merge: OnMerge::Raise }
    }

    /// The same in this group.
    #[must_use]
    pub const fn in_group(mut self, group: GroupId) -> Self {
        self.group = Some(group);
        self
    }

    /// The same with this effect on an item that waits already.
    #[must_use]
    pub const fn on_merge(mut self, on_merge: OnMerge) -> Self {
        self.on_merge = on_merge;
        self
    }

    #[inline]
    pub(crate) fn merge(&mut self, new: Self) {
        let then = Bounds::of(&new);
        let both = Bounds::of(self).then(then);
        self.priority = then.apply(self.priority);
        self.on_merge = both.on_merge(self.priority);
        self.group = new.group.or(self.group);
    }
}
