//! `Priority`: the backlog, which knows the place of each queued id. Which priority has the next turn is in `levels`, which
//! group in `groups`.

use crate::groups::{Groups, Weights};
use crate::levels::Levels;
use crate::order::{GroupId, Order};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use wq_core::{Backlog, SlotId};

/// Every so many hand-outs one goes to the priority that has waited longest.
const AGED_TURN_EVERY: NonZeroU32 = NonZeroU32::new(16).unwrap();

/// A backlog that hands out the highest priority first, and the item that reached it first within that.
///
/// Two rules keep it fair:
///
/// - **Ageing.** Every sixteenth hand-out (see [`aged_turn_every`](Self::aged_turn_every)) goes to the priority that has
///   waited for the most hand-outs. So the first item of the lowest priority lets at most `16 * (p - 1)` others go
///   before it while `p` priorities are in use, whatever is added above it. Hand-outs are counted, no clock is read.
/// - **Groups.** Within a priority groups take turns: one item each, or as many as their [`weight`](Self::weight). Items
///   of no group are one group of their own. So a tenant with a thousand items delays the one with a single item by one.
///
/// An item that is added again while it waits moves only if its priority or group changes, and then to the end. All
/// operations take logarithmic time, but for the removal of a group's last item, which looks through the groups of its
/// priority.
#[derive(Debug, Clone)]
#[doc(alias = "priorityqueue")]
pub struct Priority {
    /// Indexed by slot.
    places: Vec<Option<Place>>,
    len: usize,
    priorities: BTreeMap<i32, Groups>,
    levels: Levels,
    weights: Weights,
    next_sequence: u64,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    order: Order,
    sequence: u64,
}

impl Priority {
    /// An empty backlog, with ageing at every sixteenth hand-out and all groups of weight 1.
    #[must_use]
    pub fn new() -> Self {
        Self {
            places: Vec::new(),
            len: 0,
            priorities: BTreeMap::new(),
            levels: Levels::new(Some(AGED_TURN_EVERY)),
            weights: Weights::new(),
            next_sequence: 0,
        }
    }

    /// Every so many hand-outs one goes to the priority that has waited longest. 1: all of them, so that priorities take
    /// turns. To be called before the backlog is used.
    #[must_use]
    pub fn aged_turn_every(mut self, hand_outs: NonZeroU32) -> Self {
        self.levels = Levels::new(Some(hand_outs));
        self
    }

    /// No ageing: a lower priority waits as long as there is a higher one, for ever if need be. To be called before the
    /// backlog is used.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.levels = Levels::new(None);
        self
    }

    /// How many items of this group are handed out in a row when it has its turn. 1 by default.
    #[must_use]
    pub fn weight(mut self, group: GroupId, items: NonZeroU32) -> Self {
        self.weights.insert(group, items);
        self
    }

    fn enter(&mut self, id: SlotId, order: Order) {
        let sequence = self.next_sequence;
        self.next_sequence = self.next_sequence.wrapping_add(1);
        let index = id.index() as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, None);
        }
        self.places[index] = Some(Place { order, sequence });
        self.priorities.entry(order.priority).or_default().push(order.group, sequence, id);
        self.levels.open(order.priority);
        self.len += 1;
    }

    fn leave(&mut self, id: SlotId) -> Option<Order> {
        let place = self.places.get_mut(id.index() as usize)?.take()?;
        self.vacate(place);
        Some(place.order)
    }

    fn vacate(&mut self, Place { order, sequence }: Place) {
        if let Some(groups) = self.priorities.get_mut(&order.priority) {
            groups.remove(order.group, sequence);
        }
        self.close_if_empty(order.priority);
        self.len -= 1;
    }

    fn close_if_empty(&mut self, priority: i32) {
        if self.priorities.get(&priority).is_some_and(Groups::is_empty) {
            self.priorities.remove(&priority);
            self.levels.close(priority);
        }
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::new()
    }
}

impl Backlog for Priority {
    type Order = Order;

    fn merge(held: &mut Order, new: Order) {
        held.merge(new);
    }

    fn push(&mut self, id: SlotId, order: Order) {
        self.leave(id); // Nothing, unless the queue breaks the rules.
        self.enter(id, order);
    }

    fn touch(&mut self, id: SlotId, order: &Order) {
        let Some(Some(place)) = self.places.get_mut(id.index() as usize) else { return };
        let held = *place;
        let mut merged = held.order;
        merged.merge(*order);
        if (merged.priority, merged.group) == (held.order.priority, held.order.group) {
            place.order = merged;
            return;
        }
        // In this order: a priority that stays in use keeps its age.
        self.enter(id, merged);
        self.vacate(held);
    }

    fn pop(&mut self) -> Option<(SlotId, Order)> {
        let priority = self.levels.next()?;
        let (_, id) = self.priorities.get_mut(&priority)?.pop(&self.weights)?;
        self.close_if_empty(priority);
        let place = self.places.get_mut(id.index() as usize)?.take()?;
        self.len -= 1;
        Some((id, place.order))
    }

    fn remove(&mut self, id: SlotId) -> Option<Order> {
        self.leave(id)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn shrink(&mut self) {
        let used = self.places.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.places.truncate(used);
        self.places.shrink_to_fit();
    }
}
