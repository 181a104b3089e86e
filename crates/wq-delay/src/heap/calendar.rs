//! CalendarQueue: the nodes of all items, sorted for the near future and in buckets for later.
//!
//! A node stays in its place when its item is removed or gets another deadline. It is stale then,
//! and is skipped in its turn or removed with others. So no slot knows where its node is, and
//! moving a node writes nothing. The first node is never stale. The argument `deadline` returns the
//! deadline of the item in a slot if the node with that sequence is live.

use super::buckets::{Buckets, FULL, Room};
use super::nodes::{Node, Nodes};
use crate::tick::Tick;

/// The most nodes in the heap, and the near nodes of a queue that is filled.
const NEAR: usize = FULL / 2;
/// The near nodes may hold this many stale ones beyond a third.
const SLACK: usize = if cfg!(test) { 1 } else { 16 };

#[derive(Debug, Default)]
pub(super) struct CalendarQueue {
    /// Nodes before all buckets. Sorted, the last first.
    run: Vec<Node>,
    /// Nodes before all buckets that are newer than the run.
    heap: Nodes,
    far: Buckets,
}

impl CalendarQueue {
    /// With enough room for this many items in any case. `None` if memory is short.
    pub(super) fn try_with_room(items: usize) -> Option<Self> {
        let mut room = Self::default();
        room.try_make(items, Room::most(items))?;
        Some(room)
    }

    /// Makes enough room for this many items, as a rule. `None` if memory is short.
    pub(super) fn try_make_room(&mut self, items: usize) -> Option<()> {
        self.try_make(items, Room::usual(items))
    }

    fn try_make(&mut self, items: usize, room: Room) -> Option<()> {
        if items == 0 {
            return Some(());
        }
        let most = items.saturating_add(items / 2 + SLACK + 1);
        self.heap.try_make_room(most.min(NEAR) + 1)?;
        if most <= NEAR {
            return Some(());
        }
        self.run.try_reserve_exact((FULL + NEAR + 1).saturating_sub(self.run.len())).ok()?;
        self.far.try_make_room(room)
    }

    /// The earliest node.
    #[inline]
    pub(super) fn first(&self) -> Option<&Node> {
        match (self.run.last(), self.heap.first()) {
            (Some(one), Some(other)) => Some(if other.before(one) { other } else { one }),
            (one, other) => one.or(other),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, node: Node, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        if let Some(at) = self.far.find(&node) {
            self.far.push(at, node, deadline);
            return;
        }
        self.heap.push(node);
        if self.heap.len() > NEAR {
            self.spill(deadline);
        }
    }

    /// Removes the first node. The next may be stale until [`settle`](Self::settle) is called.
    pub(super) fn pop(&mut self, deadline: impl Fn(u32, u32) -> Option<Tick>) -> Option<Node> {
        let first = self.pop_near();
        if self.run.is_empty() && self.heap.len() == 0 {
            self.far.take_first(&mut self.run, deadline);
        }
        first
    }

    /// Records that this node is stale. `others` nodes are live.
    #[inline]
    pub(super) fn forget(
        &mut self,
        node: Node,
        others: usize,
        deadline: impl Fn(u32, u32) -> Option<Tick>,
    ) {
        if let Some(at) = self.far.find(&node) {
            self.far.forget(at, deadline);
            return;
        }
        self.settle(others, deadline);
    }

    /// Removes stale nodes until the first is live, and all near ones if there are too many. `live`
    /// is the number of live nodes.
    #[inline]
    pub(super) fn settle(&mut self, live: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let (near, live) = (self.run.len() + self.heap.len(), live.saturating_sub(self.far.live()));
        if near > live + live / 2 + SLACK {
            self.clean(&deadline);
        }
        loop {
            match self.first().map(|first| deadline(first.slot, first.sequence)) {
                Some(Some(_)) => return,
                Some(None) => _ = self.pop_near(),
                None if self.far.take_first(&mut self.run, &deadline) => {}
                None => return,
            }
        }
    }

    /// All live nodes, sorted.
    pub(super) fn sorted(&self, deadline: impl Fn(u32, u32) -> Option<Tick>) -> Vec<Node> {
        let mut nodes = self.far.nodes(&deadline);
        let near = self.run.iter().chain(self.heap.iter());
        nodes.extend(near.filter(|node| deadline(node.slot, node.sequence).is_some()));
        nodes.sort_unstable_by_key(Node::rank);
        nodes
    }

    /// Removes all nodes and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.run.clear();
        self.heap.clear();
        self.far.clear();
    }

    /// Fills an empty queue with sorted nodes.
    pub(super) fn fill(&mut self, nodes: &[Node], deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let (near, far) = nodes.split_at(nodes.len().min(NEAR));
        self.run.extend(near.iter().rev());
        self.far.put_first(far, deadline);
    }

    fn pop_near(&mut self) -> Option<Node> {
        match (self.run.last(), self.heap.first()) {
            (Some(one), Some(other)) if other.before(one) => self.heap.pop(),
            (Some(_), _) => self.run.pop(),
            (None, _) => self.heap.pop(),
        }
    }

    /// Moves the later half of the near nodes to buckets.
    #[cold]
    #[inline(never)]
    fn spill(&mut self, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let mut nodes = std::mem::take(&mut self.run);
        nodes.extend(self.heap.iter());
        self.heap.clear();
        nodes.retain(|node| deadline(node.slot, node.sequence).is_some());
        nodes.sort_unstable_by_key(|node| !node.rank());
        let far = nodes.len().saturating_sub(NEAR / 2);
        nodes[..far].reverse();
        self.far.put_first(&nodes[..far], deadline);
        nodes.drain(..far);
        self.run = nodes;
    }

    /// Removes the stale nodes from the near ones.
    #[cold]
    #[inline(never)]
    fn clean(&mut self, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let is_live = |node: &Node| deadline(node.slot, node.sequence).is_some();
        self.run.retain(is_live);
        self.heap.retain(is_live);
    }

    /// How many nodes there are, with the stale ones.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.run.len() + self.heap.len() + self.far.len()
    }

    /// For how many nodes there is room.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.run.capacity() + self.heap.capacity() + self.far.capacity()
    }

    #[cfg(test)]
    pub(super) fn buckets(&self) -> usize {
        self.far.count()
    }

    /// Asserts what holds after every operation.
    #[cfg(test)]
    pub(super) fn check(&self, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let is_live = |node: &&Node| deadline(node.slot, node.sequence).is_some();
        assert!(self.run.is_sorted_by_key(|node| !node.rank()), "the run is not in order");
        let near: Vec<_> = self.run.iter().chain(self.heap.iter()).collect();
        assert!(
            near.iter().all(|node| self.far.find(node).is_none()),
            "a near node belongs to a bucket"
        );
        let live = near.iter().copied().filter(is_live).count();
        assert!(near.len() <= live + live / 2 + SLACK, "too many near nodes are stale");
        self.far.check(deadline);
    }
}
