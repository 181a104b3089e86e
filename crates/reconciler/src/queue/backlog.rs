//! `Noted`: a backlog that also carries the reasons of each queued key. The order of keys is the
//! inner backlog's.

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use wq_ratelimit::{Backlog, SlotId};

use crate::queue::reasons::Reasons;

/// The data of a queued key: its order in the inner backlog, and its reasons.
#[derive(Debug, Clone, Default)]
pub(crate) struct Note<O> {
    pub(crate) order: O,
    pub(crate) reasons: Reasons,
}

/// A backlog, with the reasons of each slot.
#[derive(Debug)]
pub(crate) struct Noted<B> {
    inner: B,
    reasons: Vec<Reasons>,
}

impl<B> Noted<B> {
    pub(crate) fn new(inner: B) -> Self {
        Self { inner, reasons: Vec::new() }
    }

    fn reasons(&mut self, id: SlotId) -> &mut Reasons {
        let index = id.index() as usize;
        if self.reasons.len() <= index {
            self.reasons.resize(index + 1, Reasons::default());
        }
        // Resized above.
        &mut self.reasons[index]
    }
}

impl<B: Backlog> Backlog for Noted<B> {
    type Order = Note<B::Order>;

    fn merge(held: &mut Self::Order, new: Self::Order) {
        B::merge(&mut held.order, new.order);
        held.reasons.merge(new.reasons);
    }

    fn push(&mut self, id: SlotId, note: Self::Order) {
        *self.reasons(id) = note.reasons;
        self.inner.push(id, note.order);
    }

    fn touch(&mut self, id: SlotId, note: &Self::Order) {
        self.reasons(id).merge(note.reasons);
        self.inner.touch(id, &note.order);
    }

    fn pop(&mut self) -> Option<(SlotId, Self::Order)> {
        let (id, order) = self.inner.pop()?;
        Some((id, Note { order, reasons: std::mem::take(self.reasons(id)) }))
    }

    fn remove(&mut self, id: SlotId) -> Option<Self::Order> {
        let order = self.inner.remove(id)?;
        Some(Note { order, reasons: std::mem::take(self.reasons(id)) })
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn shrink(&mut self) {
        self.inner.shrink();
        if self.inner.is_empty() {
            self.reasons = Vec::new();
        }
    }
}
