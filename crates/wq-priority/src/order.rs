//! `Order`: what an add asks for, and how two orders become one.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A group of items that share their priority's turns with other groups: a tenant, a namespace, a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(u64);

impl GroupId {
    /// The group of this number. What the number stands for is the program's business.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
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
        Self(hasher.finish())
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
/// counts. Two delayed adds, merged before the item is queued, do to it together what they would have done one after the
/// other; of a raise and a lower the merged priority is set.
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

    pub(crate) fn merge(&mut self, new: Self) {
        self.priority = match new.on_merge {
            OnMerge::Raise => self.priority.max(new.priority),
            OnMerge::Lower => self.priority.min(new.priority),
            OnMerge::Set => new.priority,
        };
        self.group = new.group.or(self.group);
        if self.on_merge != new.on_merge {
            self.on_merge = OnMerge::Set;
        }
    }
}
