//! Buckets: the nodes that are due later, in buckets sorted by time.
//!
//! A node is appended to its bucket. A full bucket is cut into several, so each node is moved a few
//! times in all. A node becomes stale when its item is removed or gets another deadline. Each
//! bucket counts its live nodes and is cleaned before more than a third are stale.

#[cfg(test)]
use std::cell::Cell;

use super::bucket::{Blocks, Bucket};
use super::bucket_index::BucketIndex;
use super::nodes::Node;
use super::slots::index;
use crate::tick::Tick;

/// Nodes in a full bucket.
pub(super) const FULL: usize = if cfg!(test) { 16 } else { 1024 };
/// A full bucket is cut into at most this many: with fewer, nodes are moved more often.
const PARTS: usize = 4;
/// Nodes in each part, roughly.
const PART: usize = FULL / PARTS;
/// Two neighbours with fewer nodes are merged. Two parts of one cut never are.
const SMALL: usize = PART / 2 * 3;
/// A bucket may hold this many stale nodes beyond a third.
const SLACK: u32 = if cfg!(test) { 1 } else { 16 };

#[cfg(test)]
thread_local! {
    /// How many buckets were cut on this thread, and how many were merged.
    pub(super) static CUTS: Cell<usize> = const { Cell::new(0) };
    pub(super) static MERGES: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug, Default)]
pub(super) struct Buckets {
    index: BucketIndex<Bucket>,
    blocks: Blocks,
    live: usize,
    /// Scratch space for sorting.
    bench: Vec<Node>,
}

impl Buckets {
    /// Makes room. `None` if memory is short.
    pub(super) fn try_make_room(&mut self, Room { buckets, blocks }: Room) -> Option<()> {
        self.index.try_make_room(buckets)?;
        self.blocks.try_make_room(blocks)?;
        self.bench.try_reserve_exact(FULL.saturating_sub(self.bench.len())).ok()
    }

    /// The number of nodes that are not stale.
    pub(super) const fn live(&self) -> usize {
        self.live
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.index.buckets().iter().map(|bucket| bucket.len as usize).sum()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.blocks.capacity()
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.index.buckets().len()
    }

    /// Asserts what holds after every operation.
    #[cfg(test)]
    pub(super) fn check(&self, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let buckets = self.index.buckets();
        assert!(buckets.is_sorted_by_key(|bucket| bucket.from), "buckets are not in order");
        assert!(buckets.iter().map(Bucket::begin).eq(self.index.begins().iter().copied()));
        self.index.check();
        for (at, bucket) in buckets.iter().enumerate() {
            let mut nodes = Vec::new();
            self.blocks.collect(bucket, &mut nodes, &deadline);
            assert_eq!(nodes.len(), bucket.live as usize, "a bucket has lost count");
            assert!(
                bucket.live > 0 && bucket.len <= bucket.live + bucket.live / 2 + SLACK,
                "too many nodes are stale"
            );
            assert!(
                nodes.iter().all(|node| self.find(node) == Some(at)),
                "a node is in the wrong bucket"
            );
        }
        assert_eq!(self.live, buckets.iter().map(|bucket| bucket.live as usize).sum());
        let are_small = |two: &[Bucket]| ((two[0].len + two[1].len) as usize) < SMALL;
        assert!(!buckets.windows(2).any(are_small), "two neighbours are small");
        let (room, used) = (Room::most(self.live), self.blocks.used());
        assert!(
            buckets.len() <= room.buckets && used <= room.blocks,
            "{} buckets with {used} blocks for {} nodes",
            buckets.len(),
            self.live
        );
        let counted: usize = buckets.iter().map(|bucket| self.blocks.count(bucket)).sum();
        assert_eq!(counted, used, "a block is lost");
    }

    /// The position of the bucket for this node. `None` if the node is before all buckets.
    #[inline]
    pub(super) fn find(&self, node: &Node) -> Option<usize> {
        let at = self.index.until(node.deadline).checked_sub(1)?;
        if self.index.buckets()[at].from <= node.rank() {
            return Some(at);
        }
        self.find_amid_ties(at, node)
    }

    /// As `find`, if several buckets begin with this deadline. The last of them is at `last`.
    #[inline(never)]
    fn find_amid_ties(&self, last: usize, node: &Node) -> Option<usize> {
        self.index.buckets()[..last]
            .partition_point(|bucket| bucket.from <= node.rank())
            .checked_sub(1)
    }

    #[inline]
    pub(super) fn push(
        &mut self,
        at: usize,
        node: Node,
        deadline: impl Fn(u32, u32) -> Option<Tick>,
    ) {
        let bucket = &mut self.index.buckets_mut()[at];
        self.blocks.append(bucket, node.slot, node.sequence);
        bucket.live += 1;
        self.live += 1;
        if bucket.len as usize >= FULL {
            self.clean(at, deadline);
        }
    }

    /// Counts one more stale node in this bucket.
    #[inline]
    pub(super) fn forget(&mut self, at: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let bucket = &mut self.index.buckets_mut()[at];
        bucket.live -= 1;
        self.live -= 1;
        if bucket.len > bucket.live + bucket.live / 2 + SLACK || bucket.live == 0 {
            self.clean(at, deadline);
        }
    }

