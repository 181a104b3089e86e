//! `Writes`: what the runs of a controller wrote for each key, until the caches show it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::own::OwnWrites;
use crate::cache::Unseen;
use crate::change::Step;
use crate::hostile::let_go;
use crate::queue::reasons::Reasons;
use crate::{Key, ObjectKey};

/// The longest wait for the caches. A watch that fails must not stop the controller.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The time from the first look at the caches to the second, and the longest between two.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// Whether a run of a key may start: whether the caches show what the last one wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier {
    Open,
    /// They do not show it yet. Look again after this time.
    Closed(Duration),
    /// Open, though they did not show it in time.
    Late,
}

/// The writes of one controller, by the key whose run made them.
#[derive(Debug)]
pub(crate) struct Writes<K> {
    by_key: Mutex<HashMap<K, Written>>,
    hasher: RandomState,
}

/// A written object: its type, and its key.
type Id = (TypeId, ObjectKey);

/// The digests of an apply and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) wanted: u64,
    pub(crate) answer: u64,
}

#[derive(Debug, Default)]
struct Written {
    /// Writes that a cache has yet to show.
    unseen: Vec<Unseen>,
    /// When the barrier was first found closed.
    closed: Option<Instant>,
    own: OwnWrites,
    /// What the active run applied, and what the last run did.
    applied: HashMap<Id, Applied>,
    applied_before: HashMap<Id, Applied>,
    /// The last answer for each object, during the run.
    answers: HashMap<Id, Arc<dyn Any + Send + Sync>>,
}

/// An active run. Its answers are dropped with it, and the applies before it are forgotten.
pub(crate) struct Run<'a, K: Key> {
    writes: &'a Writes<K>,
    key: &'a K,
}

impl<K: Key> Drop for Run<'_, K> {
    fn drop(&mut self) {
        let mut by_key = self.writes.by_key.lock();
        let answers = by_key.get_mut(self.key).map(|written| {
            written.applied_before = std::mem::take(&mut written.applied);
            std::mem::take(&mut written.answers)
        });
        drop(by_key);
        let_go(answers);
    }
}

impl<K: Key> Writes<K> {
    pub(crate) fn new() -> Self {
        Self { by_key: Mutex::new(HashMap::new()), hasher: RandomState::new() }
    }

    /// Tells of a write that a run of the key begins: its event may come before its answer.
    pub(crate) fn announce(&self, key: &K) {
        self.by_key.lock().entry(key.clone()).or_default();
    }

    /// A run of the key begins.
    pub(crate) fn run<'a>(&'a self, key: &'a K) -> Run<'a, K> {
        Run { writes: self, key }
    }

    /// Returns the object as the active run of the key last wrote it.
    pub(crate) fn answer<T: Any + Send + Sync>(&self, key: &K, id: &Id) -> Option<Arc<T>> {
        let answer = self.by_key.lock().get(key)?.answers.get(id).cloned()?;
        answer.downcast().ok()
    }

    pub(crate) fn answered<T: Any + Send + Sync>(&self, key: &K, id: Id, answer: Arc<T>) {
        let mut by_key = self.by_key.lock();
        let earlier = by_key.entry(key.clone()).or_default().answers.insert(id, answer);
        drop(by_key);
        let_go(earlier);
    }

    /// Notes what a run of the key wrote.
    pub(crate) fn wrote(&self, key: &K, step: Step<'_>) {
        let step = self.hasher.hash_one(step);
        self.by_key.lock().entry(key.clone()).or_default().own.wrote(step);
    }

    /// Returns the reasons of an event, with its weight for this key.
    pub(crate) fn weigh(&self, key: &K, step: Option<Step<'_>>, reasons: Reasons) -> Reasons {
        let Some(step) = step else { return reasons };
        match self.by_key.lock().get_mut(key) {
            Some(written) => written.own.weigh(self.hasher.hash_one(step), reasons),
            None => reasons,
        }
    }

    /// Weighs the events that came before an answer. The key's run has ended.
    pub(crate) fn judge(&self, key: &K, reasons: Reasons) -> Reasons {
        if !reasons.are_unjudged() {
            return reasons;
        }
        match self.by_key.lock().get_mut(key) {
            Some(written) => written.own.judge(reasons),
            None => reasons.judged(std::iter::empty()),
        }
    }

    /// Looks at the caches. A run of the key starts now, unless the barrier is closed.
    pub(crate) fn begin(&self, key: &K, now: Instant) -> Barrier {
        let mut unseen = match self.by_key.lock().get_mut(key) {
            Some(written) => std::mem::take(&mut written.unseen),
            None => return Barrier::Open,
        };
        // Not under the lock, because it reads caches. The order matters: an object that was made
        // and deleted is gone after it was seen.
        let seen = unseen.iter().take_while(|write| write.is_seen()).count();
        unseen.drain(..seen);
        let mut by_key = self.by_key.lock();
        let written = by_key.entry(key.clone()).or_default();
        let waited = written.closed.map_or(Duration::ZERO, |it| now.saturating_duration_since(it));
        if !unseen.is_empty() && waited < LONGEST_WAIT {
            written.closed.get_or_insert(now);
            // Twice as long each time.
            let next = waited.clamp(FIRST_LOOK, LONGEST_LOOK).min(LONGEST_WAIT - waited);
            unseen.append(&mut written.unseen);
            written.unseen = unseen;
            return Barrier::Closed(next);
        }
        written.closed = None;
        written.own.begin();
        if !unseen.is_empty() {
            return Barrier::Late;
        }
        written.own.seen();
        Barrier::Open
    }

