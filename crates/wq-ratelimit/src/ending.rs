//! `Held` and `Ending`: what a guard of this queue and the queue need of each other at a hand-out and at the end of an attempt.

use crate::outcome::Outcome;
use std::any::Any;
use wq_delay::{Backlog, Scheduled};

/// What the end of an attempt needs of the guard below, whichever it is.
pub(crate) trait Held<T, B: Backlog> {
    fn item(&self) -> &T;
    fn order(&self) -> &B::Order;
    fn revoke(&self) -> Option<B::Order>;
    fn is_in_force(&self) -> bool;
    fn put_back(self)
    where
        Self: Sized;
}

/// What a panic carries.
pub(crate) type Panic = Box<dyn Any + Send>;

/// What a guard needs of its queue, without the types of the limiter and the hasher.
pub(crate) trait Ending<T, B: Backlog> {
    fn end(&self, held: &dyn Held<T, B>, outcome: Outcome) -> Option<Scheduled>;
    fn num_requeues(&self, item: &T) -> u32;
    fn move_due(&self);
    /// The item was handed out, and this is its guard. If code of the item panics: what with.
    fn begun(&self, held: &dyn Held<T, B>) -> Option<Panic>;
}
