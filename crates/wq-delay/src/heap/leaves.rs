//! `Leaves`: the nodes of what is due later, in leaves that are in order among themselves and in none within.
//!
//! A node is put at the end of its leaf, and a leaf that is full is cut into several: each node is moved a few times
//! altogether, in a row with those beside it. A node may be stale: that of an item that went or has another deadline now. Each
//! leaf knows how many are not, and is cleaned before more than a third are.

#[cfg(test)]
use std::cell::Cell;

use super::nodes::Node;
use super::order::Order;
use super::slots::{NONE, index};
use crate::tick::Tick;

/// So many nodes fill a leaf.
pub(super) const FULL: usize = if cfg!(test) { 16 } else { 1024 };
/// Into so many leaves a full one is cut at most: the fewer, the more often nodes are moved.
const PARTS: usize = 4;
/// A part has so many nodes at least, or a few less.
const PART: usize = FULL / PARTS;
/// Two neighbours of fewer nodes become one: fewer than any two parts of a leaf that was cut.
const SMALL: usize = PART / 2 * 3;
/// Nodes in a block of memory.
const BLOCK: usize = if cfg!(test) { 4 } else { 64 };
/// So many nodes stand at the end of a leaf itself before they are moved to a block: the ends of all leaves are near to each
/// other.
const TAIL: usize = if cfg!(test) { 2 } else { 8 };
/// So many stale nodes more than the third are left in a leaf.
const SLACK: u32 = if cfg!(test) { 1 } else { 16 };

/// A node without its deadline, which stands in its slot: 8 bytes.
#[derive(Debug, Clone, Copy)]
struct Entry {
    slot: u32,
    sequence: u32,
}

impl Entry {
    const NONE: Self = Self { slot: NONE, sequence: NONE };
}

#[derive(Debug, Clone, Copy)]
struct Leaf {
    /// The rank of no node in it is lower, and of none in those before it as high.
    from: u128,
    /// The last of its blocks, which alone may have room.
    block: u32,
    len: u32,
    /// How many of them are not stale.
    live: u32,
    /// Those that came last: as many as are not in blocks.
    tail: [Entry; TAIL],
}

impl Leaf {
    #[cfg(test)]
    fn begin(&self) -> Tick {
        Tick(u64::try_from(self.from >> 64).expect("the upper half"))
    }

    const fn new(from: u128) -> Self {
        Self { from, tail: [Entry::NONE; TAIL], block: NONE, len: 0, live: 0 }
    }
}

#[cfg(test)]
thread_local! {
    /// How many leaves were cut on this thread, and how many were merged.
    pub(super) static CUTS: Cell<usize> = const { Cell::new(0) };
    pub(super) static MERGES: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug)]
pub(super) struct Leaves {
    order: Order<Leaf>,
    blocks: Vec<[Entry; BLOCK]>,
    /// Of each block the one before it in its leaf, or the next free one.
    links: Vec<u32>,
    free_block: u32,
    live: usize,
    /// Where nodes are sorted.
    bench: Vec<Node>,
}

impl Default for Leaves {
    fn default() -> Self {
        Self {
            order: Order::default(),
            blocks: Vec::new(),
            links: Vec::new(),
            free_block: NONE,
            live: 0,
            bench: Vec::new(),
        }
    }
}

impl Leaves {
    /// Makes room for so many leaves and blocks, if there is that much memory.
    pub(super) fn try_make_room(&mut self, Room { leaves, blocks }: Room) -> Option<()> {
        let more = |room: usize, len: usize| room.saturating_sub(len);
        self.order.try_make_room(leaves)?;
        self.blocks.try_reserve_exact(more(blocks, self.blocks.len())).ok()?;
        self.links.try_reserve_exact(more(blocks, self.links.len())).ok()?;
        self.bench.try_reserve_exact(more(FULL, self.bench.len())).ok()
    }

