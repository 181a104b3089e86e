//! Batch: handing out several items at once, all or, when a clone panics, none.

use std::mem;
use std::num::NonZeroUsize;
use std::time::Instant;

use super::slab::{Meta, Slot};
use super::{Got, State, Take};
use crate::backlog::{Backlog, SlotId};
use crate::snapshot::Phase;

impl<T, B: Backlog> State<T, B> {
    /// Hands out up to `max` items into `batch`, which is empty before and, unless the answer is `Got`, after.
    pub(crate) fn get_batch(
        &mut self,
        max: NonZeroUsize,
        batch: &mut Vec<Got<T, B::Order>>,
        now: Option<Instant>,
    ) -> Take<()>
    where
        T: Clone,
    {
        let mut taken = Taken { state: self, batch, committed: false };
        while taken.batch.len() < max.get() {
            match taken.state.get(now) {
                Take::Got(got) => taken.batch.push(got),
                Take::Nothing | Take::Ended => break,
            }
        }
        taken.committed = true;
        if !taken.batch.is_empty() {
            Take::Got(())
        } else if taken.state.shutting_down {
            Take::Ended
        } else {
            Take::Nothing
        }
    }
}

/// A batch being taken: when a clone panics, those before it are queued again. The clones made stay in `batch`, to be
/// dropped outside the lock.
struct Taken<'a, T, B: Backlog> {
    state: &'a mut State<T, B>,
    batch: &'a mut Vec<Got<T, B::Order>>,
    committed: bool,
}

impl<T, B: Backlog> Drop for Taken<'_, T, B> {
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        for got in self.batch.iter_mut() {
            let index = got.ticket.slot();
            if let Some(Slot::Held { meta, .. }) = self.state.slab.get_mut(index) {
                self.state.backlog.push(SlotId::from_index(index), mem::take(&mut got.order));
                *meta = Meta::new(Phase::Queued, 0);
                self.state.stamps.given_back(index);
                self.state.queued += 1;
            }
        }
    }
}
