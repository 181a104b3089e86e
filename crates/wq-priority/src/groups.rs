//! `GroupQueues`: one FIFO queue for each group of a priority, and the weighted round robin among
//! the groups. Pure.

use std::collections::HashMap;
use std::num::NonZeroU32;

use wq_core::DefaultHasher;

use crate::list::{IntrusiveList, Link, Member, NIL};
use crate::order::GroupId;
use crate::planted::planted;
use crate::pool::Pool;

/// How many items in a row each group gets. A group that is not named gets one.
pub(crate) type Weights = HashMap<GroupId, NonZeroU32, DefaultHasher>;

/// The queues of one priority, in the order of their turns.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin {
    queues: IntrusiveList,
    /// How many items the first queue has handed out in its turn.
    used: u32,
    /// The queue of items without a group, found without a hash table. It stays when it is empty:
    /// most items have no group. `NIL` before the first one.
    ungrouped: u32,
}

impl RoundRobin {
    pub(crate) const EMPTY: Self = Self { queues: IntrusiveList::EMPTY, used: 0, ungrouped: NIL };
}

/// The items of one group under one priority. It is in the round robin while it has one.
#[derive(Clone, Debug)]
struct GroupQueue {
    items: IntrusiveList,
    /// In the round robin.
    link: Link,
    level: u32,
    weight: u32,
    group: Option<GroupId>,
}

impl Member for GroupQueue {
    #[inline]
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Where an item waits.
#[derive(Clone, Debug)]
struct Place {
    /// In the queue.
    link: Link,
    /// `NIL`: the item does not wait.
    queue: u32,
    /// The group of the item's order. It may differ from the group of the queue.
    group: Option<GroupId>,
}

impl Place {
    const NOWHERE: Self = Self { link: Link::NONE, queue: NIL, group: None };
}

impl Member for Place {
    #[inline]
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }
}

#[derive(Clone, Debug)]
pub(crate) struct GroupQueues {
    /// Indexed by slot.
    places: Vec<Place>,
    pool: Pool<GroupQueue>,
    /// By level and group.
    by_group: HashMap<(u32, GroupId), u32, DefaultHasher>,
    weights: Weights,
}

impl GroupQueues {
    pub(crate) fn new(weights: Weights) -> Self {
        Self { places: Vec::new(), pool: Pool::new(), by_group: HashMap::default(), weights }
    }

    /// The level of an item that waits, and the group of its order.
    #[inline]
    pub(crate) fn find(&self, item: u32) -> Option<(u32, Option<GroupId>)> {
        let place = self.places.get(item as usize)?;
        self.pool.get(place.queue).map(|queue| (queue.level, place.group))
    }

    /// Changes the group of the order of an item that waits. The item stays in its queue.
    pub(crate) fn set_group(&mut self, item: u32, group: Option<GroupId>) {
        self.places[item as usize].group = group;
    }

    /// Appends an item that does not wait to its group's queue.
    #[inline]
    pub(crate) fn push(
        &mut self,
        groups: &mut RoundRobin,
        level: u32,
        group: Option<GroupId>,
        item: u32,
    ) {
        if item as usize >= self.places.len() {
            self.places.resize(item as usize + 1, Place::NOWHERE);
        }
        let known = match group {
            None => groups.ungrouped,
            Some(group) => self.by_group.get(&(level, group)).copied().unwrap_or(NIL),
        };
        let index = if known == NIL { self.make(groups, level, group) } else { known };
        let place = &mut self.places[item as usize];
        (place.queue, place.group) = (index, group);
        let items = &mut self.pool.at(index).items;
        let was_empty = items.is_empty();
        items.push_back(&mut self.places, item);
        if was_empty {
            // Last, so a group that empties itself gains nothing.
            groups.queues.push_back(self.pool.members(), index);
        }
    }

    fn make(&mut self, groups: &mut RoundRobin, level: u32, group: Option<GroupId>) -> u32 {
        let weight =
            group.and_then(|group| self.weights.get(&group)).map_or(1, |weight| weight.get());
        let items = IntrusiveList::EMPTY;
        let index = self.pool.insert(GroupQueue { items, link: Link::NONE, level, weight, group });
        match group {
            None => groups.ungrouped = index,
            Some(group) => _ = self.by_group.insert((level, group), index),
        }
        index
    }

    /// Removes the item whose turn it is. Returns it with the group of its order.
    #[inline]
    pub(crate) fn pop(&mut self, groups: &mut RoundRobin) -> (u32, Option<GroupId>) {
        let index = groups.queues.first();
        let queue = self.pool.at(index);
        let (item, weight) = (queue.items.first(), queue.weight);
        groups.used += 1;
        if groups.used >= weight && !planted("groups-take-no-turns") {
            groups.used = 0;
            groups.queues.move_to_back(self.pool.members(), index);
        }
        self.remove(groups, item);
        (item, self.places[item as usize].group)
    }

    /// Removes an item that waits.
    #[inline]
    pub(crate) fn remove(&mut self, groups: &mut RoundRobin, item: u32) {
        let index = std::mem::replace(&mut self.places[item as usize].queue, NIL);
        let queue = self.pool.at(index);
        queue.items.remove(&mut self.places, item);
        if queue.items.is_empty() {
            self.close(groups, index);
        }
    }

    /// A queue lost its last item. The rest of its turn is lost too.
    fn close(&mut self, groups: &mut RoundRobin, index: u32) {
        if groups.queues.first() == index {
            groups.used = 0;
        }
        groups.queues.remove(self.pool.members(), index);
        let queue = self.pool.at(index);
        if let Some(group) = queue.group {
            self.by_group.remove(&(queue.level, group));
            self.pool.free(index);
        }
    }

    /// Releases all memory of queues and places, none of which is in use.
    pub(crate) fn release(&mut self) {
        *self = Self::new(std::mem::take(&mut self.weights));
    }
}
