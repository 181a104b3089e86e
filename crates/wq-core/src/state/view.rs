//! View: reads the state without changing it.

use std::borrow::Borrow;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use super::slab::Slot;
use super::{State, Ticket};
use crate::backlog::{Backlog, Survey};
use crate::hasher::ItemHash;
use crate::planted::planted;
use crate::snapshot::{Counts, Gauges, Phase, Seen};

impl<T, B: Backlog> State<T, B> {
    #[inline]
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            queued: self.queued,
            in_flight: self.in_flight(),
            to_run_again: self.run_again as usize,
        }
    }

    #[inline]
    pub(super) fn in_flight(&self) -> usize {
        self.table.len() - self.queued
    }

    /// Whether this hand-out has not ended yet.
    pub(crate) fn is_current(&self, ticket: Ticket) -> bool {
        match self.slab.get(ticket.slot()) {
            Some(Slot::Held { meta, .. }) => {
                meta.generation() == ticket.generation() && meta.phase() != Phase::Queued
            }
            _ => false,
        }
    }

    /// Counts and times for a scrape. Linear in the number of items in flight.
    pub(crate) fn gauges(&self, now: Option<Instant>) -> Gauges {
        let in_hand = |fold: fn(Duration, Duration) -> Duration| {
            now.map(|now| self.timestamps.in_hand(now).fold(Duration::ZERO, fold))
        };
        Gauges {
            counts: self.counts(),
            unfinished: in_hand(Duration::saturating_add),
            longest: in_hand(Duration::max),
        }
    }

    /// Surveys the items that are queued or will run again.
    pub(crate) fn survey(&self, found: &mut B::Found, is_measured: bool)
    where
        B: Survey,
    {
        let of_again = |index| self.slab.order_of_again(index);
        if is_measured {
            self.backlog.survey(self.timestamps.slots_in_hand().filter_map(of_again), found);
        } else {
            // Without timestamps these slots are unknown. The search visits all slots, but only if
            // an item is to run again.
            let slots = (0..u32::MAX).take(self.slab.slots());
            self.backlog.survey(slots.filter_map(of_again).take(self.run_again as usize), found);
        }
    }

    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        (self.queued == 0 || planted("drain-ignores-queued")) && self.in_flight() == 0
    }

    /// Whether a get would return an item.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.queued > 0 && !self.paused
    }

    /// Whether a bounded add would be accepted. Always true without a capacity.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.capacity
            .is_none_or(|capacity| self.queued + (self.run_again as usize) < capacity.get())
    }

    pub(crate) fn capacity(&self) -> Option<NonZeroUsize> {
        self.capacity
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// The phase of an item.
    pub(crate) fn phase<Q>(&self, item: &Q, hash: ItemHash) -> Option<Phase>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.find(item, hash).map(|(_, meta)| meta.phase())
    }

    /// Clones all items into `items`.
    pub(crate) fn see(&self, items: &mut Vec<Seen<T>>, now: Option<Instant>)
    where
        T: Clone,
    {
        items.reserve(self.table.len());
        for (index, item, _, meta) in self.slab.held() {
            let (waiting, processing) = self.timestamps.ages(index, now);
            items.push(Seen { item: item.clone(), phase: meta.phase(), waiting, processing });
        }
    }

    /// Clones the items in flight into `items`.
    pub(crate) fn see_in_flight(&self, items: &mut Vec<T>)
    where
        T: Clone,
    {
        items.reserve(self.in_flight());
        let in_hand = self.slab.held().filter(|(_, _, _, meta)| meta.phase() != Phase::Queued);
        in_hand.for_each(|(_, item, _, _)| items.push(item.clone()));
    }
}