    /// Moves the nodes of the first bucket to `run`, the last first. `false` if there is no bucket.
    pub(super) fn take_first(
        &mut self,
        run: &mut Vec<Node>,
        deadline: impl Fn(u32, u32) -> Option<Tick>,
    ) -> bool {
        if self.index.buckets().is_empty() {
            return false;
        }
        let bucket = self.index.remove(0);
        self.gather(&bucket, deadline);
        self.live -= self.bench.len();
        self.bench.sort_unstable_by_key(Node::rank);
        run.extend(self.bench.iter().rev());
        true
    }

    /// Removes all nodes and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.blocks.clear();
        self.live = 0;
    }

    /// Inserts sorted nodes before all others.
    pub(super) fn put_first(
        &mut self,
        nodes: &[Node],
        deadline: impl Fn(u32, u32) -> Option<Tick>,
    ) {
        if nodes.is_empty() {
            return;
        }
        let parts = nodes.len().div_ceil(FULL / 2);
        for part in nodes.chunks(nodes.len().div_ceil(parts)).rev() {
            self.index.put_first(part[0].deadline, Bucket::new(part[0].rank()));
            self.fill(0, part);
        }
        self.live += nodes.len();
        self.merge(parts - 1, &deadline);
        self.merge(0, &deadline);
    }

    /// The live nodes, unsorted.
    pub(super) fn nodes(&self, deadline: impl Fn(u32, u32) -> Option<Tick>) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(self.live);
        for bucket in self.index.buckets() {
            self.blocks.collect(bucket, &mut nodes, &deadline);
        }
        nodes
    }

    /// Removes the stale nodes of a bucket, and cuts the bucket if it is still too large.
    #[cold]
    #[inline(never)]
    pub(super) fn clean(&mut self, at: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        let bucket = self.index.buckets()[at];
        self.gather(&bucket, &deadline);
        let mut nodes = std::mem::take(&mut self.bench);
        debug_assert_eq!(nodes.len(), bucket.live as usize, "a bucket has lost count");
        if nodes.is_empty() {
            self.index.remove(at);
            self.bench = nodes;
            return self.merge(at, deadline);
        }
        let parts = if nodes.len() >= FULL / 4 * 3 { nodes.len() / PART } else { 1 };
        let size = nodes.len().div_ceil(parts);
        cut(&mut nodes, size);
        let parts = nodes.len().div_ceil(size);
        let mut new = [(Tick::NEVER, Bucket::new(0)); PARTS];
        for (nodes, new) in nodes.chunks(size).skip(1).zip(&mut new) {
            let first = nodes.iter().min_by_key(|node| node.rank());
            first.inspect(|first| *new = (first.deadline, Bucket::new(first.rank())));
        }
        self.index.buckets_mut()[at] = Bucket::new(bucket.from);
        self.index.insert(at + 1, &new[..parts - 1]);
        for (part, nodes) in nodes.chunks(size).enumerate() {
            self.fill(at + part, nodes);
        }
        self.bench = nodes;
        #[cfg(test)]
        CUTS.set(CUTS.get() + usize::from(parts > 1));
        self.merge(at + parts - 1, &deadline);
        self.merge(at, &deadline);
    }

    /// Merges small neighbours: each bucket keeps a block, however few nodes it holds.
    fn merge(&mut self, mut at: usize, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        loop {
            let len = |at: usize| self.index.buckets().get(at).map(|bucket| bucket.len as usize);
            let is_small = |before, after| Some(len(before)? + len(after)? < SMALL);
            if is_small(at, at + 1) != Some(true) {
                if at == 0 || is_small(at - 1, at) != Some(true) {
                    return;
                }
                at -= 1;
            }
            #[cfg(test)]
            MERGES.set(MERGES.get() + 1);
            let after = self.index.remove(at + 1);
            self.gather(&after, &deadline);
            let nodes = std::mem::take(&mut self.bench);
            self.fill(at, &nodes);
            self.bench = nodes;
        }
    }

    /// Moves the live nodes of a bucket to the bench, and frees its blocks.
    #[inline]
    fn gather(&mut self, bucket: &Bucket, deadline: impl Fn(u32, u32) -> Option<Tick>) {
        self.bench.clear();
        let oldest = self.blocks.collect(bucket, &mut self.bench, deadline);
        self.blocks.release(bucket, oldest);
    }

    fn fill(&mut self, at: usize, nodes: &[Node]) {
        let bucket = &mut self.index.buckets_mut()[at];
        bucket.live += index(nodes.len());
        nodes.iter().for_each(|node| self.blocks.append(bucket, node.slot, node.sequence));
    }
}

/// Partially sorts nodes, so that each chunk of this size is before the next.
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

/// Room for buckets and their blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    buckets: usize,
    blocks: usize,
}

impl Room {
    /// Enough for this many items, as a rule.
    pub(super) const fn usual(items: usize) -> Self {
        let buckets = items / PART + PARTS;
        Self { buckets, blocks: Blocks::most(items / 2 * 3, buckets) }
    }

    /// Enough for this many items in any case. Two neighbours have at least `SMALL` nodes. In each
    /// bucket a third may be stale, and `SLACK` more.
    pub(super) const fn most(items: usize) -> Self {
        let buckets = (items.saturating_mul(3) + SMALL) / (SMALL - 2 * SLACK as usize) + 1;
        Self { buckets, blocks: Blocks::most(items / 2 * 3 + buckets * SLACK as usize, buckets) }
    }
}
