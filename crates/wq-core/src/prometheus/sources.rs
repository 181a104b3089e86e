//! `Sources`: where the gauges of queues are read, by name. Queues come and go: what is gone costs no more than it did to
//! come, whether anybody scrapes or not.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::lock;

/// With so many sources, and with twice as many as were left each time, those of queues that are gone are looked for.
const FEW: usize = 64;

/// Where one gauge, or several of one moment, are read for each queue: what collectors of metrics ask at a scrape. A source is
/// forgotten when its queue is gone, at a scrape or when others come.
pub struct Sources<R>(Mutex<Held<R>>);

struct Held<R> {
    /// In the order of coming.
    by_number: BTreeMap<u64, Source<R>>,
    /// The number of the source of a queue, by where that is: no other is there while the source lives.
    by_place: HashMap<usize, u64>,
    next: u64,
    sweep_at: usize,
    /// How many sources were looked at, in all.
    #[cfg(test)]
    looked_at: usize,
}

struct Source<R> {
    name: Arc<str>,
    /// The queue, where it is known which.
    of: Option<Weak<dyn Any + Send + Sync>>,
    read: Read<R>,
}

type Read<R> = Arc<dyn Fn() -> Option<R> + Send + Sync>;

impl<R> Sources<R> {
    /// Reads the gauges of this name from `read` at every scrape, until it says `None`. Where it is known `of` which queue they
    /// are, in place of an older source of that, and no longer than it lives.
    pub fn put(
        &self,
        name: &str,
        of: Option<Weak<dyn Any + Send + Sync>>,
        read: impl Fn() -> Option<R> + Send + Sync + 'static,
    ) {
        let source = Source { name: name.into(), of, read: Arc::new(read) };
        let _gone; // What they hold is dropped after the lock.
        let mut held = self.lock();
        _gone = held.put(source);
    }

    /// One reading of each source, with the name that it is of. The sources of queues that are gone are forgotten.
    #[must_use]
    pub fn read(&self) -> Vec<(Arc<str>, R)> {
        let sources = self.lock().list();
        let mut gone = Vec::new();
        let mut readings = Vec::with_capacity(sources.len());
        for (number, name, read) in &sources {
            // The code of others: outside the lock.
            match read() {
                Some(reading) => readings.push((Arc::clone(name), reading)),
                None => gone.push(*number),
            }
        }
        if !gone.is_empty() {
            let mut held = self.lock();
            // `sources` outlives the lock, and with it what is dropped here.
            gone.into_iter().for_each(|number| drop(held.remove(number)));
        }
        readings
    }

    /// How many sources there are, some of them of queues that are gone.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().by_number.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Held<R>> {
        lock(&self.0)
    }
}

impl<R> Held<R> {
    /// What leaves for it.
    fn put(&mut self, source: Source<R>) -> Vec<Source<R>> {
        let mut leaving = Vec::new();
        if self.by_number.len() >= self.sweep_at {
            leaving = self.take_gone();
            self.sweep_at = self.by_number.len().saturating_mul(2).max(FEW);
        }
        let number = self.next;
        self.next += 1;
        let older = source.of.as_ref().and_then(|of| self.by_place.insert(place(of), number));
        leaving.extend(older.and_then(|older| self.by_number.remove(&older)));
        self.by_number.insert(number, source);
        leaving
    }

    fn take_gone(&mut self) -> Vec<Source<R>> {
        self.look_at(self.by_number.len());
        let is_gone = |source: &Source<R>| source.of.as_ref().is_some_and(|of| of.strong_count() == 0);
        let gone = self.by_number.iter().filter(|(_, source)| is_gone(source)).map(|(number, _)| *number);
        let gone: Vec<u64> = gone.collect();
        gone.into_iter().filter_map(|number| self.remove(number)).collect()
    }

    fn list(&mut self) -> Vec<(u64, Arc<str>, Read<R>)> {
        self.look_at(self.by_number.len());
        let all = self.by_number.iter();
        all.map(|(number, source)| (*number, Arc::clone(&source.name), Arc::clone(&source.read))).collect()
    }

    fn remove(&mut self, number: u64) -> Option<Source<R>> {
        self.look_at(1);
        let source = self.by_number.remove(&number)?;
        if let Some(of) = &source.of {
            self.by_place.remove(&place(of));
        }
        Some(source)
    }

    fn look_at(&mut self, _sources: usize) {
        #[cfg(test)]
        {
            self.looked_at += _sources;
        }
    }
}

fn place(queue: &Weak<dyn Any + Send + Sync>) -> usize {
    queue.as_ptr().cast::<()>().addr()
}

impl<R> Default for Sources<R> {
    fn default() -> Self {
        Self(Mutex::new(Held {
            by_number: BTreeMap::new(),
            by_place: HashMap::new(),
            next: 0,
            sweep_at: FEW,
            #[cfg(test)]
            looked_at: 0,
        }))
    }
}

impl<R> fmt::Debug for Sources<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("sources", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
