//! The judge of an election: asks every guard at short intervals whether it is valid, and finds out
//! if two ever were at once. All times are of one clock, the one that the electors use too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use lease_election::{BootClock, Clock, Ending, FenceToken, Leadership, Loss, Moment};

/// How often guards are asked.
const PACE: Duration = Duration::from_millis(1);

pub(crate) fn now() -> Moment {
    BootClock.now()
}

/// One term, as its guard showed it.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) lease: String,
    pub(crate) identity: String,
    pub(crate) fence: FenceToken,
    /// The work had the guard by then.
    pub(crate) began: Moment,
    /// The guard was valid from `began` to here at least: the sending of the last question that it
    /// answered with yes.
    pub(crate) valid_until: Moment,
    /// The answer to the first question that it answered with no.
    pub(crate) over_by: Option<Moment>,
    /// When the work was told to end, and why.
    pub(crate) told: Option<(Moment, Ending)>,
    pub(crate) loss: Option<Loss>,
}

/// A version of the Lease, as the server told the judge.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) lease: String,
    pub(crate) at: Moment,
    pub(crate) version: u64,
    pub(crate) holder: String,
}

/// How long after the judge heard of another holder a guard may still say that it is valid.
const LAG: Duration = Duration::from_millis(500);

struct Watched {
    term: Term,
    leadership: Leadership,
}

#[derive(Default)]
struct State {
    terms: Vec<Watched>,
    told: Vec<Told>,
    /// Guards that were valid again after they had not been.
    revived: Vec<String>,
}

/// The thread that asks, and what ends it when dropped.
type Sampler = (Sender<()>, JoinHandle<()>);

/// Sees all terms of all electors of a test.
#[derive(Clone)]
pub(crate) struct Judge {
    state: Arc<Mutex<State>>,
    done: Arc<AtomicBool>,
    /// The test's own thread.
    owner: ThreadId,
    sampler: Arc<Mutex<Option<Sampler>>>,
}

impl Judge {
    pub(crate) fn new() -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let done = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = channel();
        let sampled = Arc::clone(&state);
        let sampler = std::thread::spawn(move || sample(&sampled, &stopped));
        let owner = std::thread::current().id();
        Self { state, done, owner, sampler: Arc::new(Mutex::new(Some((stop, sampler)))) }
    }

    /// A term began; returns its number.
    pub(crate) fn began(&self, lease: &str, identity: &str, leadership: &Leadership) -> usize {
        let began = now();
        let term = Term {
            lease: lease.to_owned(),
            identity: identity.to_owned(),
            fence: leadership.fence(),
            began,
            valid_until: began,
            over_by: None,
            told: None,
            loss: None,
        };
        let mut state = self.state.lock().unwrap();
        state.terms.push(Watched { term, leadership: leadership.clone() });
        state.terms.len() - 1
    }

    pub(crate) fn told(&self, number: usize, ending: Ending) {
        self.state.lock().unwrap().terms[number].term.told = Some((now(), ending));
    }

    /// The server told of a version of the Lease.
    pub(crate) fn saw(&self, lease: &str, version: &str, holder: &str) {
        let told = Told {
            lease: lease.to_owned(),
            at: now(),
            version: version.parse().unwrap_or_default(),
            holder: holder.to_owned(),
        };
        self.state.lock().unwrap().told.push(told);
    }

    /// What the server told, in order.
    pub(crate) fn history(&self, lease: &str) -> Vec<Told> {
        let state = self.state.lock().unwrap();
        state.told.iter().filter(|told| told.lease == lease).cloned().collect()
    }

    pub(crate) fn terms(&self, lease: &str) -> Vec<Term> {
        let state = self.state.lock().unwrap();
        state
            .terms
            .iter()
            .map(|watched| watched.term.clone())
            .filter(|term| term.lease == lease)
            .collect()
    }

    /// The term that is valid now.
    pub(crate) fn leader(&self, lease: &str) -> Option<Term> {
        let state = self.state.lock().unwrap();
        let valid =
            |watched: &&Watched| watched.term.lease == lease && watched.leadership.is_valid();
        state.terms.iter().rev().find(valid).map(|watched| watched.term.clone())
    }

    /// Waits for a term for which `fits` holds.
    pub(crate) fn await_term(
        &self,
        what: &str,
        longest: Duration,
        fits: impl Fn(&Term) -> bool,
    ) -> Term {
        let found = wait_for(longest, || {
            let state = self.state.lock().unwrap();
            state.terms.iter().map(|watched| &watched.term).find(|term| fits(term)).cloned()
        });
        found.unwrap_or_else(|| {
            panic!("not within {longest:?}: {what}; terms: {}", self.told_terms())
        })
    }

    /// Waits until some elector leads.
    pub(crate) fn await_leader(&self, lease: &str, longest: Duration) -> Term {
        let found = wait_for(longest, || self.leader(lease));
        found.unwrap_or_else(|| {
            panic!("nobody leads {lease} after {longest:?}; terms: {}", self.told_terms())
        })
    }

    fn told_terms(&self) -> String {
        let state = self.state.lock().unwrap();
        state.terms.iter().map(|watched| format!("\n  {:?}", watched.term)).collect()
    }

    /// No two guards of one lease were valid at once, none came back to life, later terms have
    /// greater fences, and none outlived the news of another holder.
    pub(crate) fn assert_exclusive(&self) {
        let state = self.state.lock().unwrap();
        assert!(state.revived.is_empty(), "valid again after their end: {:?}", state.revived);
        let terms: Vec<Term> = state.terms.iter().map(|watched| watched.term.clone()).collect();
        assert_exclusive(&terms, &state.told);
        self.done.store(true, Ordering::SeqCst);
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        if Arc::strong_count(&self.sampler) == 1
            && let Some((stop, sampler)) = self.sampler.lock().unwrap().take()
        {
            drop(stop);
            let _ = sampler.join();
        }
        // Clones belong to other threads.
        let asked = self.done.load(Ordering::SeqCst) || std::thread::current().id() != self.owner;
        assert!(asked || std::thread::panicking(), "a judge that was not asked for its verdict");
    }
}

