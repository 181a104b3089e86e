//! Standing: when an elector's LeaseCandidate is published, and how the elector may get the lease.

#![cfg_attr(
    not(feature = "kube"),
    allow(dead_code, reason = "only an API server has LeaseCandidates")
)]

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::candidate::{Candidate, Manner};
use crate::clock::Moment;
use crate::status::Counters;

mod board;
mod publishing;
pub use board::Candidacy;
pub(crate) use board::{Board, Publish};
use publishing::Published;

/// The candidacy, at each change.
pub(crate) type Changes = watch::Receiver<Candidacy>;

#[derive(Default)]
struct State {
    /// Campaigns that want the candidate to stand.
    campaigns: usize,
    /// The elector must not lead for now.
    barred: bool,
    /// The elector cannot lead: work of an earlier term has not ended.
    occupied: bool,
    /// The elector may not lead yet: requests of a lost term's work may land.
    uncleared: bool,
    /// The LeaseCandidate is withdrawn until a campaign begins or goes on.
    withdrawn: bool,
    /// No controller elects, whatever the candidacy is at the moment.
    silent: bool,
    /// A controller has left notes on the Lease that this elector holds.
    noted: bool,
    current: Option<Published>,
}

impl State {
    fn stands(&self) -> bool {
        self.campaigns > 0 && !self.barred && !self.occupied && !self.uncleared && !self.withdrawn
    }
}

/// An elector's part in coordinated election.
pub(crate) struct Standing {
    publish: Publish,
    board: Arc<Board>,
    counters: Arc<Counters>,
    state: Mutex<State>,
    /// Whether the elector elects by the Lease alone where no controller elects.
    elects: bool,
    /// Whether the server's own controller elects, and may be found silent.
    is_servers: bool,
}

impl Standing {
    pub(crate) fn new(publish: Publish, elects: bool, is_servers: bool) -> Self {
        let board = Arc::new(Board::new());
        Self {
            publish,
            board,
            counters: Arc::default(),
            state: Mutex::default(),
            elects,
            is_servers,
        }
    }

    /// The same, with these counters.
    pub(crate) fn counting(self, counters: &Arc<Counters>) -> Self {
        Self { counters: Arc::clone(counters), ..self }
    }

    pub(crate) fn board(&self) -> &Board {
        &self.board
    }

    fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How the candidate can get the lease now.
    pub(crate) fn manner(&self) -> Manner {
        match &*self.board.candidacy.borrow() {
            Candidacy::ApiAbsent if self.elects => Manner::Alone,
            Candidacy::Standing | Candidacy::Unwatched(_) | Candidacy::NobodyElects => {
                Manner::Elected { stands: true, impatient: self.elects && self.is_servers }
            }
            _ => Manner::Elected { stands: false, impatient: false },
        }
    }

    /// Whether the server's controller chooses the next leader.
    pub(crate) fn server_elects(&self) -> bool {
        let (silent, noted) = self.with(|state| (state.silent, state.noted));
        noted || self.manner() != Manner::Alone && !silent
    }

    /// Tells the candidate how it can get the lease now; `barred`: it must not lead. Returns the
    /// changes after that.
    pub(crate) fn arrange(&self, candidate: &mut Candidate, barred: bool, now: Moment) -> Changes {
        if !self.board.is_lease_known() && candidate.is_standing_by() {
            // Publishing waits for a read, which would not follow an event of the candidate's own
            // late write.
            candidate.distrust();
        }
        self.bar(barred);
        self.await_clear(candidate.may_stand_from(now).is_some());
        // Subscribed before the candidacy is read: a change in between counts.
        let changes = self.news();
        self.keep_up();
        self.note_silence(candidate.arrange(now, self.manner()));
        self.note_hand(candidate.is_noted());
        changes
    }

    /// The Lease was read.
    pub(crate) fn lease_known(&self) {
        self.board.lease_known();
    }

    /// The elector's connection is dead; the LeaseCandidate's watch shares it.
    pub(crate) fn doubt_connection(&self) {
        self.board.doubt_connection();
    }

    /// The changes of the candidacy from now on.
    pub(crate) fn news(&self) -> watch::Receiver<Candidacy> {
        self.board.candidacy.subscribe()
    }

    /// The candidate found that no controller elects, or that one does.
    pub(crate) fn note_silence(&self, silent: bool) {
        let was_silent = self.with(|state| std::mem::replace(&mut state.silent, silent));
        if silent && !was_silent {
            tracing::warn!("nobody elects among the LeaseCandidates: electing by the Lease alone");
        }
        match (silent, self.board.candidacy()) {
            (true, Candidacy::Standing | Candidacy::Unwatched(_)) => {
                self.board.note(Candidacy::NobodyElects)
            }
            (false, Candidacy::NobodyElects) => self.board.note(Candidacy::Standing),
            _ => {}
        }
    }

