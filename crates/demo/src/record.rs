//! What writer, watches and scrapes have noted so far, shared between the tasks of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::disk::Directory;
use crate::failover::Signal;
use crate::history::{Counts, History};
use crate::metrics::Sample;
use crate::progress::STARTING;

/// One run's notes.
#[derive(Debug)]
pub(crate) struct Record {
    history: Mutex<History>,
    creations: Mutex<Vec<Creation>>,
    births: Mutex<Vec<Directory>>,
    samples: Mutex<BTreeMap<String, Sample>>,
    phase: Mutex<&'static str>,
    signals: Mutex<Vec<Signal>>,
    /// Barriers that the reader of births has seen.
    barriers: Mutex<BTreeSet<String>>,
    changed: watch::Sender<()>,
}

/// A claim the writer created.
#[derive(Debug, Clone)]
pub(crate) struct Creation {
    /// Index into the plan's claims.
    pub(crate) index: usize,
    pub(crate) uid: String,
    /// Right before the request was sent.
    pub(crate) at: Instant,
    pub(crate) deleted: bool,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            history: Mutex::default(),
            creations: Mutex::default(),
            births: Mutex::default(),
            samples: Mutex::default(),
            phase: Mutex::new(STARTING),
            signals: Mutex::default(),
            barriers: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }

    /// Resolves with each change of what is noted here.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Reads the history.
    pub(crate) fn peek<R>(&self, with: impl FnOnce(&History) -> R) -> R {
        with(&self.history.lock())
    }

    /// Changes the history.
    pub(crate) fn history<R>(&self, with: impl FnOnce(&mut History) -> R) -> R {
        let result = with(&mut self.history.lock());
        self.changed.send_replace(());
        result
    }

    pub(crate) fn counts(&self) -> Counts {
        self.history.lock().counts()
    }

    pub(crate) fn created(&self, creation: Creation) {
        self.creations.lock().push(creation);
        self.changed.send_replace(());
    }

    /// Notes that the writer deleted the claim with this index.
    pub(crate) fn deleted(&self, index: usize) {
        if let Some(creation) =
            self.creations.lock().iter_mut().find(|creation| creation.index == index)
        {
            creation.deleted = true;
        }
        self.changed.send_replace(());
    }

    pub(crate) fn creations(&self) -> Vec<Creation> {
        self.creations.lock().clone()
    }

    pub(crate) fn created_count(&self) -> usize {
        self.creations.lock().len()
    }

    pub(crate) fn born(&self, directory: Directory) {
        self.births.lock().push(directory);
        self.changed.send_replace(());
    }

    pub(crate) fn births(&self) -> Vec<Directory> {
        self.births.lock().clone()
    }

    /// Notes that the reader of births has come to this barrier: all earlier births are noted.
    pub(crate) fn barrier(&self, name: &str) {
        self.barriers.lock().insert(name.to_owned());
        self.changed.send_replace(());
    }

    pub(crate) fn has_passed(&self, barrier: &str) -> bool {
        self.barriers.lock().contains(barrier)
    }

    pub(crate) fn signalled(&self, signal: Signal) {
        self.signals.lock().push(signal);
    }

    pub(crate) fn signals(&self) -> Vec<Signal> {
        self.signals.lock().clone()
    }

    pub(crate) fn sampled(&self, replica: &str, sample: Sample) {
        self.samples.lock().insert(replica.to_owned(), sample);
    }

    /// A replica has ended: its queues are gone, its retries have happened.
    pub(crate) fn ended(&self, replica: &str) {
        if let Some(sample) = self.samples.lock().get_mut(replica) {
            sample.depth = 0;
        }
    }

    pub(crate) fn samples(&self) -> BTreeMap<String, Sample> {
        self.samples.lock().clone()
    }

    pub(crate) fn enter(&self, phase: &'static str) {
        *self.phase.lock() = phase;
        self.changed.send_replace(());
    }

    pub(crate) fn phase(&self) -> &'static str {
        *self.phase.lock()
    }
}
