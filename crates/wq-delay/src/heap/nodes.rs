//! `Nodes`: the array of the heap, and where in it a node's children are. What lies behind a node is not known here.

use crate::planted::planted;
use crate::tick::Tick;

/// Children per node.
pub(super) const ARITY: usize = 8;
/// So many places of the first family are never used: the root is its last member.
const UNUSED: usize = ARITY - 1;

/// One node: 16 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) deadline: Tick,
    pub(super) slot: u32,
    /// Insertion number: equal deadlines come out in the order of adding.
    pub(super) sequence: u32,
}

impl Node {
    /// Behind every node.
    const NONE: Self = Self { deadline: Tick::NEVER, slot: u32::MAX, sequence: u32::MAX };

    pub(super) fn before(&self, other: &Self) -> bool {
        if planted("ties-in-any-order") {
            return self.deadline < other.deadline;
        }
        self.rank() < other.rank()
    }

    /// As one number, which is compared without a jump. No two nodes have one sequence: the slot never decides.
    fn rank(&self) -> u128 {
        u128::from(self.deadline.0) << 64 | u128::from(self.sequence) << 32 | u128::from(self.slot)
    }
}

/// The children of one node: two cache lines, and no part of a third.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Family([Node; ARITY]);

/// Position 0 is the root; the children of position `p` are those from `8 p + 1` on, and stand in family `p + 1`.
#[derive(Debug)]
pub(super) struct Nodes {
    /// Each has a node; places without one, at the end, hold [`Node::NONE`].
    families: Vec<Family>,
    len: usize,
}

impl Nodes {
    pub(super) fn with_capacity(nodes: usize) -> Self {
        Self { families: Vec::with_capacity(families_of(nodes)), len: 0 }
    }

    /// As [`with_capacity`](Self::with_capacity), if there is memory.
    pub(super) fn try_with_capacity(nodes: usize) -> Option<Self> {
        let mut families = Vec::new();
        families.try_reserve_exact(families_of(nodes)).ok()?;
        Some(Self { families, len: 0 })
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn capacity(&self) -> usize {
        (self.families.capacity() * ARITY).saturating_sub(UNUSED)
    }

    pub(super) fn first(&self) -> Option<&Node> {
        self.families.first().map(|family| &family.0[UNUSED])
    }

    /// # Panics
    ///
    /// If there is no node at that position.
    pub(super) fn at(&self, position: usize) -> &Node {
        let place = position + UNUSED;
        &self.families[place / ARITY].0[place % ARITY]
    }

    /// # Panics
    ///
    /// As [`at`](Self::at).
    pub(super) fn at_mut(&mut self, position: usize) -> &mut Node {
        let place = position + UNUSED;
        &mut self.families[place / ARITY].0[place % ARITY]
    }

    /// The position of the parent of any node but the root.
    pub(super) const fn parent(position: usize) -> usize {
        (position - 1) / ARITY
    }

    /// Of the children of a node the one that is before the others, and its position.
    pub(super) fn first_child(&self, position: usize) -> Option<(usize, Node)> {
        let Family(children) = self.families.get(position + 1)?;
        let mut first = (0, children[0]);
        for (at, node) in children.iter().enumerate().skip(1) {
            first = if node.before(&first.1) { (at, *node) } else { first };
        }
        let (at, node) = first;
        Some((position * ARITY + 1 + at, node))
    }

    /// Puts a node at the end.
    pub(super) fn push(&mut self, node: Node) {
        let place = self.len + UNUSED;
        if place / ARITY == self.families.len() {
            self.families.push(Family([Node::NONE; ARITY]));
        }
        self.len += 1;
        *self.at_mut(self.len - 1) = node;
    }

    /// Takes the last node away.
    pub(super) fn pop(&mut self) -> Option<Node> {
        self.len = self.len.checked_sub(1)?;
        let last = std::mem::replace(self.at_mut(self.len), Node::NONE);
        self.families.truncate(families_of(self.len));
        Some(last)
    }

    /// All nodes, first the one that is before all others. That is a heap, too.
    pub(super) fn sorted(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = (0..self.len).map(|position| *self.at(position)).collect();
        nodes.sort_unstable_by_key(Node::rank);
        nodes
    }

    pub(super) fn shrink_to(&mut self, nodes: usize) {
        self.families.shrink_to(families_of(nodes));
    }
}

/// In how many families so many nodes stand.
const fn families_of(nodes: usize) -> usize {
    if nodes == 0 { 0 } else { (nodes + UNUSED).div_ceil(ARITY) }
}
