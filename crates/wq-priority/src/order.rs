//! `Order`: what an add asks for, and how two orders become one.

use std::fmt;

/// A group of items that share their priority's turns with other groups: a tenant, a namespace, a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(u64);

impl GroupId {
    /// The group of this number. What the number stands for is the program's business.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
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
    /// The newest counts, also if it is lower.
    Set,
}

/// What an add asks for.
///
/// ```
/// use wq_priority::{GroupId, Order};
///
/// let order = Order::priority(10).in_group(GroupId::new(7));
/// assert_eq!(order.priority, 10);
/// assert_eq!(Order::default().priority, 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Order {
    /// Higher comes first. 0 for an add that says nothing; negative is below that.
    pub priority: i32,
    /// The group it belongs to, if any. On a merge the newest group named counts.
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
            OnMerge::Set => new.priority,
        };
        self.group = new.group.or(self.group);
        self.on_merge = new.on_merge;
    }
}