/// The verdict on these terms, with what the server told meanwhile: no two of one lease were valid
/// at once, later ones have greater fences, and none outlived the news of another holder.
pub(crate) fn assert_exclusive(terms: &[Term], told: &[Told]) {
    let mut leases: BTreeMap<&str, Vec<&Term>> = BTreeMap::new();
    for term in terms {
        leases.entry(&term.lease).or_default().push(term);
    }
    for terms in leases.values_mut() {
        terms.sort_by_key(|term| term.began);
        for pair in terms.windows(2) {
            let [before, after] = pair else { continue };
            assert!(
                before.fence < after.fence,
                "a later term has a smaller fence: {before:?} {after:?}"
            );
        }
        for (number, before) in terms.iter().enumerate() {
            for after in &terms[number + 1..] {
                assert!(
                    before.valid_until <= after.began,
                    "two guards were valid: {before:?} {after:?}"
                );
            }
        }
    }
    for told in told.iter().filter(|told| !told.holder.is_empty()) {
        // The judge may be told late of what was there before the term.
        let is_newer = |term: &Term| {
            term.fence.resource_version.parse().is_ok_and(|begun: u64| told.version > begun)
        };
        for term in terms.iter().filter(|term| {
            term.lease == told.lease && term.identity != told.holder && is_newer(term)
        }) {
            assert!(
                told.at <= term.began || term.valid_until <= told.at.after(LAG),
                "valid although another holds the lease: {term:?} {told:?}"
            );
        }
    }
}

fn sample(state: &Mutex<State>, stopped: &Receiver<()>) {
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PACE) {
        let mut state = state.lock().unwrap();
        let mut revived = Vec::new();
        for watched in &mut state.terms {
            let sent = now();
            let valid = watched.leadership.is_valid();
            let received = now();
            match (valid, watched.term.over_by) {
                (true, None) => watched.term.valid_until = sent,
                (true, Some(_)) => revived.push(format!("{:?}", watched.term)),
                (false, None) => {
                    watched.term.over_by = Some(received);
                    watched.term.loss = watched.leadership.loss();
                }
                (false, Some(_)) => {}
            }
        }
        state.revived.append(&mut revived);
    }
}

/// Asks again and again until there is something, at most this long.
pub(crate) fn wait_for<T>(longest: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = now().after(longest);
    // Nobody ever sends: a pause that ends by itself.
    let (_never, pause) = channel::<()>();
    loop {
        if let Some(found) = ask() {
            return Some(found);
        }
        if now() >= deadline {
            return None;
        }
        let _ = pause.recv_timeout(Duration::from_millis(2));
    }
}

/// Waits this long, because it is the length of a fault or of a look.
pub(crate) fn for_a_time(time: Duration) {
    let _ = wait_for(time, || None::<()>);
}