    /// The candidate found a controller's notes on the Lease that this elector holds, or none.
    pub(crate) fn note_hand(&self, noted: bool) {
        self.with(|state| state.noted = noted);
    }

    /// A campaign begins: the candidate stands until all campaigns have ended.
    pub(crate) fn begin(self: &Arc<Self>) -> Stood {
        self.with(|state| {
            if state.campaigns == 0 {
                self.board.lease_forgotten();
            }
            state.campaigns += 1;
            state.withdrawn = false;
            if state.stands() {
                self.start(state);
            }
        });
        Stood { standing: Arc::clone(self), has_ended: false }
    }

    fn start(&self, state: &mut State) {
        if state.current.as_ref().is_some_and(|current| current.is_wanted() && !current.has_ended())
        {
            return;
        }
        let before = state.current.take();
        state.current = Some(Published::begin(&self.publish, &self.board, &self.counters, before));
    }

    /// Starts a publisher that ended with its runtime again, in the caller's runtime.
    pub(crate) fn keep_up(&self) {
        self.with(|state| {
            if state.stands() {
                self.start(state);
            }
        });
    }

    /// An elector that must not lead does not stand.
    pub(crate) fn bar(&self, barred: bool) {
        self.change(|state| state.barred = barred);
    }

    /// Nor does an elector that cannot lead: the controller would elect it again and again.
    pub(crate) fn occupy(&self, occupied: bool) {
        if occupied {
            self.board.lease_forgotten();
        }
        self.change(|state| state.occupied = occupied);
    }

    /// Nor does an elector that may not claim a lease yet: a grant would keep it from the others.
    /// If the API is absent nothing is published, and a withdrawal would forget the absence.
    pub(crate) fn await_clear(&self, uncleared: bool) {
        let stands_alone = *self.board.candidacy.borrow() == Candidacy::ApiAbsent;
        self.change(|state| state.uncleared = uncleared && !stands_alone);
    }

    /// A campaign follows the Lease from here on, and no earlier work is left.
    pub(crate) fn follow(&self) {
        self.change(|state| (state.occupied, state.withdrawn) = (false, false));
    }

    /// A campaign goes on after a withdrawal.
    pub(crate) fn go_on(&self) {
        self.change(|state| state.withdrawn = false);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        self.with(|state| {
            let stood = state.stands();
            change(state);
            match (stood, state.stands()) {
                (false, true) => self.start(state),
                (true, false) => unwant(state),
                _ => {}
            }
        });
    }

    /// How many campaigns want the candidate to stand.
    pub(crate) fn campaigns(&self) -> usize {
        self.with(|state| state.campaigns)
    }

    /// Begins to withdraw the LeaseCandidate.
    pub(crate) fn unwant(&self) {
        self.change(|state| state.withdrawn = true);
    }

    /// Withdraws the LeaseCandidate; returns when that is done or given up.
    ///
    /// # Cancel safety
    /// Once begun it goes on in the background.
    pub(crate) async fn withdraw(&self) {
        self.unwant();
        self.until_withdrawn().await;
    }

    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn until_withdrawn(&self) {
        Leaving(self.with(|state| state.current.as_ref().map(|current| current.done.clone())))
            .done()
            .await;
    }
}

fn unwant(state: &mut State) {
    if let Some(current) = &state.current {
        current.unwant();
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing")
            .field("candidacy", &self.board.candidacy())
            .finish_non_exhaustive()
    }
}

/// One campaign's wish that the candidate stands.
pub(crate) struct Stood {
    standing: Arc<Standing>,
    has_ended: bool,
}

impl Stood {
    /// The campaign has ended; the last one withdraws the LeaseCandidate first.
    pub(crate) async fn end(self) {
        self.leave().done().await;
    }

    /// The same in the background.
    pub(crate) fn leave(mut self) -> Leaving {
        Leaving(self.begin_to_leave())
    }

    /// One step, or a campaign that begins in between would find a candidate that stands and then
    /// goes. Returns the channel that closes after the withdrawal, if this campaign was the last.
    fn begin_to_leave(&mut self) -> Option<watch::Receiver<()>> {
        if std::mem::replace(&mut self.has_ended, true) {
            return None;
        }
        self.standing.with(|state| {
            state.campaigns = state.campaigns.saturating_sub(1);
            if state.campaigns > 0 {
                return None;
            }
            unwant(state);
            state.current.as_ref().map(|current| current.done.clone())
        })
    }
}

impl Drop for Stood {
    fn drop(&mut self) {
        self.begin_to_leave();
    }
}

/// A withdrawal after the end of a campaign.
pub(crate) struct Leaving(Option<watch::Receiver<()>>);

impl Leaving {
    /// Returns when the withdrawal is done or given up.
    ///
    /// # Cancel safety
    /// It goes on in the background.
    pub(crate) async fn done(self) {
        if let Some(mut done) = self.0 {
            while done.changed().await.is_ok() {}
        }
    }
}

#[cfg(test)]
mod tests;
