//! Fragile: an item and an order whose own code panics at whichever of its calls a test wants.

use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::panic::resume_unwind;

use wq_core::{Backlog, SlotId};

thread_local! {
    static LIT: Cell<Option<Fuse>> = const { Cell::new(None) };
}

/// How many calls go well on this thread: the one after that panics, and the fuse is out.
#[derive(Debug, Clone, Copy)]
pub struct Fuse {
    calls: u32,
    drops: bool,
}

impl Fuse {
    /// So many calls of `Hash`, `Eq` and `Clone` of items, and of `Clone` and `merge` of orders.
    #[must_use]
    pub const fn after(calls: u32) -> Self {
        Self { calls, drops: false }
    }

    /// Of `Drop` of items, too, but for those that a panic drops.
    #[must_use]
    pub const fn with_drops(self) -> Self {
        Self { drops: true, ..self }
    }

    /// From now on calls are counted.
    pub fn light(self) {
        LIT.set(Some(self));
    }

    /// From now on all goes well. `None` if it did not until now, or no fuse was lit.
    pub fn put_out() -> Option<Self> {
        LIT.take()
    }
}

fn burn(is_drop: bool) {
    let Some(lit) = LIT.get() else { return };
    if is_drop && !lit.drops {
        return;
    }
    match lit.calls.checked_sub(1) {
        Some(calls) => LIT.set(Some(Fuse { calls, ..lit })),
        None => {
            LIT.set(None);
            resume_unwind(Box::new(())); // Nothing is printed for it.
        }
    }
}

/// An item that panics when the [`Fuse`] is burnt down.
#[derive(Debug)]
pub struct Fragile(
    /// Its name.
    pub u32,
);

impl Hash for Fragile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn(false);
        self.0.hash(state);
    }
}

impl PartialEq for Fragile {
    fn eq(&self, other: &Self) -> bool {
        burn(false);
        self.0 == other.0
    }
}

impl Eq for Fragile {}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        burn(false);
        Self(self.0)
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            burn(true);
        }
    }
}

/// An order that panics when the [`Fuse`] is burnt down.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Votes(
    /// How many.
    pub u32,
);

impl Clone for Votes {
    fn clone(&self) -> Self {
        burn(false);
        Self(self.0)
    }
}

/// First in, first out, with [`Votes`].
#[derive(Debug, Default)]
pub struct Line(VecDeque<SlotId>);

impl Backlog for Line {
    type Order = Votes;

    fn merge(held: &mut Votes, new: Votes) {
        burn(false);
        held.0 += new.0;
    }

    fn push(&mut self, slot: SlotId, _: Votes) {
        self.0.push_back(slot);
    }

    fn touch(&mut self, _: SlotId, _: &Votes) {}

    fn pop(&mut self) -> Option<(SlotId, Votes)> {
        self.0.pop_front().map(|slot| (slot, Votes::default()))
    }

    fn remove(&mut self, slot: SlotId) -> Option<Votes> {
        let at = self.0.iter().position(|other| *other == slot)?;
        self.0.remove(at).map(|_| Votes::default())
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