    /// How many nodes are not stale.
    pub(super) const fn live(&self) -> usize {
        self.live
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.order.leaves().iter().map(|leaf| leaf.len as usize).sum()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.blocks.capacity() * BLOCK
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.order.leaves().len()
    }

    /// What must hold after every operation.
    #[cfg(test)]
    pub(super) fn check(&self, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let leaves = self.order.leaves();
        assert!(leaves.is_sorted_by_key(|leaf| leaf.from), "leaves are not in order");
        assert!(leaves.iter().map(|leaf| leaf.begin()).eq(self.order.begins().iter().copied()));
        self.order.check();
        let mut used = 0;
        for (at, leaf) in leaves.iter().enumerate() {
            let mut nodes = Vec::new();
            self.visit(leaf, |block, entries| {
                nodes.extend(live(entries, &deadline));
                used += usize::from(block.is_some());
            });
            assert_eq!(nodes.len(), leaf.live as usize, "a leaf has lost count");
            assert!(
                leaf.live > 0 && leaf.len <= leaf.live + leaf.live / 2 + SLACK,
                "too many nodes are stale"
            );
            assert!(nodes.iter().all(|node| self.find(node) == Some(at)), "a node is in the wrong leaf");
        }
        assert_eq!(self.live, leaves.iter().map(|leaf| leaf.live as usize).sum());
        let are_small = |two: &[Leaf]| ((two[0].len + two[1].len) as usize) < SMALL;
        assert!(!leaves.windows(2).any(are_small), "two neighbours are small");
        assert!(
            leaves.len() <= Room::most(self.live).leaves && used <= Room::most(self.live).blocks,
            "{} leaves with {used} blocks for {} nodes",
            leaves.len(),
            self.live
        );
        let free =
            std::iter::successors(Some(self.free_block), |&block| self.links.get(block as usize).copied());
        assert_eq!(used + free.filter(|&block| block != NONE).count(), self.blocks.len(), "a block is lost");
    }

    /// The leaf that this node is in, or belongs into: how many are before it. `None`: the node is before all of them.
    #[inline]
    pub(super) fn find(&self, node: &Node) -> Option<usize> {
        let at = self.order.until(node.deadline).checked_sub(1)?;
        if self.leaf(at).from <= node.rank() {
            return Some(at);
        }
        self.find_amid_ties(at, node)
    }

    /// The same where several leaves begin with its deadline, the last of them being this one.
    #[inline(never)]
    fn find_amid_ties(&self, last: usize, node: &Node) -> Option<usize> {
        let start = self.order.guess(node.deadline).start;
        let ties = &self.order.leaves()[start..last];
        (start + ties.partition_point(|leaf| leaf.from <= node.rank())).checked_sub(1)
    }

    #[inline]
    fn leaf(&self, at: usize) -> &Leaf {
        &self.order.leaves()[at]
    }

    #[inline]
    pub(super) fn push(&mut self, at: usize, node: Node, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        self.append(at, Entry { slot: node.slot, sequence: node.sequence });
        let leaf = &mut self.order.leaves_mut()[at];
        leaf.live += 1;
        let is_full = leaf.len as usize >= FULL;
        self.live += 1;
        if is_full {
            self.clean(at, deadline);
        }
    }

    /// A node of this leaf has become stale.
    #[inline]
    pub(super) fn forget(&mut self, at: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let leaf = &mut self.order.leaves_mut()[at];
        leaf.live -= 1;
        let is_stale = leaf.len > leaf.live + leaf.live / 2 + SLACK || leaf.live == 0;
        self.live -= 1;
        if is_stale {
            self.clean(at, deadline);
        }
    }

    /// Takes the first leaf away, and hands out its nodes, the last first.
    pub(super) fn take_first(
        &mut self,
        run: &mut Vec<Node>,
        deadline: impl Fn(u32, u32) -> Option<Tick>,
    ) -> bool {
        if self.order.leaves().is_empty() {
            return false;
        }
        let leaf = self.order.remove(0);
        self.gather(&leaf, deadline);
        self.live -= self.bench.len();
        self.bench.sort_unstable_by_key(Node::rank);
        run.extend(self.bench.iter().rev());
        true
    }