    pub(crate) fn note(&self, key: &K, unseen: impl IntoIterator<Item = Unseen>) {
        let mut by_key = self.by_key.lock();
        by_key.entry(key.clone()).or_default().unseen.extend(unseen);
    }

    pub(crate) fn applied(&self, key: &K, object: Id, applied: Applied) {
        self.by_key.lock().entry(key.clone()).or_default().applied.insert(object, applied);
    }

    /// The object was written in another way, so the next apply is sent.
    pub(crate) fn unapply(&self, key: &K, object: &Id) {
        if let Some(written) = self.by_key.lock().get_mut(key) {
            written.applied.remove(object);
            written.applied_before.remove(object);
        }
    }

    /// Whether the active run or the one before it applied this last, with this answer.
    pub(crate) fn was_applied(&self, key: &K, object: &Id, applied: Applied) -> bool {
        let mut by_key = self.by_key.lock();
        let Some(written) = by_key.get_mut(key) else { return false };
        let last = written.applied.get(object).or_else(|| written.applied_before.get(object));
        let is_same = last == Some(&applied);
        if is_same {
            written.applied.insert(object.clone(), applied);
        }
        is_same
    }

    /// Forgets the writes of a key whose object is gone.
    pub(crate) fn forget(&self, key: &K) {
        self.by_key.lock().remove(key);
    }

    /// Forgets what the caches show. No run is active: keys may have gone since the last one.
    pub(crate) fn forget_seen(&self) {
        let unseen = |written: &Written| !written.unseen.iter().all(Unseen::is_seen);
        self.by_key.lock().retain(|_, written| unseen(written));
    }
}

#[cfg(test)]
mod oracle;

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;
    use crate::ChangeKind;
    use crate::queue::reasons::SourceNumber;

    fn meta(uid: &str, version: &str) -> ObjectMeta {
        let (uid, resource_version) = (Some(uid.to_owned()), Some(version.to_owned()));
        ObjectMeta { uid, resource_version, ..ObjectMeta::default() }
    }

    #[test]
    fn an_own_event_has_the_key_the_uid_and_both_versions_of_the_write() {
        let (writes, change) =
            (Writes::new(), Reasons::change(SourceNumber::new(0), ChangeKind::Changed));
        let is_own = |key: u32, old, uid, new| {
            let reasons = writes.weigh(&key, Step::new(old, &meta(uid, new)), change);
            writes.judge(&key, reasons).are_own()
        };
        writes.announce(&2);
        writes.wrote(&1, Step::new(Some("4"), &meta("u", "5")).unwrap());
        assert!(is_own(1, Some("4"), "u", "5"));
        assert!(!is_own(2, Some("4"), "u", "5"), "another key");
        assert!(!is_own(3, Some("4"), "u", "5"), "a key that wrote nothing");
        assert!(!is_own(1, Some("4"), "v", "5"), "another object");
        assert!(!is_own(1, Some("3"), "u", "5"), "from another version");
        assert!(!is_own(1, None, "u", "5"), "an appearance");
        assert!(!is_own(1, Some("4"), "u", "6"), "to another version");
        assert_eq!(Step::new(Some("5"), &meta("u", "5")), None, "nothing was written");
        writes.forget(&1);
        assert!(!is_own(1, Some("4"), "u", "5"));
    }

    #[test]
    fn the_answers_of_a_run_go_with_it() {
        let (writes, key) = (Writes::new(), ObjectKey::cluster("a"));
        let id = (TypeId::of::<u32>(), key.clone());
        let run = writes.run(&1);
        writes.answered(&1, id.clone(), Arc::new(7_u32));
        assert_eq!(writes.answer::<u32>(&1, &id).as_deref(), Some(&7));
        assert_eq!(writes.answer::<u32>(&2, &id), None);
        drop(run);
        assert_eq!(writes.answer::<u32>(&1, &id), None);
    }

    #[test]
    fn an_apply_is_remembered_while_each_run_repeats_it() {
        let (writes, object) = (Writes::new(), (TypeId::of::<u32>(), ObjectKey::cluster("a")));
        let applied = Applied { wanted: 1, answer: 2 };
        let run = writes.run(&1);
        writes.applied(&1, object.clone(), applied);
        drop(run);
        for _ in 0..3 {
            let run = writes.run(&1);
            assert!(writes.was_applied(&1, &object, applied));
            assert!(!writes.was_applied(&1, &object, Applied { answer: 3, ..applied }));
            drop(run);
        }
        drop(writes.run(&1)); // Applies nothing.
        let run = writes.run(&1);
        assert!(!writes.was_applied(&1, &object, applied));
        drop(run);
        writes.forget_seen();
        assert!(writes.by_key.lock().is_empty());
    }
}
