//! BucketIndex: the buckets sorted by time, and the deadline that each begins with, for the search.

use crate::tick::Tick;

#[cfg(test)]
mod tests;

/// The earliest bucket comes first. Most changes at either end move no other bucket.
#[derive(Debug)]
pub(super) struct BucketIndex<B> {
    begins: Vec<Tick>,
    buckets: Vec<B>,
    /// The number of unused places at the front of both arrays.
    gap: usize,
}

impl<B> Default for BucketIndex<B> {
    fn default() -> Self {
        Self { begins: Vec::new(), buckets: Vec::new(), gap: 0 }
    }
}

impl<B: Copy> BucketIndex<B> {
    /// Makes room for this many buckets. `None` if memory is short.
    pub(super) fn try_make_room(&mut self, buckets: usize) -> Option<()> {
        let more = buckets.saturating_sub(self.begins.len());
        self.begins.try_reserve_exact(more).ok()?;
        self.buckets.try_reserve_exact(more).ok()
    }

    /// The number of buckets that begin at this deadline or before.
    #[inline]
    pub(super) fn until(&self, deadline: Tick) -> usize {
        let begins = self.begins();
        if begins.last().is_none_or(|last| *last <= deadline) {
            return begins.len(); // Rising and equal deadlines end here.
        }
        begins.partition_point(|begin| *begin <= deadline)
    }

    /// Asserts what holds after every operation.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let begins = self.begins();
        assert!(begins.is_sorted() && begins.len() == self.buckets().len());
        let near = |Tick(begin): &Tick| [begin.saturating_sub(1), *begin, begin.saturating_add(1)];
        for deadline in begins.iter().flat_map(near).chain([0, u64::MAX]).map(Tick) {
            let expected = begins.iter().filter(|begin| **begin <= deadline).count();
            assert_eq!(self.until(deadline), expected);
        }
    }

    #[inline]
    pub(super) fn begins(&self) -> &[Tick] {
        &self.begins[self.gap..]
    }

    #[inline]
    pub(super) fn buckets(&self) -> &[B] {
        &self.buckets[self.gap..]
    }

    #[inline]
    pub(super) fn buckets_mut(&mut self) -> &mut [B] {
        &mut self.buckets[self.gap..]
    }

    /// Inserts a bucket before all others.
    pub(super) fn put_first(&mut self, begin: Tick, bucket: B) {
        if self.gap == 0 {
            // One move of all buckets makes room for many earlier ones.
            let spare = self.begins.capacity().min(self.buckets.capacity()) - self.begins.len();
            self.gap = (self.begins.len() / 8).min(spare).max(1);
            self.begins.splice(..0, std::iter::repeat_n(begin, self.gap));
            self.buckets.splice(..0, std::iter::repeat_n(bucket, self.gap));
        }
        self.gap -= 1;
        (self.begins[self.gap], self.buckets[self.gap]) = (begin, bucket);
    }

    /// Inserts buckets at this position.
    pub(super) fn insert(&mut self, at: usize, buckets: &[(Tick, B)]) {
        if self.begins.len() + buckets.len() > self.begins.capacity().min(self.buckets.capacity()) {
            self.close_gap();
        }
        let at = self.gap + at;
        self.begins.splice(at..at, buckets.iter().map(|(begin, _)| *begin));
        self.buckets.splice(at..at, buckets.iter().map(|(_, bucket)| *bucket));
    }

    /// Removes the bucket at this position.
    pub(super) fn remove(&mut self, at: usize) -> B {
        if at > 0 {
            self.begins.remove(self.gap + at);
            return self.buckets.remove(self.gap + at);
        }
        let first = self.buckets[self.gap];
        self.gap += 1;
        if self.gap > self.begins.len() / 2 {
            self.close_gap();
        }
        first
    }

    /// Removes all buckets and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.begins.clear();
        self.buckets.clear();
        self.gap = 0;
    }

    fn close_gap(&mut self) {
        self.begins.drain(..self.gap);
        self.buckets.drain(..self.gap);
        self.gap = 0;
    }
}