    /// Takes all nodes out. The memory is kept.
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.blocks.clear();
        self.links.clear();
        self.free_block = NONE;
        self.live = 0;
    }

    /// Puts nodes, sorted, before all others.
    pub(super) fn put_first(&mut self, nodes: &[Node], deadline: impl Fn(u32, u32) -> Option<Tick>) {
        if nodes.is_empty() {
            return;
        }
        let parts = nodes.len().div_ceil(FULL / 2);
        for part in nodes.chunks(nodes.len().div_ceil(parts)).rev() {
            self.order.put_first(part[0].deadline, Leaf::new(part[0].rank()));
            self.fill(0, part);
        }
        self.live += nodes.len();
        self.merge(parts - 1, &deadline);
        self.merge(0, &deadline);
    }

    /// The nodes that are not stale, in no order.
    pub(super) fn nodes(&self, deadline: impl Fn(u32, u32) -> Option<Tick>) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(self.live);
        for leaf in self.order.leaves() {
            self.visit(leaf, |_, entries| nodes.extend(live(entries, &deadline)));
        }
        nodes
    }

    /// Takes the stale nodes out of a leaf, and cuts it if it is too large still.
    #[cold]
    #[inline(never)]
    pub(super) fn clean(&mut self, at: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let leaf = *self.leaf(at);
        self.gather(&leaf, &deadline);
        let mut nodes = std::mem::take(&mut self.bench);
        debug_assert_eq!(nodes.len(), leaf.live as usize, "a leaf has lost count");
        if nodes.is_empty() {
            self.order.remove(at);
            self.bench = nodes;
            return self.merge(at, deadline);
        }
        let parts = if nodes.len() >= FULL / 4 * 3 { nodes.len() / PART } else { 1 };
        let size = nodes.len().div_ceil(parts);
        cut(&mut nodes, size);
        let parts = nodes.len().div_ceil(size);
        let mut new = [(Tick::NEVER, Leaf::new(0)); PARTS];
        for (nodes, new) in nodes.chunks(size).skip(1).zip(&mut new) {
            let first = nodes.iter().min_by_key(|node| node.rank());
            first.inspect(|first| *new = (first.deadline, Leaf::new(first.rank())));
        }
        self.order.leaves_mut()[at] = Leaf::new(leaf.from);
        self.order.insert(at + 1, &new[..parts - 1]);
        for (part, nodes) in nodes.chunks(size).enumerate() {
            self.fill(at + part, nodes);
        }
        self.bench = nodes;
        #[cfg(test)]
        CUTS.set(CUTS.get() + usize::from(parts > 1));
        self.merge(at + parts - 1, &deadline);
        self.merge(at, &deadline);
    }

    /// Neighbours that are small become one: else each would keep a block for a few nodes.
    fn merge(&mut self, mut at: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        loop {
            let len = |at: usize| self.order.leaves().get(at).map(|leaf| leaf.len as usize);
            let is_small = |before, after| Some(len(before)? + len(after)? < SMALL);
            if is_small(at, at + 1) != Some(true) {
                if at == 0 || is_small(at - 1, at) != Some(true) {
                    return;
                }
                at -= 1;
            }
            #[cfg(test)]
            MERGES.set(MERGES.get() + 1);
            let after = self.order.remove(at + 1);
            self.gather(&after, &deadline);
            let nodes = std::mem::take(&mut self.bench);
            self.fill(at, &nodes);
            self.bench = nodes;
        }
    }

    /// Moves the nodes of a leaf that are not stale to the bench, and frees its blocks.
    #[inline]
    fn gather(&mut self, leaf: &Leaf, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let mut nodes = std::mem::take(&mut self.bench);
        nodes.clear();
        let mut oldest = None;
        self.visit(leaf, |block, entries| {
            nodes.extend(live(entries, &deadline));
            oldest = block.or(oldest);
        });
        if let Some(oldest) = oldest {
            self.links[oldest as usize] = self.free_block;
            self.free_block = leaf.block;
        }
        self.bench = nodes;
    }

    /// The nodes of a leaf: the tail, then those of each block, the last first.
    #[inline]
    fn visit<'a>(&'a self, leaf: &'a Leaf, mut visit: impl FnMut(Option<u32>, &'a [Entry])) {
        let (mut block, mut left) = (leaf.block, leaf.len as usize);
        let tail = left % TAIL;
        visit(None, &leaf.tail[..tail]);
        left -= tail;
        while left > 0 {
            let used = (left - 1) % BLOCK + 1;
            visit(Some(block), &self.blocks[block as usize][..used]);
            block = self.links[block as usize];
            left -= used;
        }
    }

    fn fill(&mut self, at: usize, nodes: &[Node]) {
        self.order.leaves_mut()[at].live += index(nodes.len());
        nodes.iter().for_each(|node| self.append(at, Entry { slot: node.slot, sequence: node.sequence }));
    }

    #[inline]
    fn append(&mut self, at: usize, entry: Entry) {
        let leaf = &mut self.order.leaves_mut()[at];
        let len = leaf.len as usize;
        leaf.tail[len % TAIL] = entry;
        leaf.len += 1;
        if len % TAIL == TAIL - 1 {
            self.put_away(at);
        }
    }

    /// Moves a tail that is full to a block.
    fn put_away(&mut self, at: usize) {
        let Self { order, blocks, links, free_block, .. } = self;
        let leaf = &mut order.leaves_mut()[at];
        let place = (leaf.len as usize - TAIL) % BLOCK;
        if place == 0 {
            let block = *free_block;
            if let Some(link) = links.get_mut(block as usize) {
                *free_block = std::mem::replace(link, leaf.block);
                leaf.block = block;
            } else {
                let block = index(blocks.len());
                blocks.push([Entry::NONE; BLOCK]);
                links.push(leaf.block);
                leaf.block = block;
            }
        }
        blocks[leaf.block as usize][place..place + TAIL].copy_from_slice(&leaf.tail);
    }
}

