//! State: the one term that a watchdog watches, as plain data without clock or thread.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::version::FenceToken;

/// The watched term.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Watched {
    /// Shared, because the thread gets it under the lock: a blocked allocator would hold up an
    /// abort.
    fence: Arc<FenceToken>,
    /// The work must have ended by then.
    deadline: Moment,
    is_working: bool,
    has_fired: bool,
}

/// The thread's next action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// Wait until this moment, or for a change if there is no moment.
    Wait(Option<Moment>),
    /// The work of this term is late by this much.
    Fire { fence: Arc<FenceToken>, late: Duration },
    /// The elector and the work of its terms are gone.
    End,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    watched: Option<Watched>,
    has_ended: bool,
}

impl State {
    /// A term begins; its work has not. Returns the former term, to be dropped without a lock.
    pub(crate) fn begin(&mut self, fence: Arc<FenceToken>, deadline: Moment) -> Option<Watched> {
        self.watched.replace(Watched { fence, deadline, is_working: false, has_fired: false })
    }

    /// The term was renewed. Never moves the deadline in, and is too late once the watchdog has
    /// acted.
    pub(crate) fn extend(&mut self, deadline: Moment) {
        if let Some(watched) = &mut self.watched {
            watched.deadline = watched.deadline.max(deadline);
        }
    }

    /// The term has ended before its time.
    pub(crate) fn shorten(&mut self, deadline: Moment) {
        if let Some(watched) = &mut self.watched {
            watched.deadline = watched.deadline.min(deadline);
        }
    }

    pub(crate) fn work_begins(&mut self) {
        if let Some(watched) = &mut self.watched {
            watched.is_working = true;
        }
    }

    /// The work of the term has ended. Returns the term, which is no longer watched.
    pub(crate) fn work_ended(&mut self) -> Option<Watched> {
        self.watched.take()
    }

    /// Whether the work of this term goes on.
    pub(crate) fn is_working(&self, fence: &FenceToken) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.is_working && *watched.fence == *fence)
    }

    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// When the thread must look again.
    pub(crate) fn wake(&self) -> Option<Moment> {
        if self.has_ended {
            return Some(Moment::from_origin(Duration::ZERO));
        }
        self.watched
            .as_ref()
            .filter(|watched| watched.is_working && !watched.has_fired)
            .map(|watched| watched.deadline)
    }

    /// The thread's action now. Fires once for a term.
    pub(crate) fn due(&mut self, now: Moment) -> Due {
        if self.has_ended {
            return Due::End;
        }
        match &mut self.watched {
            Some(watched)
                if watched.is_working && !watched.has_fired && now >= watched.deadline =>
            {
                watched.has_fired = true;
                Due::Fire { fence: Arc::clone(&watched.fence), late: now.since(watched.deadline) }
            }
            _ => Due::Wait(self.wake()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(seconds))
    }

    fn fence(revision: &str) -> Arc<FenceToken> {
        Arc::new(FenceToken { uid: "u".into(), resource_version: revision.into(), transitions: 0 })
    }

    fn working_until(seconds: u64) -> State {
        let mut state = State::default();
        state.begin(fence("1"), at(seconds));
        state.work_begins();
        state
    }

    #[test]
    fn it_fires_at_the_deadline_and_not_before_and_once() {
        let mut state = working_until(10);
        assert_eq!(state.due(at(10).before(Duration::from_nanos(1))), Due::Wait(Some(at(10))));
        assert_eq!(state.due(at(10)), Due::Fire { fence: fence("1"), late: Duration::ZERO });
        assert_eq!(state.due(at(11)), Due::Wait(None));
        assert!(state.is_working(&fence("1")));
    }

    #[test]
    fn it_allocates_nothing_to_say_whose_work_is_late() {
        let term = fence("1");
        let mut state = State::default();
        state.begin(Arc::clone(&term), at(10));
        state.work_begins();
        let Due::Fire { fence, .. } = state.due(at(10)) else { panic!("it is late") };
        assert!(Arc::ptr_eq(&fence, &term));
    }

    #[test]
    fn a_renewal_moves_the_deadline_out_and_an_older_one_does_not_move_it_back() {
        let mut state = working_until(10);
        state.extend(at(12));
        state.extend(at(11));
        assert_eq!(state.due(at(11)), Due::Wait(Some(at(12))));
    }

    #[test]
    fn a_loss_moves_it_in_and_never_out() {
        let mut state = working_until(10);
        state.shorten(at(4));
        state.shorten(at(6));
        assert_eq!(state.wake(), Some(at(4)));
    }

    #[test]
    fn without_work_there_is_nothing_to_watch() {
        let mut state = State::default();
        assert_eq!(state.due(at(100)), Due::Wait(None));
        state.begin(fence("1"), at(10));
        assert_eq!(state.due(at(100)), Due::Wait(None), "its work was never begun");
        state.work_begins();
        state.work_ended();
        assert_eq!(state.due(at(100)), Due::Wait(None));
        assert!(!state.is_working(&fence("1")));
    }

    #[test]
    fn each_term_is_watched_anew() {
        let mut state = working_until(10);
        assert!(matches!(state.due(at(20)), Due::Fire { .. }));
        state.work_ended();
        state.begin(fence("2"), at(30));
        state.work_begins();
        assert!(!state.is_working(&fence("1")));
        assert_eq!(state.due(at(20)), Due::Wait(Some(at(30))));
        // As after a suspend: the clock has run, and no timer has.
        let late = Duration::from_secs(3600);
        assert_eq!(state.due(at(30).after(late)), Due::Fire { fence: fence("2"), late });
    }

    #[test]
    fn the_end_is_due_at_once() {
        let mut state = working_until(10);
        state.end();
        assert_eq!(state.wake(), Some(at(0)));
        assert_eq!(state.due(at(0)), Due::End);
    }
}
