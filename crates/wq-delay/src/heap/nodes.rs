//! Node: when the item in a slot is due. Nodes: an 8-ary heap of nodes in one array.

use crate::tick::Tick;

/// Children per node.
pub(super) const ARITY: usize = 8;
/// The root is the last node of the first family. The places before it stay unused.
const UNUSED: usize = ARITY - 1;

/// When the item in a slot is due: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) deadline: Tick,
    pub(super) slot: u32,
    /// Insertion number: it orders equal deadlines.
    pub(super) sequence: u32,
}

impl Node {
    /// Behind every node.
    const NONE: Self = Self { deadline: Tick::NEVER, slot: u32::MAX, sequence: u32::MAX };

    #[inline]
    pub(super) fn before(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }

    /// Deadline and sequence as one number, which is compared without a branch. Sequences are
    /// unique, so the slot never decides.
    #[inline]
    pub(super) fn rank(&self) -> u128 {
        u128::from(self.deadline.0) << 64 | u128::from(self.sequence) << 32 | u128::from(self.slot)
    }
}

/// The children of one node, aligned to two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Family([Node; ARITY]);

/// Position 0 is the root. The children of position `p` begin at position `8 p + 1`, in family `p +
/// 1`.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// Unused places at the end hold [`Node::NONE`].
    families: Vec<Family>,
    len: usize,
}

impl Nodes {
    /// Makes room for this many nodes. `None` if memory is short.
    pub(super) fn try_make_room(&mut self, nodes: usize) -> Option<()> {
        self.families.try_reserve_exact(families_of(nodes).saturating_sub(self.families.len())).ok()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.families.capacity() * ARITY
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Node> {
        self.families.first().map(|family| &family.0[UNUSED])
    }

    /// All nodes, unsorted.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.families.iter().flat_map(|family| &family.0).skip(UNUSED).take(self.len)
    }

    #[inline]
    pub(super) fn push(&mut self, node: Node) {
        let place = self.len + UNUSED;
        if place / ARITY == self.families.len() {
            self.families.push(Family([Node::NONE; ARITY]));
        }
        self.len += 1;
        self.rise(self.len - 1, node);
    }

    /// Removes the first node.
    pub(super) fn pop(&mut self) -> Option<Node> {
        let first = *self.first()?;
        self.len -= 1;
        let last = std::mem::replace(self.at_mut(self.len), Node::NONE);
        self.families.truncate(families_of(self.len));
        if self.len > 0 {
            self.sink(last);
        }
        Some(first)
    }

    /// Removes the other nodes.
    pub(super) fn retain(&mut self, stays: impl Fn(&Node) -> bool) {
        let len = std::mem::take(&mut self.len);
        for position in 0..len {
            let node = *self.at(position);
            if stays(&node) {
                self.len += 1;
                self.rise(self.len - 1, node);
            }
        }
        for position in self.len..len {
            *self.at_mut(position) = Node::NONE;
        }
        self.families.truncate(families_of(self.len));
    }

    /// Removes all nodes and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.families.clear();
        self.len = 0;
    }

    /// Places a node from the end of the array, starting at the root. The node belongs near the
    /// end, so it is cheaper to move the hole all the way down first and compare on the way up.
    fn sink(&mut self, node: Node) {
        let mut hole = 0;
        while let Some((child, first)) = self.first_child(hole) {
            *self.at_mut(hole) = first;
            hole = child;
        }
        self.rise(hole, node);
    }

    /// Places a node in the hole, or above it.
    #[inline]
    fn rise(&mut self, mut hole: usize, node: Node) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            let other = *self.at(parent);
            if !node.before(&other) {
                break;
            }
            *self.at_mut(hole) = other;
            hole = parent;
        }
        *self.at_mut(hole) = node;
    }

    /// The first child of a node, with its position.
    fn first_child(&self, position: usize) -> Option<(usize, Node)> {
        let Family(children) = self.families.get(position + 1)?;
        let mut first = (0, children[0]);
        for (at, node) in children.iter().enumerate().skip(1) {
            first = if node.before(&first.1) { (at, *node) } else { first };
        }
        let (at, node) = first;
        Some((position * ARITY + 1 + at, node))
    }

    fn at(&self, position: usize) -> &Node {
        let place = position + UNUSED;
        &self.families[place / ARITY].0[place % ARITY]
    }

    fn at_mut(&mut self, position: usize) -> &mut Node {
        let place = position + UNUSED;
        &mut self.families[place / ARITY].0[place % ARITY]
    }
}

/// The number of families for this many nodes.
const fn families_of(nodes: usize) -> usize {
    if nodes == 0 { 0 } else { (nodes + UNUSED).div_ceil(ARITY) }
}
