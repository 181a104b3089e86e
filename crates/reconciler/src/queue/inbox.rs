//! `Handle` and its inbox: keys added from outside, and keys carried over from one term to the
//! next.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Key;
use crate::hostile::let_go;
use crate::queue::Queue;
use crate::queue::reasons::Reasons;

/// Adds keys to a controller from anywhere. Made by
/// [`Controller::handle`](crate::Controller::handle). Clones add to the same controller. While the
/// controller's workers do not run, keys wait for them.
#[doc(alias = "Channel")]
pub struct Handle<K: Key> {
    pub(crate) inbox: Arc<Inbox<K>>,
}

impl<K: Key> Handle<K> {
    /// Queues the key, also if it is parked.
    pub fn add(&self, key: K) {
        self.inbox.add(key, Reasons::added());
    }
}

impl<K: Key> Clone for Handle<K> {
    fn clone(&self) -> Self {
        Self { inbox: Arc::clone(&self.inbox) }
    }
}

impl<K: Key> fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// Adds a key between two terms, whose own code may panic. The term must not end with it.
fn survives(add: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(add)) {
        tracing::error!("a key panicked between two terms, and is given up");
        let_go(panic);
    }
}

/// Passes keys to the queue of the running term, and keeps them while no term runs.
pub(crate) struct Inbox<K: Key> {
    state: Mutex<State<K>>,
}

struct State<K: Key> {
    open: Option<Queue<K>>,
    waiting: Waiting<K>,
}

/// Keys in FIFO order, each once.
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
            // The queue wakes its getters, so this lock is not held. The term may end in between,
            // and then the next turn keeps the key.
            if queue.add(key.clone(), reasons) {
                return;
            }
        }
    }

    /// Sends keys to this queue from now on, and moves the waiting keys into it.
    pub(crate) fn open(&self, queue: Queue<K>) {
        let waiting = {
            let mut state = self.state.lock();
            state.open = Some(queue.clone());
            std::mem::replace(&mut state.waiting, Waiting::new())
        };
        let Waiting { keys, places } = waiting;
        for (key, reasons) in keys {
            survives(|| {
                queue.add(key, reasons);
            });
        }
        places.into_keys().for_each(let_go);
    }

    /// Keeps a key whose run was dropped for the next term.
    pub(crate) fn keep(&self, key: K) {
        self.state.lock().waiting.add(key, Reasons::carried());
    }

    /// Keeps keys from now on. `left` has the keys that the term did not run.
    pub(crate) fn close(&self, left: impl IntoIterator<Item = K>) {
        let closed = {
            let mut state = self.state.lock();
            for key in left {
                survives(|| state.waiting.add(key, Reasons::carried()));
            }
            state.open.take()
        };
        drop(closed);
    }

    /// Returns the queue of the running term.
    pub(crate) fn queue(&self) -> Option<Queue<K>> {
        self.state.lock().open.clone()
    }
}
