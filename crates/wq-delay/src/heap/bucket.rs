//! Bucket: the nodes of one span of time, unsorted. Blocks: the memory that all buckets share.

use super::nodes::Node;
use super::slots::{NONE, index};
use crate::tick::Tick;

/// Nodes in a block of memory.
const BLOCK: usize = if cfg!(test) { 4 } else { 64 };
/// The newest nodes are in the bucket itself. The ends of all buckets then lie near each other, and
/// one visit of a block stores this many nodes.
const TAIL: usize = if cfg!(test) { 2 } else { 8 };

/// A node without its deadline, which is in its slot: 8 bytes.
#[derive(Debug, Clone, Copy)]
struct Entry {
    slot: u32,
    sequence: u32,
}

impl Entry {
    const NONE: Self = Self { slot: NONE, sequence: NONE };
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    /// At most the rank of each of its nodes, and above the rank of each node in earlier buckets.
    pub(super) from: u128,
    /// Its newest block. Older blocks are full, and linked behind it.
    block: u32,
    pub(super) len: u32,
    /// The number of nodes that are not stale.
    pub(super) live: u32,
    /// The newest nodes, as many as are not in blocks.
    tail: [Entry; TAIL],
}

impl Bucket {
    pub(super) const fn new(from: u128) -> Self {
        Self { from, tail: [Entry::NONE; TAIL], block: NONE, len: 0, live: 0 }
    }

    #[cfg(test)]
    pub(super) fn begin(&self) -> Tick {
        Tick(u64::try_from(self.from >> 64).expect("the upper half"))
    }
}

#[derive(Debug)]
pub(super) struct Blocks {
    blocks: Vec<[Entry; BLOCK]>,
    /// For each block, the next older block of its bucket, or the next free block.
    links: Vec<u32>,
    free: u32,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { blocks: Vec::new(), links: Vec::new(), free: NONE }
    }
}

impl Blocks {
    /// The most blocks that this many nodes need in this many buckets. In each bucket one block is
    /// partly empty.
    pub(super) const fn most(nodes: usize, buckets: usize) -> usize {
        nodes / BLOCK + buckets
    }

    /// Makes room for this many blocks. `None` if memory is short.
    pub(super) fn try_make_room(&mut self, blocks: usize) -> Option<()> {
        let more = blocks.saturating_sub(self.blocks.len());
        self.blocks.try_reserve_exact(more).ok()?;
        self.links.try_reserve_exact(more).ok()
    }

    /// Appends a node to a bucket.
    #[inline]
    pub(super) fn append(&mut self, bucket: &mut Bucket, slot: u32, sequence: u32) {
        let at = bucket.len as usize % TAIL;
        bucket.tail[at] = Entry { slot, sequence };
        bucket.len += 1;
        if at == TAIL - 1 {
            self.store_tail(bucket);
        }
    }

    /// Moves a full tail to a block.
    fn store_tail(&mut self, bucket: &mut Bucket) {
        let at = (bucket.len as usize - TAIL) % BLOCK;
        if at == 0 {
            let block = self.free;
            if let Some(link) = self.links.get_mut(block as usize) {
                self.free = std::mem::replace(link, bucket.block);
                bucket.block = block;
            } else {
                let block = index(self.blocks.len());
                self.blocks.push([Entry::NONE; BLOCK]);
                self.links.push(bucket.block);
                bucket.block = block;
            }
        }
        self.blocks[bucket.block as usize][at..at + TAIL].copy_from_slice(&bucket.tail);
    }

    /// Adds the live nodes of a bucket to `nodes`. Returns its oldest block.
    #[inline]
    pub(super) fn collect(
        &self,
        bucket: &Bucket,
        nodes: &mut Vec<Node>,
        deadline: impl Fn(u32, u32) -> Option<Tick>,
    ) -> Option<u32> {
        let live = |&Entry { slot, sequence }: &Entry| {
            Some(Node { deadline: deadline(slot, sequence)?, slot, sequence })
        };
        let (mut block, mut oldest, mut left) = (bucket.block, None, bucket.len as usize);
        let tail = left % TAIL;
        nodes.extend(bucket.tail[..tail].iter().filter_map(live));
        left -= tail;
        while left > 0 {
            let used = (left - 1) % BLOCK + 1;
            nodes.extend(self.blocks[block as usize][..used].iter().filter_map(live));
            (oldest, block) = (Some(block), self.links[block as usize]);
            left -= used;
        }
        oldest
    }

    /// Frees the blocks of a bucket, the last of which is `oldest`.
    #[inline]
    pub(super) fn release(&mut self, bucket: &Bucket, oldest: Option<u32>) {
        if let Some(oldest) = oldest {
            self.links[oldest as usize] = self.free;
            self.free = bucket.block;
        }
    }

    /// Removes all blocks and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.links.clear();
        self.free = NONE;
    }

    /// The number of nodes that there is memory for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.blocks.capacity() * BLOCK
    }

    /// The number of blocks in use.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        let next = |&block: &u32| self.links.get(block as usize).copied();
        let free = std::iter::successors(Some(self.free), next);
        self.blocks.len() - free.filter(|&block| block != NONE).count()
    }

    /// The number of blocks of this bucket.
    #[cfg(test)]
    pub(super) fn count(&self, bucket: &Bucket) -> usize {
        (bucket.len as usize / TAIL * TAIL).div_ceil(BLOCK)
    }
}
