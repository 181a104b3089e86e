//! Shared: the state and the timer that a watchdog's thread and its elector share.

use std::sync::PoisonError;

use super::state::{Due, State};
use super::timer::Timer;
use crate::clock::Moment;
use crate::platform::{Mutex, MutexGuard};
use crate::version::FenceToken;

/// One lock keeps the timer at the state's wake-up.
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

    /// The thread's next action.
    pub(crate) fn due(&self, now: Moment) -> Due {
        let mut state = self.state();
        let due = state.due(now);
        if let Due::Wait(wake) = due {
            self.timer.set(wake);
        }
        due
    }

    /// Returns the result of `change`, so that it is dropped without the lock.
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
