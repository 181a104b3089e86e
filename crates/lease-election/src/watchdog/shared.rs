//! What the watchdog's thread and those whom it watches share: the state, and the timer, which
//! always stands where the state says, because both change under one lock.

use std::sync::PoisonError;

use super::state::{Due, State};
use super::timer::Timer;
use crate::clock::Moment;
use crate::platform::{Mutex, MutexGuard};
use crate::version::FenceToken;

/// See the top of this file.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    timer: Box<dyn Timer>,
}

impl Shared {
    pub(crate) fn new(timer: Box<dyn Timer>) -> Self {
        Self { state: Mutex::new(State::default()), timer }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the work of this term goes on.
    pub(crate) fn is_working(&self, fence: &FenceToken) -> bool {
        self.state().is_working(fence)
    }

    /// Blocks the thread until the timer goes off, or earlier.
    pub(crate) fn wait(&self) {
        self.timer.wait();
    }

    /// What the thread does now.
    pub(crate) fn due(&self, now: Moment) -> Due {
        let mut state = self.state();
        let due = state.due(now);
        if let Due::Wait(wake) = due {
            self.timer.set(wake);
        }
        due
    }

    /// Returns what `change` does, so that it is dropped without the lock.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let before = state.wake();
        let changed = change(&mut state);
        let wake = state.wake();
        if wake != before {
            self.timer.set(wake);
        }
        changed
    }
}