/// Those of these nodes that are not stale.
fn live(entries: &[Entry], deadline: impl Fn(u32, u32) -> Option<Tick>) -> impl Iterator<Item = Node> {
    entries.iter().filter_map(move |&Entry { slot, sequence }| {
        Some(Node { deadline: deadline(slot, sequence)?, slot, sequence })
    })
}

/// Orders nodes so far that each chunk of this size is before the next.
fn cut(nodes: &mut [Node], size: usize) {
    if nodes.len() <= size {
        return;
    }
    let middle = nodes.len().div_ceil(size) / 2 * size;
    nodes.select_nth_unstable_by_key(middle, Node::rank);
    let (before, after) = nodes.split_at_mut(middle);
    cut(before, size);
    cut(after, size);
}

/// How many leaves there are, and blocks of their nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    leaves: usize,
    blocks: usize,
}

impl Room {
    /// As many as so many items have, if they are not taken out again but for a few.
    pub(super) const fn usual(items: usize) -> Self {
        let leaves = items / PART + PARTS;
        Self { leaves, blocks: items / 2 * 3 / BLOCK + leaves }
    }

    /// As many as they have at most: two neighbours have `SMALL` nodes at least, and in each leaf a third may be stale, and
    /// `SLACK`.
    pub(super) const fn most(items: usize) -> Self {
        let leaves = (items.saturating_mul(3) + SMALL) / (SMALL - 2 * SLACK as usize) + 1;
        // In each leaf one is not full.
        Self { leaves, blocks: (items / 2 * 3 + leaves * SLACK as usize) / BLOCK + leaves }
    }
}
