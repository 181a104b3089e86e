//! `Handle` and the inbox behind it: keys named from outside, and keys that one term leaves to the
//! next.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Key;
use crate::queue::Queue;
use crate::reasons::{Reasons, SourceNumber};

/// Names keys to a controller from anywhere. Made by
/// [`Controller::handle`](crate::Controller::handle); clones are the same. While the controller's
/// workers do not run, keys wait for them.
#[doc(alias = "Channel")]
pub struct Handle<K: Key> {
    pub(crate) inbox: Arc<Inbox<K>>,
    pub(crate) number: SourceNumber,
}

impl<K: Key> Handle<K> {
    /// The key is to run soon; a parked one too.
    pub fn add(&self, key: K) {
        self.inbox.add(key, Reasons::named(self.number));
    }
}

impl<K: Key> Clone for Handle<K> {
    fn clone(&self) -> Self {
        Self { inbox: Arc::clone(&self.inbox), number: self.number }
    }
}

impl<K: Key> fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// Gives keys to the queue of the term that runs; keeps them while none does.
pub(crate) struct Inbox<K: Key> {
    state: Mutex<State<K>>,
}

struct State<K: Key> {
    open: Option<Queue<K>>,
    waiting: Waiting<K>,
}

/// Keys in the order in which they came, each once.
struct Waiting<K> {
    keys: Vec<(K, Reasons)>,
    places: HashMap<K, usize>,
}

impl<K: Key> Waiting<K> {
    fn new() -> Self {
        Self { keys: Vec::new(), places: HashMap::new() }
    }

    fn add(&mut self, key: K, reasons: Reasons) {
        let place = *self.places.entry(key).or_insert_with_key(|key| {
            self.keys.push((key.clone(), Reasons::default()));
            self.keys.len() - 1
        });
        if let Some((_, held)) = self.keys.get_mut(place) {
            held.merge(reasons);
        }
    }
}

impl<K: Key> Inbox<K> {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State { open: None, waiting: Waiting::new() }) }
    }

    pub(crate) fn add(&self, key: K, reasons: Reasons) {
        loop {
            let queue = {
                let mut state = self.state.lock();
                match &state.open {
                    Some(queue) if !queue.is_stopped() => queue.clone(),
                    _ => {
                        state.waiting.add(key, reasons);
                        return;
                    }
                }
            };
            // The queue wakes its getters: not under our lock. So the term may end in between, and
            // then again.
            if queue.add(key.clone(), reasons) {
                return;
            }
        }
    }

    /// From now on keys go to this queue, those that waited first.
    pub(crate) fn open(&self, queue: Queue<K>) {
        let waiting = {
            let mut state = self.state.lock();
            state.open = Some(queue.clone());
            std::mem::replace(&mut state.waiting, Waiting::new())
        };
        for (key, reasons) in waiting.keys {
            queue.add(key, reasons);
        }
    }

    /// A key whose run was dropped: it waits for the next term.
    pub(crate) fn keep(&self, key: K) {
        self.state.lock().waiting.add(key, Reasons::carried());
    }

    /// From now on keys wait. `left` are those that the term did not come to.
    pub(crate) fn close(&self, left: impl IntoIterator<Item = K>) {
        let closed = {
            let mut state = self.state.lock();
            for key in left {
                state.waiting.add(key, Reasons::carried());
            }
            state.open.take()
        };
        drop(closed);
    }

    /// The queue of the term that runs.
    pub(crate) fn queue(&self) -> Option<Queue<K>> {
        self.state.lock().open.clone()
    }
}
