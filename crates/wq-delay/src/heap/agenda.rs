//! `Agenda`: what is due when. The nodes of what comes next stand in order, those of all that is later in leaves.
//!
//! A node stays where it is when its item goes or has another deadline: it is stale then, and passed over when its turn comes,
//! or taken out with others when there are too many. So nothing has to know where a node is, and nothing is written when one
//! moves. The first node is never stale. Whether another is, its slot tells: `deadline` gives the deadline of the
//! item in a slot if the node of that sequence is in force.

use super::leaves::{FULL, Leaves, Room};
use super::nodes::{Node, Nodes};
use crate::tick::Tick;

/// So many nodes are left in the heap; and so many are near when an agenda is filled.
const NEAR: usize = FULL / 2;
/// So many stale nodes more than a third are left among those that are near.
const SLACK: usize = if cfg!(test) { 1 } else { 16 };

/// All nodes.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// Before all that is in leaves, sorted, the last first.
    run: Vec<Node>,
    /// Before all that is in leaves, and came after the run was made.
    heap: Nodes,
    far: Leaves,
}

impl Agenda {
    /// With room for so many items, whatever becomes of them, if there is memory.
    pub(super) fn try_with_room(items: usize) -> Option<Self> {
        let mut room = Self::default();
        room.try_make(items, Room::most(items))?;
        Some(room)
    }

    /// Sees to it that adds of so many items, and moves of their deadlines, need no more memory as a rule, if there is that
    /// much.
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

    /// The node that is before all others.
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

    /// Takes the first node away; the next may be stale until [`settle`](Self::settle) is called.
    pub(super) fn pop(&mut self, deadline: impl Fn(u32, u32) -> Option<Tick>) -> Option<Node> {
        let first = self.pop_near();
        if self.run.is_empty() && self.heap.len() == 0 {
            self.far.take_first(&mut self.run, deadline);
        }
        first
    }

    /// A node has become stale. Beside it so many are in force.
    #[inline]
    pub(super) fn forget(&mut self, node: Node, others: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        if let Some(at) = self.far.find(&node) {
            self.far.forget(at, deadline);
            return;
        }
        self.settle(others, deadline);
    }

    /// Passes over stale nodes until the first is in force, and takes them away if there are too many. To be called when nodes
    /// were popped; so many are in force.
    #[inline]
    pub(super) fn settle(&mut self, in_force: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let (near, live) = (self.run.len() + self.heap.len(), in_force.saturating_sub(self.far.live()));
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

    /// Takes all stale nodes away that have this one's place.
    pub(super) fn purge(&mut self, node: Node, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        match self.far.find(&node) {
            Some(at) => self.far.clean(at, deadline),
            None => self.clean(deadline),
        }
    }

    /// All nodes that are in force, sorted.
    pub(super) fn sorted(&self, deadline: impl Fn(u32, u32) -> Option<Tick>) -> Vec<Node> {
        let mut nodes = self.far.nodes(&deadline);
        let near = self.run.iter().chain(self.heap.iter());
        nodes.extend(near.filter(|node| deadline(node.slot, node.sequence).is_some()));
        nodes.sort_unstable_by_key(Node::rank);
        nodes
    }

    /// Takes all nodes out. The memory is kept.
    pub(super) fn clear(&mut self) {
        self.run.clear();
        self.heap.clear();
        self.far.clear();
    }

    /// Puts sorted nodes into an empty agenda.
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

    /// Too many are near: the later ones are put away into leaves.
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

    /// Takes the stale nodes away from those that are near.
    #[cold]
    #[inline(never)]
    fn clean(&mut self, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let is_live = |node: &Node| deadline(node.slot, node.sequence).is_some();
        self.run.retain(is_live);
        self.heap.retain(is_live);
    }

    /// How many nodes there are, the stale ones among them.
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
    pub(super) fn leaves(&self) -> usize {
        self.far.count()
    }

    /// What must hold after every operation.
    #[cfg(test)]
    pub(super) fn check(&self, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let is_live = |node: &&Node| deadline(node.slot, node.sequence).is_some();
        assert!(self.run.is_sorted_by_key(|node| !node.rank()), "the run is not in order");
        let near: Vec<_> = self.run.iter().chain(self.heap.iter()).collect();
        assert!(
            near.iter().all(|node| self.far.find(node).is_none()),
            "a node that is near belongs into a leaf"
        );
        let live = near.iter().copied().filter(is_live).count();
        assert!(near.len() <= live + live / 2 + SLACK, "too many of the nodes that are near are stale");
        self.far.check(deadline);
    }
}
